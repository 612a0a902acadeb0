/* What a plan says of launches that the caller makes. That launches are so is for
 * plan_launch_test.cc to say. */
#include <stdint.h>

#include "check.h"

static const char kOrdered[] =
    "{\"heddle\":1,\"op\":\"gemm\",\"shape\":{\"n\":256,\"k\":512,\"m\":[1,64]},"
    "\"weight\":{\"bits\":4},\"activation\":{\"dtype\":\"fp16\",\"act_order\":true}}";
static const char kAppend[] =
    "{\"heddle\":1,\"op\":\"kv_append\",\"shape\":{\"kv_heads\":4,\"head_dim\":64},"
    "\"activation\":{\"dtype\":\"fp16\"},\"kv\":{\"dtype\":\"int4\",\"page_size\":16}}";
static const char kAttention[] =
    "{\"heddle\":1,\"op\":\"decode_attention\",\"shape\":{\"heads\":8,\"kv_heads\":4,"
    "\"head_dim\":64},\"activation\":{\"dtype\":\"fp16\"},\"kv\":{\"dtype\":\"int4\","
    "\"page_size\":16}}";
static const char kNorm[] =
    "{\"heddle\":1,\"op\":\"row_transform\",\"shape\":{\"columns\":256,\"m\":[1,64]},"
    "\"input\":{\"dtype\":\"fp16\"},\"norm\":{\"type\":\"rms\",\"epsilon\":1e-5}}";
static const char kMoe[] =
    "{\"heddle\":1,\"op\":\"moe\",\"shape\":{\"hidden\":256,\"intermediate\":128,\"experts\":8,"
    "\"top_k\":2,\"tokens\":[1,64]},\"weight\":{\"gate_up\":{\"bits\":4},\"down\":{\"bits\":4}},"
    "\"activation\":{\"dtype\":\"fp16\"},\"epilogue\":{\"activation\":\"silu\",\"gated\":true}}";

static heddle_launch_size size_of(int64_t size, int64_t sequences, int32_t has_offsets) {
  heddle_launch_size result;
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  result.size = size;
  result.sequences = sequences;
  result.has_offsets = has_offsets;
  return result;
}

/* A launch of the kernel that serves it. */
static heddle_plan_launch_info launch_of(const heddle_plan* plan, size_t kernel, int64_t size,
                                         int64_t sequences, int32_t has_offsets) {
  const heddle_launch_size wanted = size_of(size, sequences, has_offsets);
  heddle_plan_launch_info info;
  heddle_plan_kernel_info planned;
  heddle_plan_argument_info argument;
  size_t i = 0;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  planned.struct_size = sizeof planned;
  argument.struct_size = sizeof argument;
  MUST(heddle_plan_launch(plan, kernel, &wanted, &info) == HEDDLE_OK);
  CHECK(heddle_plan_kernel(plan, kernel, &planned) == HEDDLE_OK);
  CHECK(equals(info.kernel_name, planned.name.data) && info.threads == planned.threads);
  CHECK(info.max_dynamic_shared_bytes == planned.shared_bytes && planned.blocks_per_sm >= 1);
  CHECK(info.phases > 1 || info.dynamic_shared_bytes == planned.shared_bytes);
  CHECK(info.starts_early == planned.starts_early);
  CHECK(info.grid_x >= 1 && info.grid_y >= 1 && info.grid_z >= 1 && info.cluster >= 1);
  CHECK(info.grid_x % info.cluster == 0 && info.argument_count >= 1);
  for (i = 0; i < info.argument_count; ++i) {
    CHECK(heddle_plan_argument(plan, kernel, i, &argument) == HEDDLE_OK);
    CHECK(argument.name.length > 0 && argument.bytes >= 4);
    if (equals(argument.name, "m")) CHECK(argument.bytes == 4);
    if (equals(argument.name, "y")) CHECK(argument.bytes == sizeof(void*));
    if (equals(argument.name, "tokens")) CHECK(argument.bytes == 128 && info.box_tokens > 0);
  }
  CHECK_CODE(heddle_plan_argument(plan, kernel, info.argument_count, &argument), HEDDLE_ERROR_USAGE,
             "api.index");
  return info;
}

#define REFUSED(plan, kernel, size, sequences, offsets, code)                               \
  do {                                                                                      \
    const heddle_launch_size wanted = size_of(size, sequences, offsets);                    \
    CHECK_CODE(heddle_plan_launch(plan, kernel, &wanted, &info), HEDDLE_ERROR_USAGE, code); \
  } while (0)

static void test_gemm_launch(void) {
  heddle_plan* plan = plan_for(kOrdered, "h200");
  heddle_plan_info of_plan;
  heddle_plan_launch_info info, gather;
  heddle_launch_size size = size_of(1, 0, 0);
  size_t index = 0, workspace = 0;
  of_plan.struct_size = sizeof of_plan;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  CHECK(heddle_plan_get(plan, &of_plan) == HEDDLE_OK && of_plan.kernel_count >= 2);
  CHECK(heddle_plan_kernel_of_size(plan, 40, &index) == HEDDLE_OK);
  info = launch_of(plan, index, 40, 0, 0);
  CHECK(heddle_plan_workspace_bytes(plan, 40, &workspace) == HEDDLE_OK);
  CHECK(info.workspace_bytes == workspace && info.gathered_offset >= 65536);
  CHECK(info.gathered_offset + 40 * 512 * 2 == workspace);
  /* The kernel that runs before: four tokens and 512 columns to a thread block. */
  gather = launch_of(plan, of_plan.kernel_count - 1, 40, 0, 0);
  CHECK(gather.gathered_offset == info.gathered_offset && gather.grid_x == 10);
  CHECK(gather.argument_count == 5);

  REFUSED(plan, index, 65, 0, 0, "launch.m");
  REFUSED(plan, index, 0, 0, 0, "launch.m");
  REFUSED(plan, index, INT64_MIN, 0, 0, "launch.m");
  REFUSED(plan, index, 40, 1, 0, "launch.size");
  REFUSED(plan, index, 40, 0, 1, "launch.size");
  REFUSED(plan, of_plan.kernel_count, 40, 0, 0, "api.index");
  if (index > 0) REFUSED(plan, 0, 40, 0, 0, "api.size");
  CHECK(info.phases == 1);
  size = size_of(40, 0, 0);
  size.phase = 1;
  CHECK_CODE(heddle_plan_launch(plan, index, &size, &info), HEDDLE_ERROR_USAGE, "api.phase");
  size.struct_size = 8;
  CHECK_CODE(heddle_plan_launch(plan, index, &size, &info), HEDDLE_ERROR_USAGE, "api.struct_size");
  size = size_of(1, 0, 0);
  heddle_plan_destroy(plan);
}

/* One kernel of each range of sizes, and what only some operations have. */
static void test_other_launches(void) {
  heddle_plan *append = plan_for(kAppend, "h200"), *attention = plan_for(kAttention, "h200");
  heddle_plan *norm = plan_for(kNorm, "h200"), *repack = plan_for(kRepack, "h200");
  heddle_plan_launch_info info, other;
  size_t index = 0;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  other = launch_of(append, 0, 3000, 3, 1);
  CHECK(other.grid_x > launch_of(append, 0, 3, 3, 0).grid_x && other.workspace_bytes == 0);
  REFUSED(append, 0, 0, 0, 0, "launch.size");
  REFUSED(append, 0, 4, 3, 0, "launch.size");
  REFUSED(append, 0, 4, 0, 1, "launch.size");
  REFUSED(append, 0, INT64_MAX, 3, 1, "launch.size");

  CHECK(heddle_plan_kernel_of_size(attention, 4096, &index) == HEDDLE_OK);
  other = launch_of(attention, index, 4096, 8, 0);
  CHECK(other.workspace_bytes > 0 && other.argument_count == 1);
  REFUSED(attention, index, 4096, 0, 0, "launch.size");
  REFUSED(attention, index, 4096, 1025, 0, "launch.size");
  REFUSED(attention, index, 4096, 8, 1, "launch.size");
  REFUSED(attention, index, 0, 8, 0, "launch.size");
  REFUSED(attention, index, (int64_t)1 << 40, 8, 0, "launch.size");
  REFUSED(attention, index, (int64_t)1 << 30, 1024, 0, "launch.size");

  CHECK(heddle_plan_kernel_of_size(norm, 64, &index) == HEDDLE_OK);
  launch_of(norm, index, 64, 0, 0);
  REFUSED(norm, index, 0, 0, 0, "launch.m");
  REFUSED(norm, index, 65, 0, 0, "launch.m");
  launch_of(repack, 0, 0, 0, 0);
  REFUSED(repack, 0, 1, 0, 0, "launch.size");
  heddle_plan_destroy(append);
  heddle_plan_destroy(attention);
  heddle_plan_destroy(norm);
  heddle_plan_destroy(repack);
}

/* Launches of one kernel, which differ in grid, shared memory and schedule. */
static void test_phases(void) {
  heddle_plan* plan = plan_for(kMoe, "h200");
  heddle_launch_size size = size_of(40, 0, 0);
  heddle_plan_launch_info first, info;
  size_t index = 0, workspace = 0;
  int32_t most = 0;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  CHECK(heddle_plan_kernel_of_size(plan, 40, &index) == HEDDLE_OK);
  CHECK(heddle_plan_workspace_bytes(plan, 40, &workspace) == HEDDLE_OK && workspace > 0);
  first = launch_of(plan, index, 40, 0, 0);
  CHECK(first.phases > 1 && first.workspace_bytes == workspace);
  for (size.phase = 0; size.phase < first.phases; ++size.phase) {
    CHECK(heddle_plan_launch(plan, index, &size, &info) == HEDDLE_OK);
    CHECK(info.phases == first.phases && info.schedule >= size.phase && info.grid_x >= 1);
    CHECK(info.max_dynamic_shared_bytes == first.max_dynamic_shared_bytes);
    if (info.dynamic_shared_bytes > most) most = info.dynamic_shared_bytes;
  }
  CHECK(most == first.max_dynamic_shared_bytes);
  CHECK_CODE(heddle_plan_launch(plan, index, &size, &info), HEDDLE_ERROR_USAGE, "api.phase");
  size.phase = -1;
  CHECK_CODE(heddle_plan_launch(plan, index, &size, &info), HEDDLE_ERROR_USAGE, "api.phase");
  REFUSED(plan, index, 65, 0, 0, "launch.m");
  REFUSED(plan, index, 40, 1, 0, "launch.size");
  CHECK_CODE(heddle_plan_workspace_bytes(plan, 65, &workspace), HEDDLE_ERROR_USAGE, "launch.m");
  heddle_plan_destroy(plan);
}

static void test_parameters(void) {
  heddle_plan *norm = plan_for(kNorm, "h200"), *gemm = plan_for(kGemm, "h200");
  heddle_plan_argument_info argument;
  heddle_row_transform_args args;
  heddle_kv_append_args append;
  heddle_decode_attention_args attention;
  heddle_moe_args moe;
  unsigned char parameters[512];
  size_t bytes = 0;
  argument.struct_size = sizeof argument;
  memset(&args, 0, sizeof args);
  memset(&append, 0, sizeof append);
  memset(&attention, 0, sizeof attention);
  memset(&moe, 0, sizeof moe);
  memset(parameters, 0xA5, sizeof parameters);
  args.struct_size = sizeof args;
  append.struct_size = sizeof append;
  attention.struct_size = sizeof attention;
  moe.struct_size = sizeof moe;
  args.m = 3;
  args.x = input(0x10000, 3 * 256 * 2);
  args.y = output(0x20000, 3 * 256 * 2);
  args.weight = input(0x40000, 256 * 2);
  CHECK(heddle_plan_argument(norm, 0, 0, &argument) == HEDDLE_OK);
  CHECK(equals(argument.name, "parameters") && argument.bytes <= sizeof parameters);
  CHECK_CODE(heddle_row_transform_parameters(norm, &args, NULL, 0, &bytes), HEDDLE_ERROR_USAGE,
             "api.too_small");
  CHECK(bytes == argument.bytes);
  CHECK_CODE(heddle_row_transform_parameters(norm, &args, parameters, bytes - 1, &bytes),
             HEDDLE_ERROR_USAGE, "api.too_small");
  CHECK(parameters[0] == 0xA5);
  CHECK(heddle_row_transform_parameters(norm, &args, parameters, bytes, &bytes) == HEDDLE_OK);
  CHECK(memcmp(parameters, &args.x.data, sizeof(void*)) == 0 && parameters[bytes] == 0xA5);
  CHECK_CODE(heddle_row_transform_parameters(gemm, &args, parameters, 512, &bytes),
             HEDDLE_ERROR_USAGE, "launch.op");
  args.m = 0;
  CHECK_CODE(heddle_row_transform_parameters(norm, &args, parameters, 512, &bytes),
             HEDDLE_ERROR_USAGE, "launch.size");
  args.m = 3;
  args.x.bytes -= 1;
  CHECK_CODE(heddle_row_transform_parameters(norm, &args, parameters, 512, &bytes),
             HEDDLE_ERROR_USAGE, "launch.too_small");
  CHECK_CODE(heddle_kv_append_parameters(gemm, &append, parameters, 512, &bytes),
             HEDDLE_ERROR_USAGE, "launch.op");
  CHECK_CODE(heddle_decode_attention_parameters(gemm, &attention, parameters, 512, &bytes),
             HEDDLE_ERROR_USAGE, "launch.op");
  CHECK_CODE(heddle_moe_parameters(gemm, &moe, parameters, 512, &bytes), HEDDLE_ERROR_USAGE,
             "launch.op");
  heddle_plan_destroy(norm);
  heddle_plan_destroy(gemm);
}

void test_plan_launches(void) {
  test_gemm_launch();
  test_other_launches();
  test_phases();
  test_parameters();
}
