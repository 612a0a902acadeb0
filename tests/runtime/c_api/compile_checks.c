/* Compiled kernels of a list of specs for a target. */
#include "check.h"

static const char kUnserved[] =
    "{\"heddle\":1,\"op\":\"gemm\",\"shape\":{\"n\":256,\"k\":512},"
    "\"weight\":{\"bits\":4},\"activation\":{\"dtype\":\"bf16\"}}";

static int32_t go_on(void* user, const char* kernel_name, size_t done, size_t total) {
  CHECK(kernel_name != NULL && done >= 1 && done <= total);
  ++*(size_t*)user;
  return 1;
}
static int32_t stop(void* user, const char* kernel_name, size_t done, size_t total) {
  (void)user, (void)kernel_name, (void)done, (void)total;
  return 0;
}

static void check_kernels(const heddle_build* build, size_t count) {
  heddle_build_kernel_info info;
  size_t i = 0;
  info.struct_size = sizeof info;
  for (i = 0; i < count; ++i) {
    CHECK(heddle_build_kernel(build, i, &info) == HEDDLE_OK);
    CHECK(info.cubin_bytes > 100 && memcmp(info.cubin, "\177ELF", 4) == 0);
    CHECK(is_text(info.ptx, info.kernel_name.data) && is_text(info.ptx, ".entry"));
    CHECK(equals(info.arch, "sm_80") && info.compiler.length > 0 && info.key.length >= 16);
    CHECK(info.threads > 0 && info.registers > 0 && info.spill_bytes >= 0);
    CHECK(info.stored == 1 && (info.hit == 0 || info.hit == 1));
  }
  CHECK_CODE(heddle_build_kernel(build, count, &info), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_build_kernel(build, 0, NULL), HEDDLE_ERROR_USAGE, "api.null");
}

/* Every kernel of every plan is one of the build's, and has its name. */
static void check_places(const heddle_build* build, size_t specs, size_t count) {
  size_t spec = 0, kernel = 0, index = 0;
  heddle_plan* plan = NULL;
  for (spec = 0; spec < specs; ++spec) {
    heddle_plan_info info;
    info.struct_size = sizeof info;
    CHECK(heddle_plan_of_build(build, spec, &plan) == HEDDLE_OK);
    MUST(heddle_plan_get(plan, &info) == HEDDLE_OK && equals(info.target, "a100"));
    for (kernel = 0; kernel < info.kernel_count; ++kernel) {
      heddle_build_kernel_info built;
      heddle_plan_kernel_info planned;
      built.struct_size = sizeof built;
      planned.struct_size = sizeof planned;
      CHECK(heddle_build_index(build, spec, kernel, &index) == HEDDLE_OK && index < count);
      CHECK(heddle_build_kernel(build, index, &built) == HEDDLE_OK);
      CHECK(heddle_plan_kernel(plan, kernel, &planned) == HEDDLE_OK);
      CHECK(equals(built.kernel_name, planned.name.data));
    }
    CHECK_CODE(heddle_build_index(build, spec, info.kernel_count, &index), HEDDLE_ERROR_USAGE,
               "api.index");
    heddle_plan_destroy(plan);
  }
  CHECK_CODE(heddle_build_index(build, specs, 0, &index), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_plan_of_build(build, specs, &plan), HEDDLE_ERROR_USAGE, "api.index");
}

static void test_compiler(heddle_runtime* runtime) {
  heddle_text json;
  CHECK(heddle_runtime_compiler(runtime, &json) == HEDDLE_OK);
  CHECK(is_text(json, "\"identity\":\"") && is_text(json, "\"archs\":["));
}

static void test_refused(heddle_runtime* runtime, const heddle_target* target) {
  heddle_build* build = (heddle_build*)address(16);
  heddle_target* turing = NULL;
  heddle_text specs[3];
  specs[0] = text(kDequantize);
  specs[1].data = NULL;
  specs[1].length = 7;
  CHECK_CODE(heddle_build_create(runtime, target, specs, 2, NULL, NULL, &build), HEDDLE_ERROR_USAGE,
             "api.null");
  specs[1] = text("{\"heddle\":1}");
  specs[2] = text("[");
  CHECK(heddle_build_create(runtime, target, specs, 3, NULL, NULL, &build) == HEDDLE_ERROR_SPEC);
  CHECK(build == NULL && strstr(heddle_error_message(), "specs[1]") != NULL);
  CHECK(strstr(heddle_error_message(), "specs[2]") != NULL);
  CHECK(strstr(heddle_error_message(), "specs[0]") == NULL);
  MUST(heddle_target_create(SPEC("sm_75"), &turing) == HEDDLE_OK);
  specs[1] = text(kUnserved);
  CHECK(heddle_build_create(runtime, turing, specs, 2, NULL, NULL, &build) ==
        HEDDLE_ERROR_UNSUPPORTED);
  CHECK(strstr(heddle_error_message(), "specs[1]") != NULL);
  heddle_target_destroy(turing);
  CHECK_CODE(heddle_build_create(runtime, target, specs, (size_t)-1, NULL, NULL, &build),
             HEDDLE_ERROR_USAGE, "api.count");
}

/* Strict mode compiles nothing, and serves what is in the cache. */
static void test_strict_build(const heddle_target* target) {
  heddle_runtime* runtime = make_runtime(NULL, 1);
  heddle_build* build = NULL;
  heddle_text spec = text(kDequantize);
  CHECK(heddle_build_create(runtime, target, &spec, 1, NULL, NULL, &build) == HEDDLE_OK);
  heddle_build_destroy(build);
  spec = text(kGemm);
  CHECK_CODE(heddle_build_create(runtime, target, &spec, 1, NULL, NULL, &build),
             HEDDLE_ERROR_MISSING, "runtime.not_in_cache");
  heddle_runtime_destroy(runtime);
}

/* Plans for two targets in one build. */
static void test_build_of_plans(void) {
  heddle_runtime* runtime = make_runtime(NULL, 0);
  const heddle_plan* plans[3];
  heddle_plan *first = plan_for(kDequantize, "a100"), *second = plan_for(kDequantize, "h200");
  heddle_build* build = NULL;
  heddle_build_kernel_info info;
  size_t count = 0, told = 0, index = 0;
  info.struct_size = sizeof info;
  plans[0] = first;
  plans[1] = second;
  plans[2] = NULL;
  CHECK_CODE(heddle_build_create_from_plans(runtime, plans, 3, NULL, NULL, &build),
             HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_build_create_from_plans(runtime, plans, (size_t)-1, NULL, NULL, &build),
             HEDDLE_ERROR_USAGE, "api.count");
  MUST(heddle_build_create_from_plans(runtime, plans, 2, go_on, &told, &build) == HEDDLE_OK);
  heddle_plan_destroy(first);
  heddle_plan_destroy(second);
  heddle_runtime_destroy(runtime);
  CHECK(heddle_build_count(build, &count) == HEDDLE_OK && count == 2 && told == 2);
  CHECK(heddle_build_index(build, 1, 0, &index) == HEDDLE_OK);
  CHECK(heddle_build_kernel(build, index, &info) == HEDDLE_OK && equals(info.arch, "sm_90a"));
  heddle_build_destroy(build);
}

void test_builds(void) {
  heddle_runtime* runtime = make_runtime(NULL, 0);
  heddle_target* target = NULL;
  heddle_build* build = NULL;
  heddle_build_kernel_info info;
  heddle_text specs[3];
  size_t count = 0, told = 0, i = 0;
  info.struct_size = sizeof info;
  specs[0] = text(kDequantize);
  specs[1] = text(kRepack);
  specs[2] = text(kDequantize); /* shares its kernel with the first */
  MUST(heddle_target_create(SPEC("a100"), &target) == HEDDLE_OK);
  CHECK_CODE(heddle_build_create(runtime, target, specs, 3, stop, NULL, &build),
             HEDDLE_ERROR_CANCELLED, "runtime.cancelled");
  CHECK(build == NULL);
  MUST(heddle_build_create(runtime, target, specs, 3, go_on, &told, &build) == HEDDLE_OK);
  MUST(heddle_build_count(build, &count) == HEDDLE_OK && count == 2 && told == count);
  check_kernels(build, count);
  check_places(build, 3, count);
  heddle_build_destroy(build);
  MUST(heddle_build_create(runtime, target, specs, 3, NULL, NULL, &build) == HEDDLE_OK);
  for (i = 0; i < count; ++i) {
    CHECK(heddle_build_kernel(build, i, &info) == HEDDLE_OK && info.hit == 1);
  }
  test_compiler(runtime);
  test_strict_build(target);
  test_build_of_plans();
  test_refused(runtime, target);
  CHECK(heddle_runtime_seal(runtime) == HEDDLE_OK);
  {
    heddle_build* sealed = NULL;
    CHECK_CODE(heddle_build_create(runtime, target, specs, 3, NULL, NULL, &sealed),
               HEDDLE_ERROR_MISSING, "runtime.sealed");
  }
  heddle_runtime_destroy(runtime);
  check_kernels(build, count); /* it outlives its runtime */
  heddle_build_destroy(build);
  heddle_build_destroy(NULL);
  CHECK(heddle_build_create(NULL, NULL, NULL, 0, NULL, NULL, &build) == HEDDLE_ERROR_USAGE);
  heddle_target_destroy(target);
}

/* The device's target, the runtime's tables, and a plan that is loaded. */
void test_plan_to_kernel(void) {
  heddle_runtime* runtime = make_runtime(NULL, 0);
  heddle_target* target = NULL;
  heddle_tuned_tables* tables = NULL;
  heddle_plan *plan = NULL, *of_kernel = NULL;
  heddle_kernel* kernel = NULL;
  heddle_text one, other;
  size_t bytes = 0, of_plan = 0;
  CHECK(heddle_target_of_device(runtime, 0, &target) == HEDDLE_OK);
  CHECK(heddle_tuned_tables_of_runtime(runtime, &tables) == HEDDLE_OK);
  CHECK(heddle_plan_create(target, tables, SPEC(kGemm), &plan) == HEDDLE_OK);
  CHECK(heddle_kernel_load(runtime, plan, &kernel) == HEDDLE_OK);
  CHECK(heddle_plan_of_kernel(kernel, &of_kernel) == HEDDLE_OK);
  CHECK(heddle_plan_json(plan, &one) == HEDDLE_OK);
  CHECK(heddle_plan_json(of_kernel, &other) == HEDDLE_OK && equals(other, one.data));
  CHECK(heddle_kernel_workspace_bytes(kernel, 8, &bytes) == HEDDLE_OK);
  CHECK(heddle_plan_workspace_bytes(plan, 8, &of_plan) == HEDDLE_OK && of_plan == bytes);
  heddle_plan_destroy(of_kernel);
  heddle_kernel_destroy(kernel);
  heddle_plan_destroy(plan);
  plan = plan_for(kGemm, "rtx4090");
  CHECK_CODE(heddle_kernel_load(runtime, plan, &kernel), HEDDLE_ERROR_USAGE,
             "runtime.wrong_device");
  CHECK(kernel == NULL);
  heddle_plan_destroy(plan);
  heddle_tuned_tables_destroy(tables);
  heddle_target_destroy(target);
  heddle_runtime_destroy(runtime);
}
