/* Specs, targets, plans and sources. */
#include <stdint.h>

#include "check.h"

static const char kAppend[] =
    "{\"heddle\":1,\"op\":\"kv_append\",\"shape\":{\"kv_heads\":4,\"head_dim\":64},"
    "\"activation\":{\"dtype\":\"fp16\"},\"kv\":{\"dtype\":\"int4\",\"page_size\":16}}";

/* What only some operations have. */
static void test_other_specs(void) {
  heddle_spec* spec = NULL;
  heddle_spec_info info;
  info.struct_size = sizeof info;
  MUST(heddle_spec_create(SPEC("{\"heddle\":1,\"op\":\"gemm\",\"activation\":{\"dtype\":\"bf16\"},"
                               "\"weight\":{\"bits\":4},\"shape\":{\"n\":256,\"k\":512},"
                               "\"output\":{\"dtype\":\"fp32\"},\"multiply\":{\"dtype\":\"bf16\"},"
                               "\"epilogue\":{\"gated\":true,\"activation\":\"silu\"}}"),
                          &spec) == HEDDLE_OK);
  CHECK(heddle_spec_get(spec, &info) == HEDDLE_OK);
  CHECK(equals(info.output_dtype, "fp32") && equals(info.multiply_dtype, "bf16"));
  CHECK(info.output_columns == 128 && info.gated == 1);
  CHECK(strstr(info.canonical.data, "multiply") == NULL);
  heddle_spec_destroy(spec);
  MUST(heddle_spec_create(SPEC(kAppend), &spec) == HEDDLE_OK);
  CHECK(heddle_spec_get(spec, &info) == HEDDLE_OK);
  CHECK(info.kv_heads == 4 && info.head_dim == 64 && info.n == 0 && info.m_max == 0);
  CHECK(info.output_dtype.length == 0 && info.multiply_dtype.length == 0);
  CHECK(info.output_columns == 0);
  heddle_spec_destroy(spec);
  MUST(heddle_spec_create(SPEC(kDequantize), &spec) == HEDDLE_OK);
  CHECK(heddle_spec_get(spec, &info) == HEDDLE_OK && equals(info.output_dtype, "fp16"));
  CHECK(info.n == 64 && info.k == 256 && info.m_max == 0);
  heddle_spec_destroy(spec);
}

void test_specs(void) {
  heddle_spec* spec = NULL;
  heddle_spec_info info;
  heddle_text schema, again;
  CHECK(heddle_spec_schema(&schema) == HEDDLE_OK && is_text(schema, "\"$schema\""));
  CHECK(heddle_spec_schema(&again) == HEDDLE_OK && again.data == schema.data);
  CHECK_CODE(heddle_spec_schema(NULL), HEDDLE_ERROR_USAGE, "api.null");

  MUST(heddle_spec_create(SPEC("{\"op\":\"gemm\",\"name\":\"up\",\"heddle\":1,"
                               "\"activation\":{\"dtype\":\"fp16\"},\"weight\":{\"bits\":4},"
                               "\"shape\":{\"k\":512,\"n\":256,\"m\":[1,8]}}"),
                          &spec) == HEDDLE_OK);
  memset(&info, 0xEE, sizeof info);
  info.struct_size = offsetof(heddle_spec_info, output_dtype); /* of the first header */
  CHECK(heddle_spec_get(spec, &info) == HEDDLE_OK && info.reserved != 0);
  info.struct_size = sizeof info;
  CHECK(heddle_spec_get(spec, &info) == HEDDLE_OK);
  CHECK(equals(info.output_dtype, "fp16") && equals(info.multiply_dtype, "fp16"));
  CHECK(info.n == 256 && info.k == 512 && info.m_min == 1 && info.m_max == 8);
  CHECK(info.output_columns == 256 && info.gated == 0 && info.kv_heads == 0);
  CHECK(info.head_dim == 0 && info.reserved == 0);
  CHECK(equals(info.name, "up") && equals(info.op, "gemm"));
  CHECK(is_text(info.canonical, "\"group_size\":128"));
  CHECK(strstr(info.canonical.data, "\"up\"") == NULL);
  {
    /* The canonical text means the same: its own canonical text is itself. */
    heddle_spec* same = NULL;
    heddle_spec_info of_same;
    of_same.struct_size = sizeof of_same;
    MUST(heddle_spec_create(info.canonical.data, info.canonical.length, &same) == HEDDLE_OK);
    CHECK(heddle_spec_get(same, &of_same) == HEDDLE_OK);
    CHECK(equals(of_same.canonical, info.canonical.data) && of_same.name.length == 0);
    heddle_spec_destroy(same);
  }
  heddle_spec_destroy(spec);
  heddle_spec_destroy(NULL);
  spec = (heddle_spec*)address(16);
  CHECK(heddle_spec_create(SPEC("{\"heddle\":1}"), &spec) == HEDDLE_ERROR_SPEC && spec == NULL);
  CHECK(heddle_spec_create(NULL, 0, &spec) == HEDDLE_ERROR_SPEC);
  CHECK_CODE(heddle_spec_create(NULL, 1, &spec), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_spec_create(SPEC(kGemm), NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_spec_get(NULL, &info), HEDDLE_ERROR_USAGE, "api.null");
  test_other_specs();
}

void test_targets(void) {
  heddle_target *target = NULL, *made = NULL;
  heddle_target_info info, of_made;
  size_t count = 0, i = 0;
  info.struct_size = of_made.struct_size = sizeof info;
  CHECK(heddle_target_count(&count) == HEDDLE_OK && count > 5);
  for (i = 0; i < count; ++i) {
    heddle_target* by_name = NULL;
    CHECK(heddle_target_known(i, &target) == HEDDLE_OK);
    CHECK(heddle_target_get(target, &info) == HEDDLE_OK);
    CHECK(info.major >= 7 && info.sm_count > 0 && info.name.length > 0);
    CHECK(strncmp(info.compiler_arch.data, "sm_", 3) == 0 && info.tuned_gpu.length > 0);
    MUST(heddle_target_create(info.name.data, info.name.length, &by_name) == HEDDLE_OK);
    heddle_target_destroy(by_name);
    heddle_target_destroy(target);
  }
  CHECK_CODE(heddle_target_known(count, &target), HEDDLE_ERROR_USAGE, "api.index");
  CHECK(target == NULL);
  CHECK_CODE(heddle_target_known(SIZE_MAX, &target), HEDDLE_ERROR_USAGE, "api.index");

  MUST(heddle_target_create(SPEC("h200"), &target) == HEDDLE_OK);
  CHECK(heddle_target_get(target, &info) == HEDDLE_OK);
  CHECK(equals(info.compiler_arch, "sm_90a") && info.major == 9 && info.sm_count == 132);

  /* A GPU that is like it, but for its name and its number of SMs. */
  info.name.data = "half";
  info.name.length = 4;
  info.sm_count /= 2;
  CHECK(heddle_target_create_from_info(&info, &made) == HEDDLE_OK);
  heddle_target_destroy(target);
  CHECK(heddle_target_get(made, &of_made) == HEDDLE_OK);
  CHECK(equals(of_made.name, "half") && of_made.sm_count == 66 &&
        of_made.l2_bytes == info.l2_bytes);
  CHECK(equals(of_made.compiler_arch, "sm_90a"));
  heddle_target_destroy(made);
  info.sm_count = -1;
  CHECK_CODE(heddle_target_create_from_info(&info, &made), HEDDLE_ERROR_USAGE, "target.invalid");
  info.sm_count = 66;
  info.name.data = "a\nb";
  info.name.length = 3;
  CHECK_CODE(heddle_target_create_from_info(&info, &made), HEDDLE_ERROR_USAGE, "target.invalid");
  info.name.data = "half";
  info.name.length = 4;
  info.reserved = 1;
  CHECK_CODE(heddle_target_create_from_info(&info, &made), HEDDLE_ERROR_USAGE, "api.reserved");
  info.struct_size = 8;
  CHECK_CODE(heddle_target_create_from_info(&info, &made), HEDDLE_ERROR_USAGE, "api.struct_size");

  CHECK_CODE(heddle_target_create(SPEC("h2000"), &target), HEDDLE_ERROR_USAGE, "target.unknown");
  CHECK(target == NULL && strstr(heddle_error_message(), "h200") != NULL);
  CHECK_CODE(heddle_target_create(SPEC("h200"), NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_target_create_from_info(NULL, &target), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_target_of_device(NULL, 0, &target), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_target_get(NULL, &info), HEDDLE_ERROR_USAGE, "api.null");
  heddle_target_destroy(NULL);
}

heddle_plan* plan_for(const char* spec, const char* target_name) {
  heddle_target* target = NULL;
  heddle_plan* plan = NULL;
  MUST(heddle_target_create(SPEC(target_name), &target) == HEDDLE_OK);
  CHECK(heddle_plan_create(target, NULL, SPEC(spec), &plan) == HEDDLE_OK);
  heddle_target_destroy(target); /* the plan holds what it needs */
  if (plan == NULL) exit(1);
  return plan;
}

static void check_kernels(const heddle_plan* plan, size_t count) {
  heddle_plan_kernel_info kernel;
  size_t i = 0, index = 0;
  int64_t covered = 0;
  kernel.struct_size = sizeof kernel;
  for (i = 0; i < count; ++i) {
    CHECK(heddle_plan_kernel(plan, i, &kernel) == HEDDLE_OK);
    CHECK(is_text(kernel.name, "heddle") && strlen(kernel.family.data) == kernel.family.length);
    CHECK(kernel.threads > 0 && kernel.threads % 32 == 0 && kernel.shared_bytes >= 0);
    if (kernel.runs_before) continue;
    CHECK(kernel.size_min == covered + 1 && kernel.size_max >= kernel.size_min);
    covered = kernel.size_max;
    CHECK(heddle_plan_kernel_of_size(plan, kernel.size_min, &index) == HEDDLE_OK && index == i);
    CHECK(heddle_plan_kernel_of_size(plan, kernel.size_max, &index) == HEDDLE_OK && index == i);
  }
  CHECK(covered == 8);
  CHECK_CODE(heddle_plan_kernel(plan, count, &kernel), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_plan_kernel_of_size(plan, 9, &index), HEDDLE_ERROR_USAGE, "api.size");
  CHECK_CODE(heddle_plan_kernel_of_size(plan, 0, &index), HEDDLE_ERROR_USAGE, "api.size");
  CHECK_CODE(heddle_plan_kernel_of_size(plan, INT64_MIN, &index), HEDDLE_ERROR_USAGE, "api.size");
  CHECK_CODE(heddle_plan_kernel(NULL, 0, &kernel), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_plan_kernel(plan, 0, NULL), HEDDLE_ERROR_USAGE, "api.null");
}

static void test_other_operations(void) {
  static const char* const specs[] = {kDequantize, kRepack, kAppend};
  heddle_plan_info info;
  heddle_text text;
  uint64_t checked = 0;
  size_t i = 0, bytes = 0;
  info.struct_size = sizeof info;
  for (i = 0; i < sizeof specs / sizeof *specs; ++i) {
    heddle_plan* plan = plan_for(specs[i], "a100");
    MUST(heddle_plan_get(plan, &info) == HEDDLE_OK && info.kernel_count >= 1);
    CHECK((info.packed_bytes > 0) == (specs[i] != kAppend));
    CHECK(heddle_plan_json(plan, &text) == HEDDLE_OK && is_text(text, "\"kernels\""));
    CHECK(heddle_plan_description(plan, &text) == HEDDLE_OK && text.length > 0);
    CHECK(heddle_plan_prove(plan, &checked) == HEDDLE_OK);
    CHECK_CODE(heddle_plan_workspace_bytes(plan, 1, &bytes), HEDDLE_ERROR_USAGE, "launch.op");
    heddle_plan_destroy(plan);
  }
}

/* The reasons are those of the description, and the target is the plan's. */
static void check_reasons(const heddle_plan* plan, size_t count) {
  heddle_text description, reason;
  heddle_target* target = NULL;
  heddle_target_info info;
  size_t i = 0;
  info.struct_size = sizeof info;
  CHECK(count > 0 && heddle_plan_description(plan, &description) == HEDDLE_OK);
  for (i = 0; i < count; ++i) {
    CHECK(heddle_plan_reason(plan, i, &reason) == HEDDLE_OK && is_text(description, reason.data));
  }
  CHECK_CODE(heddle_plan_reason(plan, count, &reason), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_plan_reason(NULL, 0, &reason), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_plan_reason(plan, 0, NULL), HEDDLE_ERROR_USAGE, "api.null");
  MUST(heddle_target_of_plan(plan, &target) == HEDDLE_OK);
  CHECK(heddle_target_get(target, &info) == HEDDLE_OK && equals(info.name, "h200"));
  heddle_target_destroy(target);
  CHECK_CODE(heddle_target_of_plan(NULL, &target), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_target_of_plan(plan, NULL), HEDDLE_ERROR_USAGE, "api.null");
}

void test_plans(void) {
  heddle_plan* plan = plan_for(kGemm, "h200");
  heddle_plan_info info;
  heddle_text json, again;
  size_t bytes = 0, packed = 0;
  uint64_t checked = 0;
  info.struct_size = sizeof info;
  MUST(heddle_plan_get(plan, &info) == HEDDLE_OK);
  CHECK(equals(info.target, "h200") && is_text(info.spec, "\"n\":256") && info.kernel_count > 0);
  CHECK(heddle_packed_bytes(SPEC(kGemm), &packed) == HEDDLE_OK && packed == info.packed_bytes);
  check_kernels(plan, info.kernel_count);
  CHECK(heddle_plan_json(plan, &json) == HEDDLE_OK && json.data[0] == '{');
  CHECK(is_text(json, "h200"));
  CHECK(heddle_plan_json(plan, &again) == HEDDLE_OK && again.data == json.data);
  CHECK(heddle_plan_description(plan, &json) == HEDDLE_OK && is_text(json, "h200"));
  CHECK(heddle_plan_workspace_bytes(plan, 8, &bytes) == HEDDLE_OK);
  CHECK(bytes <= info.max_workspace_bytes);
  CHECK_CODE(heddle_plan_workspace_bytes(plan, 9, &bytes), HEDDLE_ERROR_USAGE, "launch.m");
  CHECK(heddle_plan_prove(plan, &checked) == HEDDLE_OK && checked > 0);
  check_reasons(plan, info.reason_count);

  CHECK_CODE(heddle_plan_get(NULL, &info), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_plan_get(plan, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_plan_json(NULL, &json), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_plan_json(plan, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_plan_description(NULL, &json), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_plan_prove(NULL, &checked), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_plan_prove(plan, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_plan_workspace_bytes(NULL, 1, &bytes), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_plan_kernel_of_size(NULL, 1, &bytes), HEDDLE_ERROR_USAGE, "api.null");
  heddle_plan_destroy(plan);
  heddle_plan_destroy(NULL);
  {
    heddle_target* target = NULL;
    MUST(heddle_target_create(SPEC("sm_75"), &target) == HEDDLE_OK);
    CHECK(heddle_plan_create(target, NULL,
                             SPEC("{\"heddle\":1,\"op\":\"gemm\",\"shape\":{\"n\":256,\"k\":512},"
                                  "\"weight\":{\"bits\":4},\"activation\":{\"dtype\":\"bf16\"}}"),
                             &plan) == HEDDLE_ERROR_UNSUPPORTED);
    CHECK(plan == NULL);
    CHECK(heddle_plan_create(target, NULL, SPEC("[]"), &plan) == HEDDLE_ERROR_SPEC);
    CHECK_CODE(heddle_plan_create(NULL, NULL, SPEC(kGemm), &plan), HEDDLE_ERROR_USAGE, "api.null");
    CHECK_CODE(heddle_plan_create(target, NULL, SPEC(kGemm), NULL), HEDDLE_ERROR_USAGE, "api.null");
    heddle_target_destroy(target);
  }
  test_other_operations();
}

void test_sources(void) {
  heddle_plan* plan = plan_for(kGemm, "h200");
  heddle_source *source = NULL, *again = NULL;
  heddle_source_info info, of_again;
  heddle_plan_kernel_info kernel;
  info.struct_size = of_again.struct_size = sizeof info;
  kernel.struct_size = sizeof kernel;
  CHECK(heddle_plan_kernel(plan, 0, &kernel) == HEDDLE_OK);
  MUST(heddle_source_create(plan, 0, &source) == HEDDLE_OK);
  MUST(heddle_source_create(plan, 0, &again) == HEDDLE_OK);
  CHECK(heddle_source_get(source, &info) == HEDDLE_OK);
  CHECK(heddle_source_get(again, &of_again) == HEDDLE_OK);
  CHECK(equals(info.kernel_name, kernel.name.data) && equals(info.arch, "sm_90a"));
  CHECK(is_text(info.text, kernel.name.data) && strstr(info.text.data, "#include") == NULL);
  CHECK(is_text(info.file_name, ".cu") && info.threads == kernel.threads);
  CHECK(info.dynamic_shared_bytes == kernel.shared_bytes);
  CHECK(equals(of_again.text, info.text.data) && equals(of_again.file_name, info.file_name.data));
  heddle_source_destroy(again);
  CHECK_CODE(heddle_source_create(plan, 1000, &again), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_source_create(NULL, 0, &again), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_source_create(plan, 0, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_source_get(NULL, &info), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_source_get(source, NULL), HEDDLE_ERROR_USAGE, "api.null");
  heddle_plan_destroy(plan);
  heddle_source_destroy(source);
  heddle_source_destroy(NULL);
}
