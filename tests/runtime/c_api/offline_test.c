/* What the C API does without a GPU, without libcuda and without NVRTC. */
#include "check.h"

int failures = 0;

int main(void) {
  test_no_error();
  test_specs();
  test_targets();
  test_plans();
  test_sources();
  test_plan_launches();
  test_decode_plans();
  test_kv_formats();
  test_models();
  test_cache_models();
  test_tuned_sets();
  test_codes_beyond_their_bits();
  test_plain_weights();
  test_error_objects();
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
