// What a spec means, without writing its text: to look specs up by, where the text would take
// several times as long as all else.
#ifndef HEDDLE_RUNTIME_PREPARE_SPEC_MEANING_H_
#define HEDDLE_RUNTIME_PREPARE_SPEC_MEANING_H_

#include <cstddef>

#include "heddle/spec.h"

namespace heddle {

// Whether the canonical texts are equal, told from the fields that they are written from. Pure;
// allocates nothing.
struct SameMeaning {
  bool operator()(const Spec& a, const Spec& b) const noexcept;
};

// Equal for specs that mean the same.
struct MeaningHash {
  std::size_t operator()(const Spec& spec) const noexcept;
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_PREPARE_SPEC_MEANING_H_
