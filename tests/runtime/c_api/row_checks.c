/* Launches of row_transform, and their refusals. */
#include <stdint.h>

#include "check.h"

static const char kNorm[] =
    "{\"heddle\":1,\"op\":\"row_transform\",\"shape\":{\"columns\":256,\"m\":[1,64]},"
    "\"input\":{\"dtype\":\"fp16\"},\"residual\":true,"
    "\"norm\":{\"type\":\"rms\",\"epsilon\":1e-5}}";

static const char kGate[] =
    "{\"heddle\":1,\"op\":\"row_transform\",\"shape\":{\"columns\":256},"
    "\"input\":{\"dtype\":\"fp16\"},\"gate\":{\"order\":\"halves\",\"activation\":\"silu\"}}";

static const char kCodes[] =
    "{\"heddle\":1,\"op\":\"row_transform\",\"shape\":{\"columns\":264,\"m\":[1,64]},"
    "\"input\":{\"dtype\":\"fp16\"},\"output\":{\"dtype\":\"int8\",\"granularity\":\"token\","
    "\"symmetric\":false,\"pre_scale\":true}}";

static const char kGroups[] =
    "{\"heddle\":1,\"op\":\"row_transform\",\"shape\":{\"columns\":264,\"m\":[1,64]},"
    "\"input\":{\"dtype\":\"fp16\"},\"output\":{\"dtype\":\"fp8_e4m3\",\"granularity\":\"group\","
    "\"scale_layout\":\"column_major\"}}";

static const char kTensor[] =
    "{\"heddle\":1,\"op\":\"row_transform\",\"shape\":{\"columns\":264},"
    "\"input\":{\"dtype\":\"fp16\"},\"output\":{\"dtype\":\"fp8_e4m3\",\"granularity\":\"tensor\"}"
    "}";

static const char kNoScales[] =
    "{\"heddle\":1,\"op\":\"row_transform\",\"shape\":{\"columns\":264},"
    "\"input\":{\"dtype\":\"fp16\"},\"output\":{\"dtype\":\"int8\"}}";

#define REFUSED(kernel, change, code)                                                      \
  do {                                                                                     \
    heddle_row_transform_args bad = args;                                                  \
    bad.change;                                                                            \
    CHECK_CODE(heddle_launch_row_transform(kernel, &bad, NULL), HEDDLE_ERROR_USAGE, code); \
  } while (0)

static void test_scale_bytes(void) {
  size_t bytes = 77;
  CHECK(heddle_row_scale_bytes(SPEC(kNorm), 3, 0, &bytes) == HEDDLE_OK && bytes == 0);
  CHECK(heddle_row_scale_bytes(SPEC(kTensor), 3, 0, &bytes) == HEDDLE_OK && bytes == 0);
  CHECK(heddle_row_scale_bytes(SPEC(kCodes), 3, 0, &bytes) == HEDDLE_OK && bytes == 3 * 4);
  CHECK(heddle_row_scale_bytes(SPEC(kGroups), 3, 0, &bytes) == HEDDLE_OK && bytes == (8 + 3) * 4);
  CHECK(heddle_row_scale_bytes(SPEC(kGroups), 3, 8, &bytes) == HEDDLE_OK && bytes == (16 + 3) * 4);
  CHECK(heddle_row_scale_bytes(SPEC(kGroups), 0, 0, &bytes) == HEDDLE_OK && bytes == 0);
  CHECK_CODE(heddle_row_scale_bytes(SPEC(kGroups), 3, 6, &bytes), HEDDLE_ERROR_USAGE,
             "launch.size");
  CHECK_CODE(heddle_row_scale_bytes(SPEC(kCodes), 3, 4, &bytes), HEDDLE_ERROR_USAGE, "launch.size");
  CHECK_CODE(heddle_row_scale_bytes(SPEC(kGroups), 65, 0, &bytes), HEDDLE_ERROR_USAGE, "launch.m");
  CHECK_CODE(heddle_row_scale_bytes(SPEC(kGroups), -1, 0, &bytes), HEDDLE_ERROR_USAGE, "launch.m");
  CHECK_CODE(heddle_row_scale_bytes(SPEC(kNoScales), 3, 0, &bytes), HEDDLE_ERROR_UNSUPPORTED,
             "plan.unsupported");
}

/* Rows of eight bits. */
static void test_codes(heddle_runtime* runtime) {
  heddle_kernel* codes = NULL;
  heddle_kernel* groups = NULL;
  heddle_kernel* tensor = NULL;
  heddle_row_transform_args args;
  CHECK(heddle_kernel_create(runtime, SPEC(kCodes), NULL, &codes) == HEDDLE_OK);
  CHECK(heddle_kernel_create(runtime, SPEC(kGroups), NULL, &groups) == HEDDLE_OK);
  CHECK(heddle_kernel_create(runtime, SPEC(kTensor), NULL, &tensor) == HEDDLE_OK);
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.m = 3;
  args.x = input(0x10000, 3 * 264 * 2);
  args.y = output(0x20000, 3 * 264);
  args.scales = output(0x30000, 3 * 4);
  args.zero_points = output(0x40000, 3 * 4);
  args.pre_scale = input(0x50000, 264 * 2);
  CHECK(heddle_launch_row_transform(codes, &args, NULL) == HEDDLE_OK);
  REFUSED(codes, y.bytes -= 1, "launch.too_small");
  REFUSED(codes, scales.bytes -= 1, "launch.too_small");
  REFUSED(codes, zero_points.bytes -= 1, "launch.too_small");
  REFUSED(codes, pre_scale.bytes -= 1, "launch.too_small");
  REFUSED(codes, zero_points.data = NULL, "launch.missing");
  REFUSED(codes, tensor_scale = input(0x60000, 4), "launch.unexpected");
  REFUSED(codes, y = output(0x10000, 3 * 264), "launch.overlap");
  REFUSED(codes, scale_stride = 4, "launch.size");

  memset(&args.zero_points, 0, sizeof args.zero_points);
  memset(&args.pre_scale, 0, sizeof args.pre_scale);
  args.scales = output(0x30000, (2 * 8 + 3) * 4);
  args.scale_stride = 8;
  CHECK(heddle_launch_row_transform(groups, &args, NULL) == HEDDLE_OK);
  REFUSED(groups, scales.bytes -= 1, "launch.too_small");
  REFUSED(groups, scale_stride = 7, "launch.size");

  memset(&args.scales, 0, sizeof args.scales);
  args.scale_stride = 0;
  args.tensor_scale = input(0x30004, 4);
  CHECK(heddle_launch_row_transform(tensor, &args, NULL) == HEDDLE_OK);
  REFUSED(tensor, tensor_scale.data = NULL, "launch.missing");
  REFUSED(tensor, tensor_scale.bytes = 3, "launch.too_small");
  heddle_kernel_destroy(codes);
  heddle_kernel_destroy(groups);
  heddle_kernel_destroy(tensor);
}

void test_row_transform(heddle_runtime* runtime, heddle_kernel* gemm) {
  heddle_kernel* norm = NULL;
  heddle_kernel* gate = NULL;
  heddle_row_transform_args args;
  heddle_kv_bytes bytes;
  CHECK(heddle_kernel_create(runtime, SPEC(kNorm), NULL, &norm) == HEDDLE_OK);
  CHECK(heddle_kernel_create(runtime, SPEC(kGate), NULL, &gate) == HEDDLE_OK);
  memset(&args, 0, sizeof args);
  CHECK_CODE(heddle_launch_row_transform(norm, &args, NULL), HEDDLE_ERROR_USAGE, "api.struct_size");
  args.struct_size = sizeof args;
  args.m = 3;
  args.x = input(0x10000, 3 * 256 * 2);
  args.y = output(0x20000, 3 * 256 * 2);
  args.residual = output(0x30000, 3 * 256 * 2);
  args.weight = input(0x40000, 256 * 2);
  CHECK(heddle_launch_row_transform(norm, &args, NULL) == HEDDLE_OK);
  CHECK_CODE(heddle_launch_row_transform(gemm, &args, NULL), HEDDLE_ERROR_USAGE, "launch.op");
  REFUSED(norm, x.bytes -= 1, "launch.too_small");
  REFUSED(norm, y.bytes -= 1, "launch.too_small");
  REFUSED(norm, residual.bytes -= 1, "launch.too_small");
  REFUSED(norm, weight.bytes -= 1, "launch.too_small");
  REFUSED(norm, x_stride = 264, "launch.too_small");
  REFUSED(norm, y_stride = 264, "launch.too_small");
  REFUSED(norm, m = 65, "launch.m");
  REFUSED(norm, bias = input(0x50000, 512), "launch.unexpected");
  REFUSED(norm, weight.data = NULL, "launch.missing");
  REFUSED(norm, y.data = args.residual.data, "launch.overlap");
  /* The last row need not be as long as the stride. */
  args.x_stride = 264;
  args.x.bytes = (2 * 264 + 256) * 2;
  CHECK(heddle_launch_row_transform(norm, &args, NULL) == HEDDLE_OK);
  args.m = 0;
  args.x.bytes = args.y.bytes = args.residual.bytes = 0;
  CHECK(heddle_launch_row_transform(norm, &args, NULL) == HEDDLE_OK);

  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.m = 3;
  args.x = input(0x10000, 3 * 512 * 2);
  args.y = output(0x20000, 3 * 256 * 2);
  CHECK(heddle_launch_row_transform(gate, &args, NULL) == HEDDLE_OK);
  REFUSED(gate, x.bytes -= 1, "launch.too_small");
  REFUSED(gate, weight = input(0x40000, 512), "launch.unexpected");
  CHECK_CODE(heddle_kv_cache_bytes(SPEC(kGate), 10, 0, &bytes), HEDDLE_ERROR_USAGE, "api.op");
  heddle_kernel_destroy(norm);
  heddle_kernel_destroy(gate);
  test_codes(runtime);
  test_scale_bytes();
}
