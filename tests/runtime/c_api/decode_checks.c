/* Decode plans for a spec's weights and for codes of one's own. */
#include <stdint.h>

#include "check.h"

static heddle_decode_request fresh(void) {
  heddle_decode_request request;
  CHECK(heddle_decode_request_init(&request, sizeof request) == HEDDLE_OK);
  return request;
}

static heddle_decode_plan* plan_of(const heddle_decode_request* request) {
  heddle_decode_plan* plan = NULL;
  MUST(heddle_decode_plan_create(request, &plan) == HEDDLE_OK);
  return plan;
}

static heddle_decode_plan_info info_of(const heddle_decode_plan* plan) {
  heddle_decode_plan_info info;
  info.struct_size = sizeof info;
  MUST(heddle_decode_plan_get(plan, &info) == HEDDLE_OK);
  return info;
}

/* Every code in every element becomes what exact arithmetic says; and `first`, the bits of what
 * code 1 becomes. */
static void check_values(const heddle_decode_plan* plan, uint32_t codes, uint16_t first) {
  const heddle_decode_plan_info info = info_of(plan);
  uint32_t words[8] = {0}, group_words[32] = {0}, code = 0, seen = 0;
  uint16_t values[32], want = 0;
  uint64_t checked = 0;
  size_t i = 0;
  MUST(info.words <= 8 && info.elements <= 32 && info.group_words <= 32);
  CHECK(heddle_decode_plan_prove(plan, &checked) == HEDDLE_OK && checked >= codes * info.elements);
  for (code = 0; code < codes; ++code) {
    CHECK(heddle_decode_plan_reference(plan, code, 0, info.result_exponent, 1, &want) == HEDDLE_OK);
    if (code == 1) CHECK(want == first);
    for (i = 0; i < info.elements; ++i) {
      CHECK(heddle_decode_plan_write_code(plan, words, info.words, i, code) == HEDDLE_OK);
      CHECK(heddle_decode_plan_read_code(plan, words, info.words, i, &seen) == HEDDLE_OK);
      CHECK(seen == code);
    }
    CHECK(heddle_decode_plan_evaluate(plan, words, info.words, group_words, info.group_words,
                                      values, info.elements) == HEDDLE_OK);
    for (i = 0; i < info.elements; ++i) CHECK(values[i] == want);
  }
}

/* Four bits, unsigned with the fixed bias 8, to FP16: code 1 is -7. */
static void test_default(void) {
  heddle_decode_request request = fresh(), back = fresh();
  heddle_decode_plan* plan = plan_of(&request);
  const heddle_decode_plan_info info = info_of(plan);
  heddle_text json, again, description;
  CHECK(info.words == 1 && info.elements == 8 && info.group_words == 0 && info.op_count > 4);
  CHECK(info.instructions_per_weight == (double)info.op_count / 8);
  check_values(plan, 16, 0xC700);
  CHECK(heddle_decode_plan_json(plan, &json) == HEDDLE_OK);
  CHECK(is_text(json, "\"op\": \"lop3\"") && is_text(json, "\"bit_of\"") &&
        is_text(json, "\"kind\": \"integer\""));
  CHECK(heddle_decode_plan_json(plan, &again) == HEDDLE_OK && again.data == json.data);
  CHECK(heddle_decode_plan_description(plan, &description) == HEDDLE_OK);
  CHECK(is_text(description, "immLut"));
  CHECK(heddle_decode_plan_request(plan, &back) == HEDDLE_OK);
  CHECK(back.bits == 4 && equals(back.type, "uint") && equals(back.order, "fragment"));
  heddle_decode_plan_destroy(plan);
}

/* Codes that no spec has: a table of squares, e1m3, and an order of one's own. */
static void test_own_codes(void) {
  float squares[16];
  int32_t reversed[8];
  heddle_decode_request request = fresh();
  heddle_decode_plan* plan = NULL;
  int i = 0;
  for (i = 0; i < 16; ++i) squares[i] = (float)(i * i);
  for (i = 0; i < 8; ++i) reversed[i] = 7 - i;
  request.kind = text("table");
  request.dtype = text("bf16");
  request.table = squares;
  request.table_count = 16;
  plan = plan_of(&request);
  check_values(plan, 16, 0x3F80);
  squares[1] = 0; /* the plan holds its own */
  CHECK(heddle_decode_plan_request(plan, &request) == HEDDLE_OK && request.table[1] == 1);
  heddle_decode_plan_destroy(plan);

  request = fresh();
  request.kind = text("float");
  request.bits = 6;
  request.exponent_bits = 3;
  request.mantissa_bits = 2;
  plan = plan_of(&request);
  check_values(plan, 64, 0x2C00); /* 1/16, the least number above 0 */
  heddle_decode_plan_destroy(plan);

  request = fresh();
  request.order = text("permutation");
  request.permutation = reversed;
  request.permutation_count = 8;
  request.type = text("int");
  plan = plan_of(&request);
  check_values(plan, 16, 0x3C00);
  {
    uint32_t word = 0;
    CHECK(heddle_decode_plan_write_code(plan, &word, 1, 7, 5) == HEDDLE_OK && word == 5);
  }
  heddle_decode_plan_destroy(plan);
}

/* Zero points stand in words of their own. */
static void test_zero_points(void) {
  heddle_decode_request request = fresh();
  heddle_decode_plan* plan = NULL;
  uint32_t word = 0xFFFFFFFF, zeros = 0;
  uint16_t values[8], want = 0;
  size_t i = 0;
  request.zero_point = text("int");
  plan = plan_of(&request);
  CHECK(info_of(plan).group_words == 1);
  zeros = 0x00530053; /* 3 for row g, 5 for row g + 8 */
  CHECK(heddle_decode_plan_evaluate(plan, &word, 1, &zeros, 1, values, 8) == HEDDLE_OK);
  CHECK(heddle_decode_plan_reference(plan, 15, 3, 0, 1, &want) == HEDDLE_OK && want == 0x4A00);
  CHECK(values[0] == want);
  CHECK(heddle_decode_plan_reference(plan, 15, 5, 0, 1, &want) == HEDDLE_OK && want == 0x4900);
  for (i = 0; i < 8; ++i) CHECK(values[i] == 0x4A00 || values[i] == 0x4900);
  CHECK(values[2] == want);
  CHECK_CODE(heddle_decode_plan_reference(plan, 15, 16, 0, 1, &want), HEDDLE_ERROR_USAGE,
             "decode.code");
  CHECK_CODE(heddle_decode_plan_evaluate(plan, &word, 1, NULL, 1, values, 8), HEDDLE_ERROR_USAGE,
             "api.null");
  CHECK_CODE(heddle_decode_plan_evaluate(plan, &word, 1, NULL, 0, values, 8), HEDDLE_ERROR_USAGE,
             "decode.words");
  heddle_decode_plan_destroy(plan);
}

static void test_of_specs(void) {
  heddle_plan* plan = plan_for(kGemm, "h200");
  heddle_decode_plan *decode = NULL, *own = NULL;
  heddle_decode_request request = fresh();
  size_t count = 0, i = 0;
  CHECK(heddle_plan_decode_count(plan, &count) == HEDDLE_OK && count >= 1);
  for (i = 0; i < count; ++i) {
    uint64_t checked = 0;
    MUST(heddle_decode_plan_of_plan(plan, i, &decode) == HEDDLE_OK);
    CHECK(heddle_decode_plan_prove(decode, &checked) == HEDDLE_OK && checked > 0);
    CHECK(heddle_decode_plan_request(decode, &request) == HEDDLE_OK && request.bits == 4);
    heddle_decode_plan_destroy(decode);
  }
  CHECK_CODE(heddle_decode_plan_of_plan(plan, count, &decode), HEDDLE_ERROR_USAGE, "api.index");
  CHECK(decode == NULL);
  heddle_plan_destroy(plan);
  plan = plan_for(
      "{\"heddle\":1,\"op\":\"kv_append\",\"shape\":{\"kv_heads\":4,\"head_dim\":64},"
      "\"activation\":{\"dtype\":\"fp16\"},\"kv\":{\"dtype\":\"int4\"}}",
      "h200");
  CHECK(heddle_plan_decode_count(plan, &count) == HEDDLE_OK && count == 0);
  heddle_plan_destroy(plan);

  MUST(heddle_decode_plan_create_for_spec(SPEC(kGemm), SPEC("bf16"), &own) == HEDDLE_OK);
  check_values(own, 16, 0xC0E0);
  heddle_decode_plan_destroy(own);
  CHECK_CODE(heddle_decode_plan_create_for_spec(SPEC(kGemm), SPEC("fp32"), &own),
             HEDDLE_ERROR_USAGE, "decode.request");
  CHECK(own == NULL && strstr(heddle_error_message(), "\"bf16\"") != NULL);
  CHECK_CODE(heddle_decode_plan_create_for_spec(SPEC(kGemm), SPEC("fp16"), NULL),
             HEDDLE_ERROR_USAGE, "api.null");
}

/* All that are known have a plan, and say again what they were asked for. */
static void test_known(void) {
  heddle_decode_request request, back;
  heddle_text name, table;
  const float* nf4 = NULL;
  size_t count = 0, i = 0;
  request.struct_size = back.struct_size = sizeof request;
  CHECK(heddle_decode_request_count(&count) == HEDDLE_OK && count > 100);
  for (i = 0; i < count; ++i) {
    heddle_decode_plan* plan = NULL;
    MUST(heddle_decode_request_known(i, &name, &request) == HEDDLE_OK && name.length > 0);
    plan = plan_of(&request);
    CHECK(heddle_decode_plan_request(plan, &back) == HEDDLE_OK);
    CHECK(back.bits == request.bits && equals(back.kind, request.kind.data));
    CHECK(equals(back.order, request.order.data) && back.fold_scale == request.fold_scale);
    heddle_decode_plan_destroy(plan);
  }
  CHECK_CODE(heddle_decode_request_known(count, &name, &request), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_decode_request_known(0, NULL, &request), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_decode_request_known(0, &name, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_decode_request_count(NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK(heddle_nf4_values(&nf4, &count) == HEDDLE_OK && count == 16);
  CHECK(nf4[0] == -1 && nf4[7] == 0 && nf4[15] == 1);
  CHECK_CODE(heddle_nf4_values(NULL, &count), HEDDLE_ERROR_USAGE, "api.null");
  CHECK(heddle_decode_cost_table(&table) == HEDDLE_OK && is_text(table, "|"));
  CHECK_CODE(heddle_decode_cost_table(NULL), HEDDLE_ERROR_USAGE, "api.null");
}

static void test_refused(void) {
  heddle_decode_request request = fresh();
  heddle_decode_plan* plan = (heddle_decode_plan*)address(16);
  uint32_t words[2] = {0, 0}, code = 0;
  uint16_t values[8];
  const float one = 1;
#define REFUSED(change, status, code)                                     \
  do {                                                                    \
    request = fresh();                                                    \
    change;                                                               \
    CHECK_CODE(heddle_decode_plan_create(&request, &plan), status, code); \
    CHECK(plan == NULL);                                                  \
  } while (0)
  REFUSED(request.bits = 9, HEDDLE_ERROR_UNSUPPORTED, "decode.unsupported");
  REFUSED(request.bits = 0, HEDDLE_ERROR_UNSUPPORTED, "decode.unsupported");
  REFUSED(request.bits = INT32_MIN, HEDDLE_ERROR_UNSUPPORTED, "decode.unsupported");
  REFUSED(request.fold_scale = 1, HEDDLE_ERROR_UNSUPPORTED, "decode.unsupported");
  REFUSED(request.kind = text("float"), HEDDLE_ERROR_UNSUPPORTED, "decode.unsupported");
  REFUSED(request.kind = text("floats"), HEDDLE_ERROR_USAGE, "decode.request");
  REFUSED(request.type = text("e4m3"), HEDDLE_ERROR_USAGE, "decode.request");
  REFUSED(request.dtype = text("fp32"), HEDDLE_ERROR_USAGE, "decode.request");
  REFUSED(request.order = text("awk"), HEDDLE_ERROR_USAGE, "decode.request");
  REFUSED(request.zero_point = text("float"), HEDDLE_ERROR_USAGE, "decode.request");
  REFUSED(request.kind = text("table"), HEDDLE_ERROR_USAGE, "api.null");
  REFUSED((request.kind = text("table"), request.table = &one, request.table_count = 1),
          HEDDLE_ERROR_UNSUPPORTED, "decode.unsupported");
  REFUSED((request.kind = text("table"), request.table = &one, request.table_count = SIZE_MAX),
          HEDDLE_ERROR_USAGE, "api.count");
  REFUSED(request.order = text("permutation"), HEDDLE_ERROR_USAGE, "api.null");
  REFUSED(request.reserved = 1, HEDDLE_ERROR_USAGE, "api.reserved");
  REFUSED(request.struct_size = 8, HEDDLE_ERROR_USAGE, "api.struct_size");
#undef REFUSED
  CHECK_CODE(heddle_decode_plan_create(NULL, &plan), HEDDLE_ERROR_USAGE, "api.null");
  request = fresh();
  CHECK_CODE(heddle_decode_plan_create(&request, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_decode_request_init(NULL, sizeof request), HEDDLE_ERROR_USAGE, "api.null");
  plan = plan_of(&request);
  CHECK_CODE(heddle_decode_plan_evaluate(plan, words, 2, NULL, 0, values, 8), HEDDLE_ERROR_USAGE,
             "decode.words");
  CHECK_CODE(heddle_decode_plan_evaluate(plan, words, 1, NULL, 0, values, 7), HEDDLE_ERROR_USAGE,
             "decode.words");
  CHECK_CODE(heddle_decode_plan_evaluate(plan, NULL, 1, NULL, 0, values, 8), HEDDLE_ERROR_USAGE,
             "api.null");
  CHECK_CODE(heddle_decode_plan_read_code(plan, words, 1, 8, &code), HEDDLE_ERROR_USAGE,
             "api.index");
  CHECK_CODE(heddle_decode_plan_read_code(plan, words, 0, 0, &code), HEDDLE_ERROR_USAGE,
             "decode.words");
  CHECK_CODE(heddle_decode_plan_read_code(plan, words, 1, 0, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_decode_plan_write_code(plan, words, 1, 0, 16), HEDDLE_ERROR_USAGE,
             "decode.code");
  CHECK_CODE(heddle_decode_plan_write_code(plan, NULL, 1, 0, 1), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_decode_plan_reference(plan, 16, 0, 0, 1, values), HEDDLE_ERROR_USAGE,
             "decode.code");
  CHECK_CODE(heddle_decode_plan_reference(plan, 1, 0, INT32_MIN, 1, values), HEDDLE_ERROR_USAGE,
             "decode.exponent");
  CHECK_CODE(heddle_decode_plan_get(plan, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_decode_plan_prove(plan, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_decode_plan_json(NULL, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_decode_plan_description(plan, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_plan_decode_count(NULL, NULL), HEDDLE_ERROR_USAGE, "api.null");
  heddle_decode_plan_destroy(plan);
  heddle_decode_plan_destroy(NULL);
}

void test_decode_plans(void) {
  test_default();
  test_own_codes();
  test_zero_points();
  test_of_specs();
  test_known();
  test_refused();
}
