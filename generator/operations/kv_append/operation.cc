// kv_append as an Operation.
#include "generator/operations/operation.h"

#include <fmt/format.h>

#include "generator/operations/kv_append/kv_append.h"
#include "generator/operations/launch_size.h"
#include "generator/spec/kv_complete.h"
#include "kv_append/parameters.h"

namespace heddle {
namespace {

class KvAppend final : public OperationOn<KvAppendSpec> {
 public:
  const FieldTable& fields() const override { return kv_append_fields(); }
  void settle(void* fields) const override { complete(of(fields)); }
  std::vector<Problem> problems(const void* fields) const override {
    return check_meaning(of(fields));
  }
  std::optional<CacheUse> cache(const void* fields) const override {
    return CacheUse{of(fields).shape, &of(fields).kv};
  }
  // A token of one sequence.
  std::vector<LaunchSize> usual_launches(const MRange& /*sizes*/) const override {
    return {{1, 1}};
  }
  void check_size(const void* /*fields*/, const LaunchSize& size) const override {
    check_append_size(size, 1);
  }
  std::size_t parameter_bytes() const noexcept override {
    return sizeof(device::KvAppendParameters);
  }
  std::string describe(const void* fields) const override {
    const KvAppendSpec& spec = of(fields);
    const auto [heads, head_dim] = spec.shape;
    std::string text = fmt::format("K and V[tokens, {}, {}] in {} into the cache", heads, head_dim,
                                   to_string(spec.activation));
    if (const int query_heads = spec.query.heads; query_heads != 0) {
      text += fmt::format(", Q[tokens, {}, {}] for attention", query_heads, head_dim);
    }
    return text;
  }
};

}  // namespace

const Operation& kv_append_operation() {
  static const KvAppend operation;
  return operation;
}

}  // namespace heddle
