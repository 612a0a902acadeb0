/* The smallest program in C that uses Heddle as a package: no GPU and no NVRTC needed. */
#include <stdio.h>
#include <string.h>

#include "heddle/heddle.h"

int main(void) {
  static const char spec[] =
      "{\"heddle\": 1, \"op\": \"gemm\", \"shape\": {\"n\": 4096, \"k\": 4096},"
      " \"weight\": {\"bits\": 4, \"group_size\": 128}, \"activation\": {\"dtype\": \"fp16\"}}";
  heddle_target* target = NULL;
  heddle_plan* plan = NULL;
  heddle_plan_info info;
  info.struct_size = sizeof info;
  if (heddle_target_create("h200", strlen("h200"), &target) != HEDDLE_OK ||
      heddle_plan_create(target, NULL, spec, strlen(spec), &plan) != HEDDLE_OK ||
      heddle_plan_get(plan, &info) != HEDDLE_OK) {
    fprintf(stderr, "%s\n", heddle_error_message());
    return 1;
  }
  printf("heddle %s: %u kernels, %u bytes of workspace\n", heddle_version(),
         (unsigned)info.kernel_count, (unsigned)info.max_workspace_bytes);
  heddle_plan_destroy(plan);
  heddle_target_destroy(target);
  return 0;
}
