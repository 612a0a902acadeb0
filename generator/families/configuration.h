// ConfigurationValue: the struct of a family, behind one type.
#ifndef HEDDLE_GENERATOR_FAMILIES_CONFIGURATION_H_
#define HEDDLE_GENERATOR_FAMILIES_CONFIGURATION_H_

#include <cassert>
#include <memory>
#include <utility>

#include "heddle/inspect/plan.h"

namespace heddle {

class ConfigurationValue {
 public:
  virtual ~ConfigurationValue() = default;
};

template <class Struct>
class ConfigurationOf : public ConfigurationValue {
 public:
  explicit ConfigurationOf(Struct value) : value_(std::move(value)) {}
  const Struct& value() const noexcept { return value_; }

 private:
  Struct value_;
};

template <class Struct>
std::shared_ptr<const ConfigurationValue> make_configuration(Struct value) {
  return std::make_shared<const ConfigurationOf<Struct>>(std::move(value));
}

// Precondition: the kernel is of the family whose struct this is.
template <class Struct>
const Struct& config_of(const PlannedKernel& kernel) noexcept {
  assert(dynamic_cast<const ConfigurationOf<Struct>*>(kernel.configuration.get()) != nullptr);
  return static_cast<const ConfigurationOf<Struct>*>(kernel.configuration.get())->value();
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_CONFIGURATION_H_
