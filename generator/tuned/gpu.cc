#include "generator/target/facts.h"
#include "heddle/tuned.h"

namespace heddle {

std::string tuned_gpu(const Target& target) {
  const DeviceFacts* const device = facts_of_device(target.name);
  return device != nullptr ? std::string(device->name) : target.name;
}

}  // namespace heddle
