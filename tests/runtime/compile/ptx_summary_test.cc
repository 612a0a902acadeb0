#include "runtime/compile/ptx_summary.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

constexpr const char* kPtx = R"(
.version 9.0
.target sm_80
.visible .entry f(
	.param .u64 f_param_0
)
.maxntid 128
{
	.reg .pred %p<2>; // lop3.b32 in a comment
	.reg .b32 %r<40>;
	.shared .align 16 .b8 buffer[64];
	ld.param.u64 %rd1, [f_param_0];
	// begin inline asm
	{ lop3.b32 %r1, %r2, 983055, %r3, 234; }
	// end inline asm
$L__BB0_1:
	@%p1 bra $L__BB0_2;
	lop3.b32 %r1, %r2, 15, 1677747200, 0xea; prmt.b32 %r4, %r5, %r6, 0x5140;
	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
	  {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};
	ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r9];
	cp.async.cg.shared.global [%r1], [%rd1], 16;
	cp.async.commit_group;
	cp.async.wait_group 2;
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];
	@!%p1 sub.f16x2 %r1, %r2, %r3;
	sub.bf16x2 %r1, %r2, %r3;
	fma.rn.f16x2 %r1, %r2, %r3, %r4;
	fma.rn.f32 %f1, %f2, %f3, %f4;
	ld.global.nc.L1::no_allocate.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];
	ld.global.nc.b16 %rs1, [%rd1];
	ld.shared.v2.f32 {%f1, %f2}, [%r1];
	st.global.v4.b32 [%rd1], {%r1, %r2, %r3, %r4};
	st.shared::cta.u8 [%r1], %rs1;
	ld.local.f64 %fd1, [%rd2];
	bar.sync 0;
	barrier.sync.aligned 1, 64;
	/* mma.sync in a comment */
$L__BB0_2: ret;
}
)";

TEST(PtxSummaryTest, CountsKinds) {
  const PtxSummary summary = summarize_ptx(kPtx);
  const std::map<std::string, int> expected = {
      {"lop3", 2},     {"prmt", 1},          {"mma", 1},    {"wgmma", 0},  {"ldmatrix", 1},
      {"cp.async", 1}, {"cp.async.bulk", 1}, {"sub.x2", 2}, {"fma.x2", 1}, {"barrier", 2}};
  EXPECT_EQ(summary.counts, expected);
}

TEST(PtxSummaryTest, CountsMemoryByTheWidthOfTheWholeAccess) {
  const std::map<std::string, int> expected = {{"ld.global.b128", 1}, {"ld.global.b16", 1},
                                               {"ld.shared.b64", 1},  {"ld.local.b64", 1},
                                               {"st.shared.b8", 1},   {"st.global.b128", 1}};
  EXPECT_EQ(summarize_ptx(kPtx).memory, expected);
}

TEST(PtxSummaryTest, CountsEveryInstructionOnce) {
  EXPECT_EQ(summarize_ptx(kPtx).instructions, 24);
  EXPECT_EQ(summarize_ptx("").instructions, 0);
  EXPECT_EQ(summarize_ptx("// only /* a").instructions, 0);
  EXPECT_EQ(summarize_ptx("/* open").instructions, 0);
}

}  // namespace
}  // namespace heddle
