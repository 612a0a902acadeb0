// decode_attention in a decode step.
#include <algorithm>

#include "heddle/operations.h"
#include "tools/gpu_harness/operations/decode_attention/bench_cache.h"
#include "tools/gpu_harness/step/step_part.h"

namespace heddle {
namespace {

class DecodeAttentionStep : public StepPart {
 public:
  StepNeeds needs(const Spec& spec, const StepLoad&) const override {
    const DecodeAttentionSpec& attention = spec.decode_attention();
    const std::int64_t q = std::int64_t{attention.shape.heads} * attention.shape.head_dim;
    return {q, q, attention.activation, 0, static_cast<std::size_t>(attention.shape.heads)};
  }
  double bytes(const Spec& spec, const StepLoad& load) const override {
    const DecodeAttentionSpec& attention = spec.decode_attention();
    const AttentionShape& shape = attention.shape;
    const std::int64_t seen = attention.window == 0
                                  ? load.context
                                  : std::min<std::int64_t>(load.context, attention.window);
    const KvCacheLayout layout = kv_cache_layout(attention.kv, shape.kv_heads, shape.head_dim);
    return matrix_bytes(load.sequences, std::int64_t{2} * shape.heads * shape.head_dim,
                        attention.activation) +
           static_cast<double>(load.sequences) *
               cached_bytes(layout, static_cast<std::int32_t>(seen));
  }
  std::function<void()> launch(const StepPlace& place, const StepShared& shared,
                               const StepWeights*) const override {
    const DecodeAttentionSpec& attention = place.kernel.plan().spec.decode_attention();
    DecodeAttentionArgs args;
    args.q = place.in.memory();
    args.out = place.out.memory();
    args.sequences = shared.load.sequences;
    args.lengths = shared.lengths.memory();
    args.cache = *place.cache;
    if (attention.alibi == Alibi::kGiven) args.slopes = shared.heads.memory();
    if (attention.sink_logits) args.sink_logits = shared.heads.memory();
    args.workspace = shared.workspace.memory();
    return [args, kernel = DecodeAttentionKernel(place.kernel), &shared] {
      kernel.launch(args, shared.stream.get());
    };
  }
};

}  // namespace

const StepPart& decode_attention_step() {
  static const DecodeAttentionStep step;
  return step;
}

}  // namespace heddle
