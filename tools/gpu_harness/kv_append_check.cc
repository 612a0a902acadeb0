#include "tools/gpu_harness/kv_append_check.h"

#include <algorithm>

#include "generator/decode/float16.h"
#include "heddle/inspect/plan.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/expected_kv.h"
#include "tools/gpu_harness/kv_device.h"

namespace heddle {
namespace {

bool is_16_bit(KvDtype dtype) { return dtype == KvDtype::kFp16 || dtype == KvDtype::kBf16; }

KvDtype dtype_of(const KvAppendSpec& spec, KvPart part) {
  if (part == kKResidual || part == kQuery) {
    return spec.activation == DType::kBf16 ? KvDtype::kBf16 : KvDtype::kFp16;
  }
  return part == kKCodes ? spec.kv.k.dtype : spec.kv.v.dtype;
}

// Makes every NaN of 16-bit codes the same.
void unify_nans(KvDtype dtype, std::vector<std::uint8_t>& codes) {
  if (!is_16_bit(dtype)) return;
  const Float16Format format = dtype == KvDtype::kBf16 ? kBfloat16 : kBinary16;
  for (std::size_t i = 0; i + 1 < codes.size(); i += 2) {
    const int magnitude = codes[i] | (codes[i + 1] & 0x7F) << 8;
    if (magnitude > format.exponent_mask()) codes[i] = codes[i + 1] = 0x7F;
  }
}

void compare_part(std::vector<std::uint8_t> expected, std::vector<std::uint8_t> got,
                  std::size_t base, ByteCheck* check) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (got[i] == expected[i]) continue;
    if (check->mismatches++ == 0) check->first_mismatch = base + i;
  }
}

}  // namespace

ByteCheck run_kv_append(const Kernel& kernel, const KvAppendShape& shape, std::uint32_t seed) {
  const cuda::CurrentContext context;
  const OwnedStream stream;
  const KvAppendSpec& spec = kernel.plan().spec.kv_append();
  const KvProblem problem = make_kv_problem(spec, shape, seed);
  const DeviceKvInput input(spec, problem, stream);
  DeviceKvOutput output(problem.bytes);
  KvAppendArgs args = input.args();
  output.set(&args);

  ByteCheck check;
  check.guards_intact = true;
  std::vector<std::uint8_t> got(output.buffer().bytes());
  for (const std::uint8_t poison : {0xFF, 0x5A}) {
    KvImages expected = kv_images(problem, poison);
    output.buffer().fill(poison, stream);
    output.buffer().upload(expected[kKResidual].data(), problem.bytes[kKResidual], stream,
                           output.offset(kKResidual));
    append_on_host(spec, problem, expected);
    KvAppendKernel(kernel).launch(args, stream.get());
    output.buffer().download(got.data(), 0, got.size(), stream);
    std::size_t end = 0;
    for (const KvPart part : {kKCodes, kKScales, kVCodes, kVScales, kKResidual, kQuery}) {
      const auto first = got.begin() + static_cast<std::ptrdiff_t>(output.offset(part));
      const auto guard = got.begin() + static_cast<std::ptrdiff_t>(end);
      const auto is_poison = [poison](std::uint8_t byte) { return byte == poison; };
      check.guards_intact = check.guards_intact && std::all_of(guard, first, is_poison);
      std::vector<std::uint8_t> part_got(first,
                                         first + static_cast<std::ptrdiff_t>(problem.bytes[part]));
      if (part == kKCodes || part == kVCodes || part == kKResidual || part == kQuery) {
        const KvDtype dtype = dtype_of(spec, part);
        unify_nans(dtype, part_got);
        unify_nans(dtype, expected[part]);
      }
      compare_part(std::move(expected[part]), std::move(part_got), output.offset(part), &check);
      end = output.offset(part) + problem.bytes[part];
      check.bytes += problem.bytes[part];
    }
    check.guards_intact = check.guards_intact &&
                          std::all_of(got.begin() + static_cast<std::ptrdiff_t>(end), got.end(),
                                      [poison](std::uint8_t byte) { return byte == poison; });
  }
  return check;
}

ByteCheck run_kv_append(const Kernel& kernel, std::uint32_t seed) {
  ByteCheck sum;
  sum.guards_intact = true;
  for (const KvAppendShape& shape :
       {ragged_shape(seed, false), ragged_shape(seed + 1, true), decode_shape(37, 300, seed)}) {
    const ByteCheck check = run_kv_append(kernel, shape, seed);
    if (sum.mismatches == 0) sum.first_mismatch = check.first_mismatch;
    sum.mismatches += check.mismatches;
    sum.bytes += check.bytes;
    sum.guards_intact = sum.guards_intact && check.guards_intact;
  }
  return sum;
}

}  // namespace heddle
