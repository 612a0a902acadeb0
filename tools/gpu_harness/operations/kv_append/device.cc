#include "tools/gpu_harness/operations/kv_append/device.h"

#include "generator/kv/kv_rule.h"

namespace heddle {

DeviceKvInput::DeviceKvInput(const KvAppendSpec& spec, const KvProblem& problem,
                             const OwnedStream& stream)
    : k_(to_device(problem.k, stream)),
      v_(to_device(problem.v, stream)),
      q_(to_device(problem.q, stream)),
      k_norm_(to_device(problem.k_norm, stream)),
      q_norm_(to_device(problem.q_norm, stream)),
      offsets_(to_device(problem.offsets, stream)),
      lengths_(to_device(problem.lengths, stream)),
      block_table_(to_device(problem.block_table, stream)),
      rotations_(to_device(problem.rotations, stream)),
      residual_slots_(to_device(problem.residual_slots, stream)) {
  const auto& [k, v] = problem.given;
  given_ = to_device(std::vector<float>{k.scale, k.zero, v.scale, v.zero}, stream);
  args_.k = k_.memory();
  args_.v = v_.memory();
  args_.k_stride = args_.v_stride = problem.stride;
  args_.q = q_.memory();
  args_.q_stride = problem.q_stride;
  args_.k_norm = k_norm_.memory();
  args_.q_norm = q_norm_.memory();
  args_.tokens = problem.tokens;
  args_.sequences = static_cast<std::int64_t>(problem.lengths.size());
  args_.offsets = offsets_.memory();
  args_.lengths = lengths_.memory();
  args_.rotations = rotations_.memory();
  args_.rotation_rows = problem.rotation_rows;
  args_.cache.pages = problem.pages;
  args_.cache.page_tokens = problem.page_tokens;
  args_.cache.block_table = block_table_.memory();
  args_.cache.table_stride = problem.table_stride;
  args_.cache.residual_slot_count = problem.residual_slot_count;
  args_.cache.residual_slots = residual_slots_.memory();
  if (takes_given(spec.kv.k)) args_.cache.k.given = given_.memory();
  if (takes_given(spec.kv.v)) args_.cache.v.given = given_.memory(2 * sizeof(float));
}

DeviceKvOutput::DeviceKvOutput(const KvPartBytes& bytes) {
  for (std::size_t part = 0; part < kKvParts; ++part) parts[part] = GuardedBuffer(bytes[part]);
}

void DeviceKvOutput::set(KvAppendArgs* args) const noexcept {
  KvCache& cache = args->cache;
  cache.k.codes = parts[kKCodes].memory();
  cache.k.scales = parts[kKScales].memory();
  cache.v.codes = parts[kVCodes].memory();
  cache.v.scales = parts[kVScales].memory();
  cache.k.residual = parts[kKResidual].memory();
  args->q_out = parts[kQuery].memory();
}

}  // namespace heddle
