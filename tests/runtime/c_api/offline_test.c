/* What the C API says of launches, without a GPU, without libcuda and without NVRTC. */
#include "check.h"

int failures = 0;

int main(void) {
  test_plan_launches();
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
