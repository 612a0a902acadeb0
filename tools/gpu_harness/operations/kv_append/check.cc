#include "tools/gpu_harness/operations/kv_append/check.h"

#include <fmt/format.h>

#include <utility>

#include "generator/decode/float16.h"
#include "heddle/inspect/plan.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/operations/kv_append/bench.h"
#include "tools/gpu_harness/operations/kv_append/device.h"
#include "tools/gpu_harness/operations/kv_append/problem.h"

namespace heddle {

const StepPart& kv_append_step();  // step.cc
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

class KvLaunch : public CheckedLaunch {
 public:
  KvLaunch(const Kernel& kernel, const KvProblem& problem, const OwnedStream& stream)
      : kernel_(kernel),
        spec_(kernel.plan().spec.kv_append()),
        problem_(problem),
        input_(spec_, problem, stream),
        output_(problem.bytes) {}

  std::vector<Output> outputs() override {
    std::vector<Output> all;
    for (GuardedBuffer& part : output_.parts) all.push_back({&part, part.bytes()});
    return all;
  }
  // Two poisons show a byte that is not written.
  std::vector<unsigned char> poisons() const override { return {0xFF, 0x5A}; }
  // The tokens that lie in the window already.
  void restore(const OwnedStream& stream) override {
    output_.parts[kKResidual].upload(problem_.residual.data(), problem_.bytes[kKResidual], stream);
  }
  void launch(const OwnedStream& stream) override {
    KvAppendArgs args = input_.args();
    output_.set(&args);
    KvAppendKernel(kernel_).launch(args, stream.get());
  }
  void compare(const Written& written, unsigned char poison, const OwnedStream&,
               Check* check) override {
    KvImages expected = kv_images(problem_, poison);
    append_on_host(spec_, problem_, expected);
    std::size_t base = 0;
    for (const KvPart part : {kKCodes, kKScales, kVCodes, kVScales, kKResidual, kQuery}) {
      std::vector<std::uint8_t> got = written[part];
      if (part != kKScales && part != kVScales) {
        unify_nans(dtype_of(spec_, part), got);
        unify_nans(dtype_of(spec_, part), expected[part]);
      }
      count_mismatches(got, expected[part], base, check);
      base += got.size();
    }
    check->wrong = mismatch_text(*check);
  }

 private:
  const Kernel& kernel_;
  const KvAppendSpec& spec_;
  const KvProblem& problem_;
  DeviceKvInput input_;
  DeviceKvOutput output_;
};

void check_shape(const Kernel& kernel, const KvAppendShape& shape, std::uint32_t seed,
                 Check* check) {
  const OwnedStream stream;
  const KvProblem problem = make_kv_problem(kernel.plan().spec.kv_append(), shape, seed);
  KvLaunch launch(kernel, problem, stream);
  check_launch(launch, stream, check);
}

class KvAppendHarness : public Harness {
 public:
  // Ragged batches inside and beyond the cache, and single tokens: the sum of all checks.
  std::vector<Check> check(const Kernel& kernel, const CheckOptions& options) const override {
    const cuda::CurrentContext context;
    const std::uint32_t seed = options.seed;
    Check sum;
    for (const KvAppendShape& shape :
         {ragged_shape(seed, false), ragged_shape(seed + 1, true), decode_shape(37, 300, seed)}) {
      check_shape(kernel, shape, seed, &sum);
    }
    return {std::move(sum)};
  }
  Cells cells(const Check& check, const Plan& plan) const override {
    return byte_cells(check, plan);
  }
  BenchReport bench(Runtime& runtime, const std::vector<Spec>& specs,
                    const BenchOptions& options) const override {
    return bench_kv_append(runtime, specs.front(), options);
  }
  const StepPart* step() const override { return &kv_append_step(); }
};

}  // namespace

const Harness& kv_append_harness() {
  static const KvAppendHarness harness;
  return harness;
}

Check check_kv_append(const Kernel& kernel, const KvAppendShape& shape, std::uint32_t seed) {
  const cuda::CurrentContext context;
  Check check;
  check_shape(kernel, shape, seed, &check);
  return check;
}

}  // namespace heddle
