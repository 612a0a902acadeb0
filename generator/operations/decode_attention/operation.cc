// decode_attention as an Operation.
#include "generator/operations/operation.h"

#include <fmt/format.h>

#include "attention/parameters.h"
#include "generator/kv/sequence_limits.h"
#include "generator/operations/decode_attention/decode_attention.h"
#include "generator/operations/launch_size.h"
#include "generator/spec/kv_complete.h"

namespace heddle {
namespace {

// Many short sequences to few long ones: the loads of tools/bench-kv.
constexpr LaunchSize kUsualLaunches[] = {{1024, 1}, {1024, 64}, {1024, 256}, {4096, 8},
                                         {8192, 1}, {8192, 16}, {8192, 64},  {32768, 1}};

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
  MRange sizes(const void* /*fields*/) const override { return {1, kMostSequenceTokens}; }
  std::vector<LaunchSize> usual_launches(const MRange& sizes) const override {
    std::vector<LaunchSize> launches;
    for (const LaunchSize& launch : kUsualLaunches) {
      if (launch.size >= sizes.min && launch.size <= sizes.max) launches.push_back(launch);
    }
    if (launches.empty()) launches.push_back({sizes.max, 1});
    return launches;
  }
  std::string_view size_name() const noexcept override { return "tokens"; }
  std::string launches_text(const MRange& sizes) const override {
    std::string text;
    for (const LaunchSize& launch : usual_launches(sizes)) {
      text += fmt::format("{}{}x{}", text.empty() ? "on average of " : ", ", launch.sequences,
                          launch.size);
    }
    return text;
  }
  // A plan has two at most.
  bool saves_kernels() const noexcept override { return false; }
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
