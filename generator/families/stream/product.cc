#include "generator/families/stream/product_text.h"

#include <fmt/format.h>

#include "generator/families/gemm_config.h"

namespace heddle {

std::string stream_product_text(const char* name, const char* member, const GemmSpec& spec) {
  std::string text = fmt::format(
      "struct {} {{\n  static constexpr StreamConfig value = Config::value.{};\n", name, member);
  for (const std::string& alias : gemm_aliases(spec)) text += "  " + alias + '\n';
  return text + "  using Products = StreamHalfProducts<Value>;\n  using Sums = FloatSums;\n};\n";
}

}  // namespace heddle
