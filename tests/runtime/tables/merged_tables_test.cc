#include "runtime/tables/merged_tables.h"

#include <gtest/gtest.h>

#include "generator/families/all.h"
#include "generator/families/kernel_name.h"
#include "heddle/error.h"
#include "tests/generator/tuned/tables.h"

namespace heddle {
namespace {

using Kernels = std::map<std::string, std::set<std::string>>;

// A GPU without a table that comes with Heddle.
constexpr const char* kGpu = "a100";
constexpr const char* kOfEntry = "heddle_gemm_uint4_g128_fp16_n4096_k4096_m1_16";

TablesOfBundle bundle_with(const std::vector<TunedEntry>& entries, Kernels kernels,
                           const char* path = "tuned.hdl") {
  TablesOfBundle bundle{path, {}, std::move(kernels)};
  if (!entries.empty()) bundle.tables.add(TunedTable::from_entries(kGpu, entries));
  return bundle;
}

// What is refused, whichever bundle comes first; empty if they are merged.
std::string merge_refusal(const TablesOfBundle& a, const TablesOfBundle& b) {
  const auto merge = [](const std::vector<TablesOfBundle>& bundles) -> std::string {
    try {
      merge_bundled_tables(bundles);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "bundle.tables_contradict");
      return error.what();
    }
  };
  const std::string text = merge({a, b});
  EXPECT_EQ(merge({b, a}).empty(), text.empty());
  return text;
}

// An entry serves every gemm of its format, N and K, so kernels that were planned without it would
// not be found any more.
TEST(MergedTables, KernelsThatWerePlannedWithoutAnEntryOfTheOther) {
  const TablesOfBundle tuned = bundle_with({entry_for(1, 16)}, {{kGpu, {kOfEntry}}});
  for (const char* kernel : {kOfEntry, "heddle_gemm_uint4_g128_fp16_gated_n4096_k4096_m1_8",
                             "heddle_gemm_uint4_g128_fp16_fp32_n4096_k4096_m1_8",
                             "heddle_gemm_uint4_g128_fp16_any_wgmma_32x64x512_s4_alone"}) {
    for (const char* gpu : {kGpu, ""}) {
      const std::string text =
          merge_refusal(tuned, bundle_with({}, {{gpu, {kernel}}}, "plain.hdl"));
      EXPECT_NE(text.find("plain.hdl has kernels for a100 of n = 4096, k = 4096"),
                std::string::npos)
          << kernel << ": " << text;
      EXPECT_EQ(text.find("tuned.hdl has"), std::string::npos) << text;
    }
    EXPECT_EQ(merge_refusal(tuned, bundle_with({}, {{"h200", {kernel}}})), "") << "of another GPU";
  }
}

TEST(MergedTables, KernelsThatNoEntryServesDoNoHarm) {
  const TablesOfBundle tuned = bundle_with({entry_for(1, 16)}, {{kGpu, {kOfEntry}}});
  for (const char* kernel :
       {"heddle_gemm_uint4z_g128_fp16_n4096_k4096_m1_8",
        "heddle_gemm_uint4_g128_bf16_n4096_k4096_m1_8",
        "heddle_gemm_uint4_g128_fp16_n4096_k40960_m1_8",
        "heddle_gemm_uint4_g128_fp16_n14096_k4096_m1_8", "heddle_row_silu_halves_fp16_n4096_few"}) {
    EXPECT_EQ(merge_refusal(tuned, bundle_with({}, {{kGpu, {kernel}}})), "") << kernel;
  }
}

// Two models of one format share kernels of any shape. Each was tuned for its own matrices.
TEST(MergedTables, KernelsOfAnyShapeAreOfTheShapesOfTheOthers) {
  constexpr const char* kAny = "heddle_gemm_uint4_g128_fp16_any_wgmma_32x64x512_s4_alone";
  constexpr const char* kOther = "heddle_gemm_uint4_g128_fp16_n8192_k1024_m1_16";
  TunedEntry other = entry_for(1, 16);
  other.n = 8192;
  other.k = 1024;
  const TablesOfBundle one = bundle_with({entry_for(1, 16)}, {{kGpu, {kOfEntry, kAny}}});
  const TablesOfBundle two = bundle_with({other}, {{kGpu, {kOther, kAny}}}, "two.hdl");
  EXPECT_EQ(merge_refusal(one, two), "");
  const TablesOfBundle plain = bundle_with({}, {{kGpu, {kOfEntry, kOther, kAny}}}, "plain.hdl");
  EXPECT_NE(merge_refusal(one, plain).find("plain.hdl has kernels"), std::string::npos);
  const TablesOfBundle prefill = bundle_with({}, {{kGpu, {kAny}}}, "prefill.hdl");
  EXPECT_NE(merge_refusal(one, prefill).find("prefill.hdl has kernels"), std::string::npos);
}

TEST(MergedTables, TheSameEntriesForTheSameM) {
  const Kernels kernels = {{kGpu, {kOfEntry}}};
  const TablesOfBundle tuned = bundle_with({entry_for(1, 16)}, kernels);
  EXPECT_EQ(merge_refusal(tuned, bundle_with({entry_for(1, 16)}, kernels)), "");
  EXPECT_NE(merge_refusal(tuned, bundle_with({entry_for(1, 8)}, kernels)), "") << "M = 9 to 16";
  EXPECT_NE(merge_refusal(tuned, bundle_with({entry_for(17, 32)}, kernels)), "");
  EXPECT_NE(merge_refusal(tuned, bundle_with({entry_for(1, 16, "other")}, kernels))
                .find("different kernels for n = 4096, k = 4096, M = 1"),
            std::string::npos);
}

// An entry that is also in the table that comes with Heddle is a difference all the same if the
// other bundle was made without that table.
TEST(MergedTables, EntriesOfTheShippedTable) {
  const TunedTable& shipped = TunedTables::shipped().tables().front();
  const TunedEntry& entry = shipped.entries().front();
  GemmSpec gemm;
  gemm.weight = entry.weight;
  gemm.activation = entry.activation;
  gemm.shape = {entry.n, entry.k, 1, 16};
  PlannedKernel kernel;
  kernel.size_min = 1;
  kernel.size_max = 16;
  kernel.family = stream_family();
  const Kernels kernels = {{shipped.gpu(), {gemm_kernel_name(gemm, {1, 16}, {})}}};
  TablesOfBundle none{"none.hdl", {}, kernels};
  none.tables.add(TunedTable::from_entries(shipped.gpu(), {}));
  TablesOfBundle one{"one.hdl", {}, kernels};
  one.tables.add(TunedTable::from_entries(shipped.gpu(), {entry}));
  EXPECT_NE(merge_refusal(none, one).find("none.hdl has kernels"), std::string::npos);
  EXPECT_EQ(merge_refusal(none, none), "");
  // One that replaces an entry of that table, and a bundle that was planned with the table.
  TunedTable replaced = shipped;
  TunedEntry other = entry;
  other.kernel = "another";
  replaced.merge(TunedTable::from_entries(shipped.gpu(), {other}));
  TablesOfBundle own{"own.hdl", {}, kernels};
  own.tables.add(replaced);
  const TablesOfBundle plain{"plain.hdl", {}, kernels};
  EXPECT_NE(merge_refusal(own, plain).find("plain.hdl has kernels"), std::string::npos);
}

}  // namespace
}  // namespace heddle
