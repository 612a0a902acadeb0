#include "generator/families/registry.h"

#include "generator/families/all.h"

namespace heddle {

const std::vector<const Family*>& kernel_families() {
  static const std::vector<const Family*> all{
      tiles_family(),           stream_family(),     warpgroup_family(),
      gather_family(),          dequantize_family(), repack_family(),
      quantize_weight_family(), kv_append_family(),  decode_attention_family(),
  };
  return all;
}

}  // namespace heddle
