#include "runtime/compile/ptxas_log.h"

#include <gtest/gtest.h>

#include "heddle/error.h"

namespace heddle {
namespace {

TEST(PtxasLogTest, ReadsEveryFigure) {
  const PtxasReport report = parse_ptxas_log(
      "k.cu(3): warning #177-D: variable \"x\" was declared but never referenced\n"
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'f' for 'sm_80'\n"
      "ptxas info    : Function properties for f\n"
      "ptxas         .     160 bytes stack frame, 24 bytes spill stores, 48 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 1 barriers, 256 bytes smem, 364 bytes cmem[0]\n");
  EXPECT_EQ(report.registers, 32);
  EXPECT_EQ(report.stack_bytes, 160);
  EXPECT_EQ(report.spill_store_bytes, 24);
  EXPECT_EQ(report.spill_load_bytes, 48);
  EXPECT_EQ(report.shared_bytes, 256);
  EXPECT_EQ(report.other_lines,
            "k.cu(3): warning #177-D: variable \"x\" was declared but never referenced\n");
}

TEST(PtxasLogTest, ReadsTheOlderFormWithoutSharedMemory) {
  const PtxasReport report = parse_ptxas_log(
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, 364 bytes cmem[0]\n");
  EXPECT_EQ(report.registers, 8);
  EXPECT_EQ(report.shared_bytes, 0);
  EXPECT_EQ(report.other_lines, "");
}

TEST(PtxasLogTest, AdviceIsNoReport) {
  const std::string advice =
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to insufficient register resources for the wgmma pipeline\n";
  const PtxasReport report = parse_ptxas_log(
      advice + "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n" +
      "ptxas info    : Used 8 registers, 364 bytes cmem[0]\n");
  EXPECT_EQ(report.other_lines, advice);
}

TEST(PtxasLogTest, RefusesALogWithoutFigures) {
  EXPECT_THROW(parse_ptxas_log(""), Error);
  EXPECT_THROW(parse_ptxas_log("ptxas info    : Used 8 registers\n"), Error);
  EXPECT_THROW(parse_ptxas_log("ptxas info    : Used registers, 0 bytes spill stores\n"), Error);
}

}  // namespace
}  // namespace heddle
