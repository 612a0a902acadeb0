#include "generator/families/registry.h"

#include "generator/families/all.h"

namespace heddle {
namespace {

struct Families {
  std::vector<const Family*> chosen_from;
  std::vector<const Family*> before;
};

const Families& of(Op op) {
  static const std::vector<Families> by_operation = [] {
    std::vector<Families> all;
#define HEDDLE_BEGIN_OPERATION(name) all.emplace_back();
#define HEDDLE_ADD_FAMILY(name) all.back().chosen_from.push_back(name##_family());
#define HEDDLE_ADD_BEFORE(name) all.back().before.push_back(name##_family());
    HEDDLE_OPERATIONS(HEDDLE_BEGIN_OPERATION, HEDDLE_ADD_FAMILY, HEDDLE_ADD_BEFORE)
#undef HEDDLE_ADD_BEFORE
#undef HEDDLE_ADD_FAMILY
#undef HEDDLE_BEGIN_OPERATION
    return all;
  }();
  return by_operation[static_cast<std::size_t>(op)];
}

}  // namespace

const std::vector<const Family*>& families_of(Op op) { return of(op).chosen_from; }

const std::vector<const Family*>& families_before(Op op) { return of(op).before; }

const std::vector<const GemmFamily*>& gemm_families() {
  static const std::vector<const GemmFamily*> gemms = [] {
    std::vector<const GemmFamily*> found;
    for (const Family* family : families_of(Op::kGemm)) {
      found.push_back(&dynamic_cast<const GemmFamily&>(*family));
    }
    return found;
  }();
  return gemms;
}

}  // namespace heddle
