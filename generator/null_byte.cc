#include "generator/null_byte.h"

#include <fmt/format.h>

#include "heddle/error.h"

namespace heddle {

void refuse_null_byte(std::string_view text, std::string_view name) {
  const std::size_t at = text.find('\0');
  if (at == text.npos) return;
  throw Error(ErrorCategory::kUsage, "path.null_byte",
              fmt::format("{} has a null byte behind \"{}\", and no name of a file has one", name,
                          text.substr(0, at)));
}

}  // namespace heddle
