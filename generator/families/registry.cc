#include "generator/families/registry.h"

#include "generator/families/all.h"

namespace heddle {
namespace {

using ByOperation = std::vector<std::vector<const Family*>>;

ByOperation families_by_operation() {
  ByOperation all;
#define HEDDLE_BEGIN_OPERATION(name) all.emplace_back();
#define HEDDLE_ADD_FAMILY(name) all.back().push_back(name##_family());
  HEDDLE_OPERATIONS(HEDDLE_BEGIN_OPERATION, HEDDLE_ADD_FAMILY)
#undef HEDDLE_ADD_FAMILY
#undef HEDDLE_BEGIN_OPERATION
  return all;
}

}  // namespace

const std::vector<const Family*>& families_of(Op op) {
  static const ByOperation all = families_by_operation();
  return all[static_cast<std::size_t>(op)];
}

const std::vector<const GemmFamily*>& gemm_families() {
  static const std::vector<const GemmFamily*> gemms = [] {
    std::vector<const GemmFamily*> found;
    for (const Family* family : families_of(Op::kGemm)) {
      const auto* const gemm = dynamic_cast<const GemmFamily*>(family);
      if (gemm != nullptr) found.push_back(gemm);
    }
    return found;
  }();
  return gemms;
}

}  // namespace heddle
