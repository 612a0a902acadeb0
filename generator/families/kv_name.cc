#include "generator/families/kv_name.h"

#include <fmt/format.h>

#include "heddle/spec.h"

namespace heddle {
namespace {

std::string tensor_name(const KvTensor& tensor) {
  std::string name(to_string(tensor.dtype));
  if (!tensor.symmetric) name += 'z';
  if (tensor.granularity == KvGranularity::kGroup) {
    return name + fmt::format("_g{}", tensor.group_size);
  }
  if (tensor.granularity == KvGranularity::kNone) return name;
  name += '_' + std::string(to_string(tensor.granularity));
  return tensor.group_size == 0 ? name : name + fmt::format("{}", tensor.group_size);
}

}  // namespace

std::string kv_name(const KvSpec& kv) {
  const std::string k = tensor_name(kv.k);
  const std::string v = tensor_name(kv.v);
  return k == v ? k : k + '_' + v;
}

}  // namespace heddle
