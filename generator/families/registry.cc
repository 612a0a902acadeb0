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

const std::vector<const GemmFamily*>& gemm_families() {
  static const std::vector<const GemmFamily*> gemms = [] {
    std::vector<const GemmFamily*> found;
    for (const Family* family : kernel_families()) {
      const auto* const gemm = dynamic_cast<const GemmFamily*>(family);
      if (gemm != nullptr) found.push_back(gemm);
    }
    return found;
  }();
  return gemms;
}

}  // namespace heddle
