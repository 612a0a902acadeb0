#include "tools/gpu_harness/kv_device.h"

#include "generator/kv/kv_rule.h"

namespace heddle {
namespace {

constexpr std::size_t kGuardBytes = 4096;

std::size_t padded(std::size_t bytes) {
  return (bytes + kGuardBytes - 1) / kGuardBytes * kGuardBytes;
}

}  // namespace

DeviceKvInput::DeviceKvInput(const KvAppendSpec& spec, const KvProblem& problem,
                             const OwnedStream& stream)
    : k_(to_device(problem.k, stream)),
      v_(to_device(problem.v, stream)),
      offsets_(to_device(problem.offsets, stream)),
      lengths_(to_device(problem.lengths, stream)),
      block_table_(to_device(problem.block_table, stream)),
      rotations_(to_device(problem.rotations, stream)),
      residual_slots_(to_device(problem.residual_slots, stream)) {
  const auto& [k, v] = problem.given;
  given_ = to_device(std::vector<float>{k.scale, k.zero, v.scale, v.zero}, stream);
  args_.k = k_.get();
  args_.v = v_.get();
  args_.k_stride = args_.v_stride = problem.stride;
  args_.tokens = problem.tokens;
  args_.sequences = static_cast<std::int64_t>(problem.lengths.size());
  args_.offsets = static_cast<const std::int32_t*>(offsets_.get());
  args_.lengths = static_cast<const std::int32_t*>(lengths_.get());
  args_.rotations = static_cast<const float*>(rotations_.get());
  args_.rotation_rows = problem.rotation_rows;
  args_.cache.pages = problem.pages;
  args_.cache.page_tokens = problem.page_tokens;
  args_.cache.block_table = static_cast<const std::int32_t*>(block_table_.get());
  args_.cache.table_stride = problem.table_stride;
  args_.cache.residual_slot_count = problem.residual_slot_count;
  args_.cache.residual_slots = static_cast<const std::int32_t*>(residual_slots_.get());
  const auto* given = static_cast<const float*>(given_.get());
  if (takes_given(spec.kv.k)) args_.cache.k.given = given;
  if (takes_given(spec.kv.v)) args_.cache.v.given = given + 2;
}

KvAppendArgs DeviceKvInput::args() const { return args_; }

DeviceKvCache::DeviceKvCache(const KvPartBytes& bytes) : bytes_(bytes) {
  std::size_t end = kGuardBytes;
  for (std::size_t part = 0; part < bytes.size(); ++part) {
    offsets_[part] = end;
    end += padded(bytes[part]) + kGuardBytes;
  }
  buffer_ = DeviceBuffer(end);
}

void DeviceKvCache::set(KvCache* cache) const noexcept {
  cache->k.codes = get(kKCodes);
  cache->k.scales = get(kKScales);
  cache->v.codes = get(kVCodes);
  cache->v.scales = get(kVScales);
  cache->k.residual = get(kKResidual);
}

}  // namespace heddle
