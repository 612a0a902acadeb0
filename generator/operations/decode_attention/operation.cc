// decode_attention as an Operation.
#include "generator/operations/operation.h"

#include <fmt/format.h>

#include "attention/parameters.h"
#include "generator/operations/decode_attention/decode_attention.h"
#include "generator/operations/launch_size.h"
#include "generator/spec/kv_complete.h"

namespace heddle {
namespace {

class DecodeAttention final : public OperationOn<DecodeAttentionSpec> {
 public:
  const FieldTable& fields() const override { return decode_attention_fields(); }
  void settle(void* fields) const override { complete(of(fields)); }
  std::vector<Problem> problems(const void* fields) const override {
    return check_meaning(of(fields));
  }
  std::optional<CacheUse> cache(const void* fields) const override {
    const AttentionShape& shape = of(fields).shape;
    return CacheUse{{shape.kv_heads, shape.head_dim}, &of(fields).kv};
  }
  OutputUse output(const void* fields) const override {
    return {to_string(of(fields).activation), "", 0};
  }
  SizeKind size_kind() const noexcept override { return SizeKind::kSequenceTokens; }
  void check_size(const void* fields, const LaunchSize& size) const override {
    refuse_unless_zero(size.has_offsets ? 1 : 0, "has_offsets");
    check_attention_size(of(fields), size);
  }
  std::size_t parameter_bytes() const noexcept override {
    return sizeof(device::AttentionParameters);
  }
  std::string describe(const void* fields) const override {
    const DecodeAttentionSpec& spec = of(fields);
    const auto [heads, kv_heads, head_dim, query_len] = spec.shape;
    return fmt::format("attention of {} heads of {}, {} of K and V, and the last {} in {}", heads,
                       head_dim, kv_heads,
                       query_len == 1 ? "token" : fmt::format("{} tokens", query_len),
                       to_string(spec.activation));
  }
};

}  // namespace

const Operation& decode_attention_operation() {
  static const DecodeAttention operation;
  return operation;
}

}  // namespace heddle
