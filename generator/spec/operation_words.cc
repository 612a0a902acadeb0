// The words of the operations.
#include "generator/spec/fields.h"
#include "generator/spec/operation_list.h"

namespace heddle {

std::span<const std::string_view> operation_words() noexcept {
#define HEDDLE_OPERATION_WORD(name) #name,
#define HEDDLE_NO_FAMILY(name)
  static constexpr std::string_view kWords[] = {
      HEDDLE_OPERATIONS(HEDDLE_OPERATION_WORD, HEDDLE_NO_FAMILY, HEDDLE_NO_FAMILY)};
#undef HEDDLE_NO_FAMILY
#undef HEDDLE_OPERATION_WORD
  return kWords;
}

}  // namespace heddle
