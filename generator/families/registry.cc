#include "generator/families/registry.h"

#include <fmt/format.h>

#include "generator/families/all.h"
#include "heddle/error.h"

namespace heddle {

const std::vector<const Family*>& kernel_families() {
  static const std::vector<const Family*> all{
      tiles_family(),           stream_family(),     warpgroup_family(),
      gather_family(),          dequantize_family(), repack_family(),
      quantize_weight_family(), kv_append_family(),  decode_attention_family(),
  };
  return all;
}

const Family& family_named(std::string_view name) {
  for (const Family* family : kernel_families()) {
    if (family->name() == name) return *family;
  }
  throw Error(ErrorCategory::kInternal, "families.unknown",
              fmt::format("no family of kernels is named {}", name));
}

}  // namespace heddle
