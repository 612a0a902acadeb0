// Every decode plan, compiled: the same cases as the proof on the host, decoded by the GPU, equal
// exact arithmetic bit for bit. Skips where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "generator/decode/proof_cases.h"
#include "heddle/inspect/binary.h"
#include "heddle/runtime.h"
#include "runtime/driver/context.h"
#include "tests/decode_kernels/decode_kernels.h"
#include "tests/gpu/gpu_fixture.h"
#include "tools/gpu_harness/device/device_memory.h"

namespace heddle {
namespace {

constexpr unsigned kThreads = 256;

// A plan's cases, one after the other, as its kernel reads them.
struct PackedCases {
  std::vector<std::uint32_t> words;
  std::vector<std::uint32_t> group_words;
  std::size_t runs = 0;
  std::size_t outputs = 0;  // registers
  int element_bits = 16;

  explicit PackedCases(const DecodeKernel& kernel) {
    std::size_t cases = 0;
    for_each_proof_case(kernel.plan, [&](const ProofCase& one) {
      words.insert(words.end(), one.words.begin(), one.words.end());
      group_words.insert(group_words.end(), one.group_words.begin(), one.group_words.end());
      ++cases;
    });
    // The units that fill up the last run are decoded and not looked at.
    const auto units = static_cast<std::size_t>(kernel.units_per_run());
    runs = (cases + units - 1) / units;
    outputs = runs * units * kernel.plan.outputs.size();
    element_bits = kernel.plan.makes_bytes() ? 8 : 16;
    words.resize(runs * units * static_cast<std::size_t>(kernel.plan.words));
    group_words.resize(runs * units * static_cast<std::size_t>(kernel.plan.group_words));
  }
};

// One loaded translation unit.
class Library {
 public:
  explicit Library(const Binary& binary) {
    cuda::check(cuda::driver().cuLibraryLoadData(&library_, binary.cubin.data(), nullptr, nullptr,
                                                 0, nullptr, nullptr, 0),
                "cuLibraryLoadData");
  }
  ~Library() { cuda::try_driver(nullptr)->cuLibraryUnload(library_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  cuda::CUkernel kernel(const std::string& entry) const {
    cuda::CUkernel kernel = nullptr;
    cuda::check(cuda::driver().cuLibraryGetKernel(&kernel, library_, entry.c_str()), entry.c_str());
    return kernel;
  }

 private:
  cuda::CUlibrary library_ = nullptr;
};

std::vector<std::uint16_t> decode_on_device(cuda::CUkernel kernel, const PackedCases& cases) {
  const OwnedStream stream;
  const DeviceBuffer words = to_device(cases.words, stream);
  const DeviceBuffer group_words = to_device(cases.group_words, stream);
  DeviceBuffer out(cases.outputs * sizeof(std::uint32_t));
  out.fill(0xff, stream);  // NaN of a kind that no plan gives
  const void* words_at = words.get();
  const void* group_words_at = group_words.get();
  void* out_at = out.get();
  auto runs = static_cast<std::uint32_t>(cases.runs);
  void* parameters[] = {&words_at, &group_words_at, &out_at, &runs};
  cuda::CUlaunchConfig config{};
  config.gridDimX = (runs + kThreads - 1) / kThreads;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = kThreads;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream.get();
  cuda::check(cuda::driver().cuLaunchKernelEx(&config, reinterpret_cast<cuda::CUfunction>(kernel),
                                              parameters, nullptr),
              "cuLaunchKernelEx");
  std::vector<std::uint32_t> registers(cases.outputs);
  out.download(registers.data(), 0, out.bytes(), stream);
  std::vector<std::uint16_t> elements;
  for (const std::uint32_t value : registers) {
    for (int bit = 0; bit < 32; bit += cases.element_bits) {
      elements.push_back(
          static_cast<std::uint16_t>(value >> bit & ((1U << cases.element_bits) - 1)));
    }
  }
  return elements;
}

DecodeProof judge(const DecodeKernel& kernel, const std::vector<std::uint16_t>& elements) {
  ProofJudge judge(kernel.plan);
  const std::uint16_t* at = elements.data();
  for_each_proof_case(kernel.plan, [&](const ProofCase& one) {
    judge.check(one, at);
    at += kernel.plan.elements();
  });
  return judge.proof();
}

class DecodeGpu : public OnGpu {};

TEST_F(DecodeGpu, EveryCompiledPlanIsExact) {
  const DecodeKernels all = every_decode_kernel(compiler_arch(runtime().device_target()));
  const std::vector<BuildResult> built = runtime().build(all.sources);
  const cuda::CurrentContext context;
  std::vector<std::unique_ptr<Library>> libraries;
  for (const BuildResult& result : built) {
    libraries.push_back(std::make_unique<Library>(*result.binary));
  }
  std::uint64_t codes = 0;
  for (const DecodeKernel& kernel : all.kernels) {
    const DecodeProof proof = judge(
        kernel,
        decode_on_device(libraries[kernel.source]->kernel(kernel.entry), PackedCases(kernel)));
    EXPECT_EQ(proof.mismatches, 0U) << kernel.plan_name << ": " << proof.first_mismatch;
    codes += proof.codes_checked;
  }
  EXPECT_GT(codes, 0U);
  std::printf("%zu plans, %llu codes\n", all.kernels.size(),
              static_cast<unsigned long long>(codes));
}

// The comparison itself: one wrong bit of one word, or of one zero point, does not pass.
TEST_F(DecodeGpu, AWrongBitIsFound) {
  const DecodeKernels all = every_decode_kernel(compiler_arch(runtime().device_target()));
  const DecodeKernel& kernel = *std::find_if(
      all.kernels.begin(), all.kernels.end(),
      [](const DecodeKernel& one) { return one.plan_name == "uint4 - zero point to fp16"; });
  const std::vector<BuildResult> built = runtime().build({all.sources[kernel.source]});
  const cuda::CurrentContext context;
  const Library library(*built[0].binary);
  PackedCases cases(kernel);
  cases.words[5] ^= 0x00100000;
  cases.group_words[9] ^= 0x00010000;
  const DecodeProof proof = judge(kernel, decode_on_device(library.kernel(kernel.entry), cases));
  // One element by its own bit, and two by the zero point of row g in the high halves of a0 and a2.
  EXPECT_EQ(proof.mismatches, 3U) << proof.first_mismatch;
}

}  // namespace
}  // namespace heddle
