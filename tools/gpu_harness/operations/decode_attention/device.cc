#include "tools/gpu_harness/operations/decode_attention/device.h"

#include "generator/kv/kv_rule.h"
#include "heddle/inspect/plan.h"

namespace heddle {

DeviceAttention::DeviceAttention(const Plan& plan, const AttentionProblem& problem,
                                 const OwnedStream& stream)
    : q_(to_device(problem.q, stream)),
      lengths_(to_device(problem.lengths, stream)),
      table_(to_device(problem.block_table, stream)),
      codes_{to_device(problem.codes[0], stream), to_device(problem.codes[1], stream)},
      scales_{to_device(problem.scales[0], stream), to_device(problem.scales[1], stream)},
      slopes_(to_device(problem.slopes, stream)),
      sinks_(to_device(problem.sinks, stream)),
      workspace_(plan.max_workspace_bytes()),
      residual_(to_device(problem.residual, stream)),
      residual_slots_(to_device(problem.residual_slots, stream)) {
  const DecodeAttentionSpec& spec = plan.spec.decode_attention();
  given_ = to_device(std::vector<float>(problem.given.begin(), problem.given.end()), stream);
  workspace_.fill(0, stream);
  args_.q = q_.memory();
  args_.sequences = static_cast<std::int64_t>(problem.lengths.size());
  args_.lengths = lengths_.memory();
  args_.cache.k.codes = codes_[0].memory();
  args_.cache.k.scales = scales_[0].memory();
  args_.cache.v.codes = codes_[1].memory();
  args_.cache.v.scales = scales_[1].memory();
  if (takes_given(spec.kv.k)) args_.cache.k.given = given_.memory();
  if (takes_given(spec.kv.v)) args_.cache.v.given = given_.memory(2 * sizeof(float));
  args_.cache.pages = problem.pages;
  args_.cache.page_tokens = problem.page_tokens;
  args_.cache.block_table = table_.memory();
  args_.cache.table_stride = problem.table_stride;
  args_.cache.k.residual = residual_.memory();
  args_.cache.residual_slots = residual_slots_.memory();
  args_.cache.residual_slot_count = problem.residual_slot_count;
  if (spec.alibi == Alibi::kGiven) args_.slopes = slopes_.memory();
  if (spec.sink_logits) args_.sink_logits = sinks_.memory();
  args_.workspace = workspace_.memory();
}

}  // namespace heddle
