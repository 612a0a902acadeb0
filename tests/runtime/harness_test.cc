// The checks of the GPU harness against the fake driver, whose memory is the process's own and
// whose kernels write nothing.
#include "tools/gpu_harness/harness.h"

#include <cstring>
#include <utility>

#include "tests/runtime/fake_device.h"

namespace heddle {
namespace {

constexpr std::size_t kOutputBytes = 64;

// Writes ones, or what a test says.
class Ones : public CheckedLaunch {
 public:
  using Write = std::function<void(std::uint8_t* output, int launch)>;
  explicit Ones(Write write) : write_(std::move(write)) {}

  std::vector<Output> outputs() override { return {{&output_, kOutputBytes}}; }
  std::vector<unsigned char> poisons() const override { return {0xFF, 0x5A, 0xFF}; }
  void launch(const OwnedStream&) override {
    auto* const bytes = static_cast<std::uint8_t*>(output_.get());
    std::memset(bytes, 1, kOutputBytes);
    write_(bytes, launches_++);
  }
  void compare(const Written& written, unsigned char, const OwnedStream&, Check* check) override {
    count_mismatches(written[0], std::vector<std::uint8_t>(kOutputBytes, 1), 0, check);
    check->wrong = mismatch_text(*check);
  }

 private:
  Write write_;
  GuardedBuffer output_{kOutputBytes};
  int launches_ = 0;
};

class HarnessTest : public testing::FakeDevice {
 protected:
  void TearDown() override {
    FakeDevice::TearDown();
    EXPECT_EQ(fake::live_device_bytes(), 0U);
  }
  static std::string fault_of(Ones::Write write) {
    const OwnedStream stream;
    Ones ones(std::move(write));
    Check check;
    check_launch(ones, stream, &check);
    return check.fault();
  }
};

TEST_F(HarnessTest, FindsWhatALaunchDoesWrong) {
  EXPECT_EQ(fault_of([](std::uint8_t*, int) {}), "");
  EXPECT_EQ(fault_of([](std::uint8_t* output, int) { output[-1] = 1; }),
            "writes outside of its output");
  EXPECT_EQ(fault_of([](std::uint8_t* output, int) { output[kOutputBytes + kGuardBytes - 1] = 1; }),
            "writes outside of its output");
  EXPECT_EQ(fault_of([](std::uint8_t* output, int) { output[7] = 2; }),
            "2 of 128 bytes differ, the first at 7");
  EXPECT_EQ(fault_of([](std::uint8_t* output, int launch) { output[7] = launch == 1 ? 2 : 1; }),
            "1 of 128 bytes differ, the first at 7")
      << "with the second poison";
  EXPECT_EQ(fault_of([](std::uint8_t* output, int launch) { output[7] = launch == 2 ? 2 : 1; }),
            "not the same bits from run to run");
}

TEST_F(HarnessTest, NoOperationPassesWithoutItsResults) {
  Runtime runtime(options_);
  const Spec specs[] = {
      testing::gemm_spec(),
      testing::dequantize_spec(),
      Spec::parse(R"({"heddle":1,"op":"repack","shape":{"n":64,"k":256},"weight":{"bits":4,)"
                  R"("zero_point":"int"},"source":{"format":"gptq"}})"),
      Spec::parse(R"({"heddle":1,"op":"quantize_weight","shape":{"n":64,"k":256},)"
                  R"("weight":{"bits":4},"input":{"dtype":"fp16"}})"),
      Spec::parse(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":2,"head_dim":64},)"
                  R"("activation":{"dtype":"fp16"},"kv":{}})"),
      Spec::parse(R"({"heddle":1,"op":"decode_attention","shape":{"heads":4,"kv_heads":2,)"
                  R"("head_dim":64},"activation":{"dtype":"fp16"},"kv":{}})"),
      Spec::parse(R"({"heddle":1,"op":"row_transform","shape":{"columns":64},)"
                  R"("input":{"dtype":"fp16"},"norm":{"type":"rms","epsilon":1e-5}})"),
  };
  for (const Spec& spec : specs) {
    SCOPED_TRACE(spec.canonical_json());
    const Kernel kernel = runtime.kernel(spec);
    const std::vector<Check> checks = harness_of(spec).check(kernel, {});
    EXPECT_EQ(checks.size(), spec.has_m() ? kernel.plan().kernels.size() : 1U);
    for (const Check& check : checks) {
      EXPECT_NE(check.fault(), "");
      EXPECT_TRUE(check.guards_intact);
      EXPECT_FALSE(harness_of(spec).cells(check, kernel.plan()).empty());
    }
  }
}

TEST_F(HarnessTest, AnMOutsideOfTheSpecIsRefused) {
  Runtime runtime(options_);
  const Spec spec = testing::gemm_spec(8);
  try {
    harness_of(spec).check(runtime.kernel(spec), {{1, 9}});
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "harness.m");
  }
}

}  // namespace
}  // namespace heddle
