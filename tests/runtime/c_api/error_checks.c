/* Errors that outlive the next call. */
#include "check.h"

static const char kTwoProblems[] =
    "{\"heddle\":1,\"op\":\"gemm\",\"shape\":{\"n\":256,\"k\":512},"
    "\"weight\":{\"bits\":9,\"group_sise\":64},\"activation\":{\"dtype\":\"fp16\"}}";

/* To be called before any other call of the thread fails. */
void test_no_error(void) {
  heddle_error* error = (heddle_error*)address(16);
  CHECK(heddle_error_create(&error) == HEDDLE_OK && error == NULL);
}

void test_error_objects(void) {
  heddle_error *first = NULL, *second = NULL;
  heddle_error_info info;
  heddle_error_problem_info problem;
  size_t bytes = 0, i = 0, named = 0;
  memset(&info, 0, sizeof info);
  memset(&problem, 0, sizeof problem);
  info.struct_size = sizeof info;
  problem.struct_size = sizeof problem;
  CHECK(heddle_packed_bytes(SPEC(kTwoProblems), &bytes) == HEDDLE_ERROR_SPEC);
  CHECK(heddle_error_create(&first) == HEDDLE_OK && first != NULL);
  CHECK(strlen(heddle_error_message()) > 0); /* the thread keeps its own */
  CHECK_CODE(heddle_packed_bytes(SPEC(kGemm), NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK(heddle_error_create(&second) == HEDDLE_OK);

  MUST(heddle_error_get(first, &info) == HEDDLE_OK);
  CHECK(info.status == HEDDLE_ERROR_SPEC && info.problem_count == 2);
  CHECK(strlen(info.message.data) == info.message.length && info.log.length == 0);
  CHECK(strlen(info.code.data) == info.code.length && info.code.length > 0);
  for (i = 0; i < info.problem_count; ++i) {
    CHECK(heddle_error_problem(first, i, &problem) == HEDDLE_OK);
    CHECK(problem.message.length > 0 && problem.pointer.data != NULL);
    named += strcmp(problem.pointer.data, "/weight/group_sise") == 0 &&
             strstr(problem.hint.data, "group_size") != NULL;
    named += strcmp(problem.pointer.data, "/weight/bits") == 0 &&
             strcmp(problem.value.data, "9") == 0 && problem.allowed.length > 0;
  }
  CHECK(named == 2);
  MUST(heddle_error_get(second, &info) == HEDDLE_OK);
  CHECK(info.status == HEDDLE_ERROR_USAGE && strcmp(info.code.data, "api.null") == 0);

  CHECK_CODE(heddle_error_problem(first, 2, &problem), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_error_problem(NULL, 0, &problem), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_error_problem(first, 0, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_error_get(NULL, &info), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_error_get(first, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_error_create(NULL), HEDDLE_ERROR_USAGE, "api.null");
  heddle_error_destroy(first);
  heddle_error_destroy(second);
  heddle_error_destroy(NULL);
}
