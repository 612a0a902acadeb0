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

#define REFUSED(kernel, change, code)                                                      \
  do {                                                                                     \
    heddle_row_transform_args bad = args;                                                  \
    bad.change;                                                                            \
    CHECK_CODE(heddle_launch_row_transform(kernel, &bad, NULL), HEDDLE_ERROR_USAGE, code); \
  } while (0)

void test_row_transform(heddle_runtime* runtime, heddle_kernel* gemm) {
  heddle_kernel* norm = NULL;
  heddle_kernel* gate = NULL;
  heddle_row_transform_args args;
  heddle_kv_bytes bytes;
  CHECK(heddle_kernel_create(runtime, SPEC(kNorm), NULL, &norm) == HEDDLE_OK);
  CHECK(heddle_kernel_create(runtime, SPEC(kGate), NULL, &gate) == HEDDLE_OK);
  memset(&args, 0, sizeof args);
  CHECK_CODE(heddle_launch_row_transform(norm, &args, NULL), HEDDLE_ERROR_USAGE, "api.struct_size");
  CHECK_CODE(heddle_launch_row_transform(norm, NULL, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_launch_row_transform(NULL, &args, NULL), HEDDLE_ERROR_USAGE, "api.null");
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
}
