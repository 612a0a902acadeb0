// Bundles that an engine writes and reads itself, without the command.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "heddle/bundle.h"
#include "tests/runtime/fake_device.h"

namespace heddle {
namespace {

using testing::code_of;
using testing::dequantize_spec;

class WriteBundleTest : public testing::FakeDevice {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  static std::string bytes_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::vector<BundleRequest> requests_ = {{dequantize_spec(), target_from_name("h200")},
                                                {dequantize_spec(), target_from_name("h100")},
                                                {dequantize_spec(128), target_from_name("h200")}};
};

TEST_F(WriteBundleTest, HoldsTheKernelsOfAllRequestsEachOnce) {
  Runtime runtime(options_);
  std::vector<std::size_t> counts;
  const BundleReport report =
      write_bundle(runtime, path("model.hdl"), requests_, true,
                   [&](const BuildResult&, std::size_t done, std::size_t total) {
                     EXPECT_EQ(total, 2U);
                     counts.push_back(done);
                     return true;
                   });
  EXPECT_EQ(counts, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(report.kernels, 2U);
  EXPECT_EQ(report.bytes, bytes_of_file(path("model.hdl")).size());

  const BundleContents contents = read_bundle(path("model.hdl"));
  EXPECT_EQ(contents.bytes, report.bytes);
  ASSERT_EQ(contents.kernels.size(), 2U);
  for (const BundledKernel& kernel : contents.kernels) {
    EXPECT_EQ(kernel.arch, "sm_90a");
    EXPECT_TRUE(kernel.has_source);
    EXPECT_GT(kernel.cubin_bytes, 0U);
    const bool both = kernel.kernel_name.find("n64") != std::string::npos;
    EXPECT_EQ(kernel.gpus, both ? std::vector<std::string>({"h100", "h200"})
                                : std::vector<std::string>({"h200"}));
  }

  std::vector<BundleRequest> turned(requests_.rbegin(), requests_.rend());
  write_bundle(runtime, path("turned.hdl"), turned);
  EXPECT_EQ(bytes_of_file(path("turned.hdl")), bytes_of_file(path("model.hdl")));
  write_bundle(runtime, path("bare.hdl"), requests_, false);
  EXPECT_FALSE(read_bundle(path("bare.hdl")).kernels.front().has_source);
}

TEST_F(WriteBundleTest, AStrictRuntimeIsServedFromIt) {
  Runtime runtime(options_);
  write_bundle(runtime, path("model.hdl"), requests_);
  RuntimeOptions options;
  options.strict = true;
  options.cache_dir = "ro:" + path("model.hdl");
  Runtime strict(options);
  EXPECT_EQ(strict.kernel(dequantize_spec()).device(), 0);
  EXPECT_EQ(code_of([&] { strict.kernel(dequantize_spec(192)); }), "runtime.not_in_cache");
}

// The system would take what is before the null byte for the name.
TEST_F(WriteBundleTest, NamesWithANullByteAreRefused) {
  Runtime runtime(options_);
  const std::string cut = path("cut") + std::string("\0.hdl", 5);
  std::string what;
  EXPECT_EQ(code_of([&] { write_bundle(runtime, cut, requests_); }, &what), "path.null_byte");
  EXPECT_NE(what.find("path has a null byte behind \"" + path("cut") + '"'), std::string::npos)
      << what;
  EXPECT_FALSE(std::filesystem::exists(path("cut")));
  EXPECT_EQ(code_of([&] { read_bundle(cut); }), "path.null_byte");
  const auto refused = [&](const std::function<void(RuntimeOptions&)>& change) {
    RuntimeOptions options = options_;
    change(options);
    return code_of([&] { const Runtime other(options); });
  };
  EXPECT_EQ(refused([&](RuntimeOptions& o) { o.cache_dir = cut; }), "path.null_byte");
  EXPECT_EQ(refused([&](RuntimeOptions& o) { o.read_only_roots = {"a", cut}; }), "path.null_byte");
  EXPECT_EQ(refused([&](RuntimeOptions& o) { o.record_file = cut; }), "path.null_byte");
  EXPECT_EQ(refused([&](RuntimeOptions& o) { o.nvrtc_dir = cut; }), "path.null_byte");
}

TEST_F(WriteBundleTest, RefusesWhatWouldNotBeComplete) {
  Runtime runtime(options_);
  EXPECT_EQ(code_of([&] { write_bundle(runtime, path("model.zip"), requests_); }), "bundle.name");
  EXPECT_EQ(code_of([&] { write_bundle(runtime, path("no/model.hdl"), requests_); }),
            "bundle.unwritable");
  std::vector<BundleRequest> bf16 = requests_;
  bf16.push_back({Spec::parse(R"({"heddle":1,"op":"gemm","shape":{"n":64,"k":256},)"
                              R"("weight":{"bits":4},"activation":{"dtype":"bf16"}})"),
                  target_from_name("sm_75")});
  std::string what;
  EXPECT_EQ(code_of([&] { write_bundle(runtime, path("model.hdl"), bf16); }, &what),
            "bundle.lacks_kernels");
  EXPECT_NE(what.find("sm_75"), std::string::npos) << what;
  EXPECT_EQ(code_of([&] {
              write_bundle(runtime, path("model.hdl"), requests_, true,
                           [](const BuildResult&, std::size_t, std::size_t) { return false; });
            }),
            "runtime.cancelled");
  EXPECT_EQ(code_of([&] { read_bundle(path("model.hdl")); }), "bundle.unusable");
  folder_.write("odd.hdl", "no bundle");
  EXPECT_EQ(code_of([&] { read_bundle(path("odd.hdl")); }), "bundle.unusable");
}

}  // namespace
}  // namespace heddle
