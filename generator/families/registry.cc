#include "generator/families/registry.h"

#include "generator/families/all.h"

namespace heddle {

const std::vector<const Family*>& kernel_families() {
#define HEDDLE_GET_FAMILY(name) name##_family(),
  static const std::vector<const Family*> all{HEDDLE_FAMILIES(HEDDLE_GET_FAMILY)};
#undef HEDDLE_GET_FAMILY
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
