// A process with a bundle among its cache roots plans with the bundle's tuned tables.
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "cache/bundle.h"
#include "cache/entry.h"
#include "generator/planner/choose.h"
#include "heddle/inspect/source.h"
#include "runtime/compile/builder.h"
#include "tests/runtime/fake_device.h"
#include "tests/runtime/slowest_table.h"

namespace heddle {
namespace {

using testing::code_of;
using testing::gemm_spec;
using testing::slowest_table;

class BundleRootTest : public testing::FakeDevice {
 protected:
  void SetUp() override {
    FakeDevice::SetUp();
    if (IsSkipped()) return;
    const std::lock_guard<std::mutex> lock(fake::state().mutex);
    fake::state().devices = {fake::device_of("NVIDIA H100 80GB HBM3", 9, 0)};
    table_ = slowest_table(gemm_spec(), "h100", &label_).to_json();
    predicted_ = slowest_table(gemm_spec(4), "h100", &other_label_).to_json();
  }

  // A bundle with the kernels that are planned with the table and with it or whatever is put there.
  std::string write_bundle(const std::string& name, const std::string& table,
                           const std::vector<std::string>& bundled) {
    RuntimeOptions options = options_;
    options.tuned_tables = "none:" + folder_.write(name + ".json", table);
    Runtime runtime(options);
    std::vector<BundleEntry> entries;
    const auto sources =
        render_all(resolve(gemm_spec(), target_from_name("h100"), runtime.tuned_tables()));
    const std::vector<BuildResult> built = runtime.build(sources);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      entries.push_back(
          {serialize(cache_key(sources[i], built[i].binary->compiler)), *built[i].binary, {}});
    }
    std::string path = (folder_.path() / (name + ".hdl")).string();
    EXPECT_EQ(publish_bundle(path, encode_bundle(std::move(entries), bundled)), 0);
    return path;
  }

  RuntimeOptions strict(const std::string& roots) const {
    RuntimeOptions options = options_;
    options.strict = true;
    options.cache_dir = roots;
    return options;
  }

  std::string label_of(const RuntimeOptions& options) {
    Runtime runtime(options);
    return kernel_label(runtime.kernel(gemm_spec()).plan().kernels.front());
  }

  std::string table_;
  std::string label_;
  std::string predicted_;
  std::string other_label_;
};

TEST_F(BundleRootTest, StrictFindsEveryKernelWithoutBeingTold) {
  const std::string bundle = write_bundle("model", table_, {table_});
  const ScopedEnvironment nowhere("HEDDLE_NVRTC", "/nonexistent");
  EXPECT_EQ(label_of(strict("ro:" + bundle)), label_);
  RuntimeOptions options = strict((folder_.path() / "empty").string());
  options.read_only_roots = {bundle};
  EXPECT_EQ(label_of(options), label_);
  {
    const ScopedEnvironment cache("HEDDLE_CACHE", ("ro:" + bundle).c_str());
    EXPECT_EQ(label_of(strict("")), label_);
  }
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(BundleRootTest, WithoutItsTablesTheKernelsAreNotFound) {
  const std::string bundle = write_bundle("model", table_, {});
  EXPECT_EQ(code_of([&] { label_of(strict("ro:" + bundle)); }), "runtime.not_in_cache");
}

TEST_F(BundleRootTest, WhoAsksForNoTablesPlansWithNone) {
  const std::string bundle = write_bundle("model", table_, {table_});
  RuntimeOptions options = strict("ro:" + bundle);
  options.tuned_tables = "none";
  EXPECT_EQ(code_of([&] { label_of(options); }), "runtime.not_in_cache");
  options.strict = false;
  EXPECT_NE(label_of(options), label_);
}

TEST_F(BundleRootTest, TheCallersTablesGoFirst) {
  const std::string bundle = write_bundle("model", table_, {table_});
  RuntimeOptions options = options_;
  options.cache_dir = "ro:" + bundle;
  // The caller's table has another kernel for M up to 4.
  options.tuned_tables = folder_.write("own.json", predicted_);
  Runtime runtime(options);
  const Target target = target_from_name("h100");
  const TunedTable* const table = runtime.tuned_tables().of(target);
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->entries().size(), 2U);
  EXPECT_EQ(table->entries()[0].kernel, other_label_);
  EXPECT_EQ(table->entries()[0].m_last, 4);
  EXPECT_EQ(table->entries()[1].kernel, label_);
  EXPECT_EQ(table->entries()[1].m_first, 5);
}

TEST_F(BundleRootTest, TheFirstRootGoesBeforeTheSecond) {
  const std::string first = write_bundle("first", table_, {table_});
  const std::string second = write_bundle("second", predicted_, {predicted_});
  EXPECT_EQ(label_of(strict("ro:" + first + ":ro:" + second)), label_);
  Runtime runtime(strict("ro:" + second + ":ro:" + first));
  const Target target = target_from_name("h100");
  EXPECT_EQ(runtime.tuned_tables().of(target)->entries().size(), 2U);
}

TEST_F(BundleRootTest, ABundleWithDamagedTablesIsAMissAndToldOnce) {
  const std::string bundle = write_bundle("model", table_, {table_});
  {
    std::fstream file(bundle, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-1, std::ios::end);
    file.put('x');
  }
  Runtime runtime(strict("ro:" + bundle));
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(code_of([&] { runtime.kernel(gemm_spec()); }), "runtime.not_in_cache");
  }
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_[0].find(bundle), std::string::npos) << warnings_[0];
  EXPECT_NE(warnings_[0].find("tuned tables"), std::string::npos) << warnings_[0];
}

TEST_F(BundleRootTest, TablesThatAreNotUnderstoodAreNotUsedAndToldOnce) {
  const std::string bundle = write_bundle("model", table_, {table_, table_ + " "});
  Runtime runtime(strict("ro:" + bundle));
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(code_of([&] { runtime.kernel(gemm_spec()); }), "runtime.not_in_cache");
  }
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_[0].find(bundle), std::string::npos) << warnings_[0];
  // Its kernels still serve who plans with the table.
  RuntimeOptions options = strict("ro:" + bundle);
  options.tuned_tables = folder_.write("own.json", table_);
  EXPECT_EQ(label_of(options), label_);
}

}  // namespace
}  // namespace heddle
