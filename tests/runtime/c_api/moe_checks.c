/* Launches of a layer of experts, and their refusals. */
#include <stdint.h>

#include "check.h"

/* 8 experts, of which this device has the last 5, with biases and a residual. */
static const char kMoe[] =
    "{\"heddle\":1,\"op\":\"moe\",\"shape\":{\"hidden\":256,\"intermediate\":128,\"experts\":8,"
    "\"top_k\":2,\"tokens\":[1,8],\"first_expert\":3},\"weight\":{\"gate_up\":{\"bits\":4},"
    "\"down\":{\"bits\":4}},\"activation\":{\"dtype\":\"fp16\"},\"epilogue\":{\"bias\":true,"
    "\"activation\":\"silu\",\"gated\":true,\"residual\":true}}";

/* The same experts, chosen by BF16 logits, and one that every token has. */
static const char kRouted[] =
    "{\"heddle\":1,\"op\":\"moe\",\"shape\":{\"hidden\":256,\"intermediate\":128,\"experts\":8,"
    "\"top_k\":2,\"tokens\":[1,8],\"shared_experts\":1},\"weight\":{\"gate_up\":{\"bits\":4},"
    "\"down\":{\"bits\":4}},"
    "\"activation\":{\"dtype\":\"fp16\"},\"routing\":{\"scores\":\"sigmoid\",\"logits_dtype\":"
    "\"bf16\","
    "\"renormalize\":true,\"correction_bias\":true,\"expert_scales\":true,\"shared_gate\":true},"
    "\"epilogue\":{\"activation\":\"silu\",\"gated\":true}}";

enum { kTokens = 3, kExperts = 5, kHidden = 256, kRows = 2 * 128, kTopK = 2 };

#define REFUSED(change, code)                                                   \
  do {                                                                          \
    heddle_moe_args bad = args;                                                 \
    bad.change;                                                                 \
    CHECK_CODE(heddle_launch_moe(moe, &bad, NULL), HEDDLE_ERROR_USAGE, (code)); \
  } while (0)

/* Bytes of an expert's packed weights, as C learns them. */
static size_t bytes_of(const heddle_spec* gemm) {
  heddle_spec_info info;
  size_t bytes = 0;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  CHECK(heddle_spec_get(gemm, &info) == HEDDLE_OK && equals(info.op, "gemm"));
  CHECK(heddle_packed_bytes(info.canonical.data, info.canonical.length, &bytes) == HEDDLE_OK);
  return bytes;
}

static void test_gemms(size_t* gate_up_bytes, size_t* down_bytes) {
  heddle_spec *gate_up = NULL, *down = NULL;
  size_t bytes = 0;
  CHECK(heddle_moe_gemms(SPEC(kMoe), &gate_up, &down) == HEDDLE_OK);
  *gate_up_bytes = bytes_of(gate_up);
  *down_bytes = bytes_of(down);
  heddle_spec_destroy(gate_up);
  heddle_spec_destroy(down);
  gate_up = down = (heddle_spec*)address(1);
  CHECK_CODE(heddle_moe_gemms(SPEC(kGemm), &gate_up, &down), HEDDLE_ERROR_USAGE, "api.op");
  CHECK(gate_up == NULL && down == NULL);
  CHECK_CODE(heddle_packed_bytes(SPEC(kMoe), &bytes), HEDDLE_ERROR_USAGE, "api.op");
  CHECK(strstr(heddle_error_message(), "heddle_moe_gemms()") != NULL);
}

/* What each launch has: `gate_up` and `down` are bytes of an expert. */
static heddle_moe_args args_of(size_t experts, size_t gate_up, size_t down, size_t workspace) {
  heddle_moe_args args;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.tokens = kTokens;
  args.x = input(0x10000, kTokens * kHidden * 2);
  args.gate_up = input(0x100000, experts * gate_up);
  args.down = input(0x200000, experts * down);
  args.y = output(0x40000, kTokens * kHidden * 2);
  args.workspace = output(0x300000, workspace);
  return args;
}

static void test_logits(heddle_runtime* runtime, size_t gate_up, size_t down) {
  heddle_kernel* moe = NULL;
  heddle_moe_args args;
  size_t workspace = 0;
  MUST(heddle_kernel_create(runtime, SPEC(kRouted), NULL, &moe) == HEDDLE_OK);
  CHECK(heddle_kernel_workspace_bytes(moe, kTokens, &workspace) == HEDDLE_OK);
  args = args_of(9, gate_up, down, workspace);
  args.shared_gates = input(0x32004, kTokens * 4);
  args.logits = input(0x20002, kTokens * 8 * 2);
  args.correction_bias = input(0x30004, 8 * 4);
  args.expert_scales = input(0x31004, 8 * 4);
  CHECK(heddle_launch_moe(moe, &args, NULL) == HEDDLE_OK);
  args.chosen_ids = output(0x50004, kTokens * kTopK * 4);
  args.chosen_weights = output(0x60004, kTokens * kTopK * 4);
  CHECK(heddle_launch_moe(moe, &args, NULL) == HEDDLE_OK);
  REFUSED(logits.bytes -= 1, "launch.too_small");
  REFUSED(correction_bias.bytes -= 1, "launch.too_small");
  REFUSED(expert_scales.bytes -= 1, "launch.too_small");
  REFUSED(shared_gates.bytes -= 1, "launch.too_small");
  REFUSED(gate_up.bytes -= 1, "launch.too_small");
  REFUSED(chosen_ids.bytes -= 1, "launch.too_small");
  REFUSED(chosen_weights.bytes -= 1, "launch.too_small");
  REFUSED(workspace.bytes -= 1, "launch.workspace");
  REFUSED(logits.data = NULL, "launch.missing");
  REFUSED(correction_bias.data = NULL, "launch.missing");
  REFUSED(ids = args.logits, "launch.unexpected");
  REFUSED(chosen_weights = args.chosen_ids, "launch.overlap");
  heddle_kernel_destroy(moe);
}

void test_moe(heddle_runtime* runtime, heddle_kernel* gemm) {
  heddle_kernel* moe = NULL;
  heddle_moe_args args;
  size_t gate_up = 0, down = 0, workspace = 0, most = 0;
  test_gemms(&gate_up, &down);
  MUST(heddle_kernel_create(runtime, SPEC(kMoe), NULL, &moe) == HEDDLE_OK);
  CHECK(heddle_kernel_workspace_bytes(moe, kTokens, &workspace) == HEDDLE_OK && workspace > 0);
  CHECK(heddle_kernel_max_workspace_bytes(moe, &most) == HEDDLE_OK && most > workspace);
  CHECK_CODE(heddle_kernel_workspace_bytes(moe, 9, &most), HEDDLE_ERROR_USAGE, "launch.m");
  memset(&args, 0, sizeof args);
  CHECK_CODE(heddle_launch_moe(moe, &args, NULL), HEDDLE_ERROR_USAGE, "api.struct_size");
  args = args_of(kExperts, gate_up, down, workspace);
  args.ids = input(0x20004, kTokens * kTopK * 4);
  args.weights = input(0x30004, kTokens * kTopK * 4);
  args.gate_up_bias = input(0x50000, kExperts * kRows * 2);
  args.down_bias = input(0x60000, kExperts * kHidden * 2);
  args.residual = input(0x70000, kTokens * kHidden * 2);
  CHECK(heddle_launch_moe(moe, &args, NULL) == HEDDLE_OK);
  CHECK_CODE(heddle_launch_moe(gemm, &args, NULL), HEDDLE_ERROR_USAGE, "launch.op");
  REFUSED(x.bytes -= 1, "launch.too_small");
  REFUSED(gate_up.bytes -= 1, "launch.too_small");
  REFUSED(down.bytes -= 1, "launch.too_small");
  REFUSED(ids.bytes -= 1, "launch.too_small");
  REFUSED(weights.bytes -= 1, "launch.too_small");
  REFUSED(y.bytes -= 1, "launch.too_small");
  REFUSED(gate_up_bias.bytes -= 1, "launch.too_small");
  REFUSED(down_bias.bytes -= 1, "launch.too_small");
  REFUSED(residual.bytes -= 1, "launch.too_small");
  REFUSED(workspace.bytes -= 1, "launch.workspace");
  REFUSED(ids.data = NULL, "launch.missing");
  REFUSED(down_bias.data = NULL, "launch.missing");
  REFUSED(residual.data = NULL, "launch.missing");
  REFUSED(ids.data = address(0x20002), "launch.misaligned");
  REFUSED(gate_up.data = address(0x100008), "launch.misaligned");
  REFUSED(logits = args.x, "launch.unexpected");
  REFUSED(chosen_ids = args.y, "launch.unexpected");
  REFUSED(tokens = 9, "launch.m");
  REFUSED(tokens = -1, "launch.m");
  /* Y may be X or the residual. */
  args.y.data = address(0x10000);
  CHECK(heddle_launch_moe(moe, &args, NULL) == HEDDLE_OK);
  args.y.data = address(0x70000);
  CHECK(heddle_launch_moe(moe, &args, NULL) == HEDDLE_OK);
  test_logits(runtime, gate_up, down);
  args.tokens = 0;
  args.x.bytes = args.y.bytes = args.ids.bytes = args.weights.bytes = 0;
  CHECK(heddle_launch_moe(moe, &args, NULL) == HEDDLE_OK);
  heddle_kernel_destroy(moe);
}
