// Strict mode, and the record of what a process asked for.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>

#include "heddle/bundle.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "runtime/recorder.h"
#include "tests/runtime/fake_device.h"

namespace heddle {
namespace {

using testing::code_of;
using testing::dequantize_spec;
using testing::gemm_spec;

class StrictTest : public testing::FakeDevice {
 protected:
  std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(StrictTest, AMissingKernelIsAnErrorWithTheSpecToAdd) {
  options_.strict = true;
  Runtime runtime(options_);
  std::string what;
  EXPECT_EQ(code_of([&] { runtime.kernel(dequantize_spec()); }, &what), "runtime.not_in_cache");
  EXPECT_NE(what.find(dequantize_spec().canonical_json()), std::string::npos) << what;
  EXPECT_NE(what.find("Fake H200 (sm_90a)"), std::string::npos) << what;
  EXPECT_EQ(compilations_, 0);
  EXPECT_EQ(code_of(
                [&] {
                  runtime.prepare({dequantize_spec(64), dequantize_spec(128)});
                },
                &what),
            "runtime.not_in_cache");
  for (const int n : {64, 128}) {
    EXPECT_NE(what.find(dequantize_spec(n).canonical_json()), std::string::npos) << what;
  }
}

TEST_F(StrictTest, EveryKernelThatIsMissingIsNamedOnce) {
  options_.strict = true;
  Runtime runtime(options_);
  const Plan plan = resolve(gemm_spec(512), runtime.device_target());
  ASSERT_GT(plan.kernels.size(), 2U);
  for (const bool prepare : {false, true}) {
    std::string what;
    EXPECT_EQ(code_of(
                  [&] {
                    if (prepare) runtime.prepare({gemm_spec(512), dequantize_spec()});
                    runtime.kernel(gemm_spec(512));
                  },
                  &what),
              "runtime.not_in_cache");
    for (const PlannedKernel& kernel : plan.kernels) {
      const std::string::size_type at = what.find(kernel.name + " (key ");
      EXPECT_NE(at, std::string::npos) << kernel.name << '\n' << what;
      EXPECT_EQ(what.find(kernel.name + " (key ", at + 1), std::string::npos) << what;
    }
    EXPECT_NE(what.find(gemm_spec(512).canonical_json()), std::string::npos) << what;
  }
}

// What has no spec of its own, sources, knows what it was rendered for; the key is the one that the
// cache has it under.
TEST_F(StrictTest, SourcesThatAreMissingAreToldWithTheirSpecAndKey) {
  const Target target = target_from_name("h200");
  const Plan plan = resolve(dequantize_spec(), target);
  const std::vector<Source> sources = render_all(plan);
  const std::string key = Runtime(options_).build(sources).front().key;
  options_.strict = true;
  options_.cache_dir = (folder_.path() / "empty").string();
  std::string what;
  EXPECT_EQ(code_of([&] { Runtime(options_).build(sources); }, &what), "runtime.not_in_cache");
  EXPECT_NE(what.find(sources.front().kernel_name + " (key " + key.substr(0, 16) + ')'),
            std::string::npos)
      << what << '\n'
      << key;
  EXPECT_NE(what.find("add this spec for h200 (sm_90a): " + dequantize_spec().canonical_json()),
            std::string::npos)
      << what;
  EXPECT_EQ(code_of(
                [&] {
                  write_bundle(*std::make_unique<Runtime>(options_),
                               (folder_.path() / "a.hdl").string(), {{gemm_spec(512), target}});
                },
                &what),
            "runtime.not_in_cache");
  const std::string spec = gemm_spec(512).canonical_json();
  const std::string::size_type at = what.find(spec);
  EXPECT_NE(at, std::string::npos) << what;
  EXPECT_EQ(what.find(spec, at + 1), std::string::npos) << "once, for all of its kernels";
}

TEST_F(StrictTest, ManyMissingKernelsAreCounted) {
  options_.strict = true;
  std::vector<Spec> specs;
  for (int i = 1; i <= 200; ++i) specs.push_back(dequantize_spec(8 * i));
  std::string what;
  EXPECT_EQ(code_of([&] { Runtime(options_).prepare(specs); }, &what), "runtime.not_in_cache");
  EXPECT_NE(what.find("and 150 more problems"), std::string::npos) << what;
  Runtime sealed(options_);
  sealed.seal();
  EXPECT_EQ(code_of([&] { sealed.prepare(specs); }, &what), "runtime.sealed");
  EXPECT_NE(what.find("and 150 more problems"), std::string::npos) << what;
}

TEST_F(StrictTest, ServesWhatIsThereWithoutAnyCompiler) {
  Runtime(options_).kernel(dequantize_spec());
  options_.strict = true;
  const ScopedEnvironment nowhere("HEDDLE_NVRTC", "/nonexistent");
  Runtime runtime(options_);
  EXPECT_NO_THROW(runtime.kernel(dequantize_spec()));
  EXPECT_NO_THROW(runtime.prepare({dequantize_spec()}));
  EXPECT_EQ(compilations_, 1);
}

TEST_F(StrictTest, RecordsWhatIsAskedFor) {
  options_.record_file = (folder_.path() / "record").string();
  {
    Runtime runtime(options_);
    runtime.kernel(dequantize_spec());
    runtime.kernel(dequantize_spec());
    runtime.prepare({dequantize_spec(128)});
    runtime.request(dequantize_spec(192)).wait();
  }
  options_.strict = true;
  options_.cache_dir = (folder_.path() / "empty").string();
  EXPECT_NE(code_of([&] { Runtime(options_).kernel(gemm_spec()); }), "");
  const std::vector<RecordedSpec> recorded = parse_record(text_of(options_.record_file));
  ASSERT_EQ(recorded.size(), 4U);
  EXPECT_EQ(recorded[0].spec.canonical_json(), dequantize_spec().canonical_json());
  EXPECT_EQ(recorded[3].spec.canonical_json(), gemm_spec().canonical_json())
      << "what strict mode misses above all";
  // Elsewhere, the same plan comes out of it.
  const Target device = Runtime(options_).device_target();
  EXPECT_EQ(plan_to_json(resolve(recorded[3].spec, recorded[3].target)),
            plan_to_json(resolve(gemm_spec(), device)));
}

TEST_F(StrictTest, RecordsWhereTheEnvironmentSays) {
  const std::string path = (folder_.path() / "record").string();
  const ScopedEnvironment environment("HEDDLE_RECORD", path.c_str());
  Runtime(options_).kernel(dequantize_spec());
  EXPECT_TRUE(is_record(text_of(path)));
  EXPECT_EQ(parse_record(text_of(path)).size(), 1U);
}

TEST_F(StrictTest, ARecordThatCannotBeWrittenIsOneWarning) {
  options_.record_file = "/nonexistent/folder/record";
  Runtime runtime(options_);
  runtime.kernel(dequantize_spec(64));
  runtime.kernel(dequantize_spec(128));
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_[0].find(options_.record_file), std::string::npos);
}

}  // namespace
}  // namespace heddle
