/* Tuned tables: read, merged, written and used. */
#include "check.h"

/* Of a GPU that no shipped table is of. */
static const char kTable[] =
    "{\"heddle_tuned\":1,\"gpu\":\"rtx4090\",\"families\":{\"tiles\":1},\"entries\":[]}";

/* The costs of a shipped table are what its text says. */
static void check_costs(const heddle_tuned_tables* set, size_t table, size_t count) {
  heddle_tuned_table_info info;
  heddle_tuned_costs_info costs;
  heddle_text name;
  double value = 0;
  size_t i = 0, at = 0;
  info.struct_size = sizeof info;
  costs.struct_size = sizeof costs;
  CHECK(heddle_tuned_tables_get(set, table, &info) == HEDDLE_OK);
  for (i = 0; i < count; ++i) {
    MUST(heddle_tuned_tables_costs(set, table, i, &costs) == HEDDLE_OK);
    CHECK(costs.family.length > 0 && costs.version >= 1 && costs.value_count > 0);
    CHECK(is_text(info.json, costs.family.data));
    for (at = 0; at < costs.value_count; ++at) {
      CHECK(heddle_tuned_tables_cost(set, table, i, at, &name, &value) == HEDDLE_OK);
      CHECK(is_text(info.json, name.data) && value >= 0);
    }
    CHECK_CODE(heddle_tuned_tables_cost(set, table, i, at, &name, &value), HEDDLE_ERROR_USAGE,
               "api.index");
  }
  CHECK_CODE(heddle_tuned_tables_costs(set, table, count, &costs), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_tuned_tables_cost(set, table, count, 0, &name, &value), HEDDLE_ERROR_USAGE,
             "api.index");
}

static void check_table(const heddle_tuned_tables* set, size_t index) {
  heddle_tuned_table_info info;
  heddle_tuned_entry_info entry;
  size_t i = 0;
  info.struct_size = sizeof info;
  entry.struct_size = sizeof entry;
  MUST(heddle_tuned_tables_get(set, index, &info) == HEDDLE_OK);
  CHECK(info.gpu.length > 0 && is_text(info.json, info.gpu.data));
  for (i = 0; i < info.entry_count; ++i) {
    CHECK(heddle_tuned_tables_entry(set, index, i, &entry) == HEDDLE_OK);
    CHECK(entry.n > 0 && entry.k > 0 && entry.m_first >= 1 && entry.m_last >= entry.m_first);
    CHECK(is_text(entry.format, "\"weight\":{\"bits\"") && entry.family_version >= 1);
    CHECK(entry.family.length > 0 && entry.kernel.length > 0 && entry.us >= 0);
  }
  CHECK_CODE(heddle_tuned_tables_entry(set, index, info.entry_count, &entry), HEDDLE_ERROR_USAGE,
             "api.index");
  check_costs(set, index, info.cost_count);
}

/* What was written is read again, and merged over itself changes nothing. */
static void check_written(const heddle_tuned_tables* set, size_t index) {
  heddle_tuned_tables *again = NULL, *merged = NULL;
  heddle_tuned_table_info info, of_again;
  heddle_text json;
  size_t count = 0;
  info.struct_size = of_again.struct_size = sizeof info;
  MUST(heddle_tuned_tables_get(set, index, &info) == HEDDLE_OK);
  json = info.json;
  MUST(heddle_tuned_tables_create(NULL, &json, 1, &again) == HEDDLE_OK);
  CHECK(heddle_tuned_tables_count(again, &count) == HEDDLE_OK && count == 1);
  MUST(heddle_tuned_tables_get(again, 0, &of_again) == HEDDLE_OK);
  CHECK(equals(of_again.json, info.json.data));
  MUST(heddle_tuned_tables_create(set, &json, 1, &merged) == HEDDLE_OK);
  MUST(heddle_tuned_tables_get(merged, index, &of_again) == HEDDLE_OK);
  CHECK(equals(of_again.json, info.json.data));
  heddle_tuned_tables_destroy(again);
  heddle_tuned_tables_destroy(merged);
}

static void test_families(void) {
  heddle_tuned_family_info family;
  size_t count = 0, i = 0;
  family.struct_size = sizeof family;
  CHECK(heddle_tuned_family_count(&count) == HEDDLE_OK && count > 1);
  for (i = 0; i < count; ++i) {
    CHECK(heddle_tuned_family(i, &family) == HEDDLE_OK);
    CHECK(family.name.length > 0 && family.version >= 1 && family.cost_version >= 0);
  }
  CHECK_CODE(heddle_tuned_family(count, &family), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_tuned_family(0, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_tuned_family_count(NULL), HEDDLE_ERROR_USAGE, "api.null");
}

static void test_refused(const heddle_tuned_tables* set) {
  heddle_tuned_tables* made = (heddle_tuned_tables*)address(16);
  heddle_tuned_table_info info;
  heddle_tuned_entry_info entry;
  heddle_text tables[2];
  info.struct_size = sizeof info;
  entry.struct_size = sizeof entry;
  tables[0] = text(kTable);
  tables[1] = text("{\"heddle_tuned\":1}");
  CHECK(heddle_tuned_tables_create(NULL, tables, 2, &made) == HEDDLE_ERROR_SPEC && made == NULL);
  CHECK(strstr(heddle_error_message(), "tables[1]") != NULL);
  CHECK_CODE(heddle_tuned_tables_create(NULL, NULL, 1, &made), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_tuned_tables_create(NULL, tables, (size_t)-1, &made), HEDDLE_ERROR_USAGE,
             "api.count");
  CHECK_CODE(heddle_tuned_tables_create(NULL, tables, 1, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_tuned_tables_shipped(NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_tuned_tables_of_runtime(NULL, &made), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_tuned_tables_count(NULL, &tables[0].length), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_tuned_tables_count(set, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_tuned_tables_get(NULL, 0, &info), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_tuned_tables_get(set, 0, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_tuned_tables_get(set, 1000, &info), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_tuned_tables_entry(NULL, 0, 0, &entry), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_tuned_tables_entry(set, 1000, 0, &entry), HEDDLE_ERROR_USAGE, "api.index");
}

/* Plans follow the tables that they are made with. */
static void test_used(const heddle_tuned_tables* shipped) {
  heddle_tuned_tables* none = NULL;
  heddle_target* target = NULL;
  heddle_plan *with = NULL, *without = NULL, *by_default = NULL;
  heddle_text one, other;
  static const char spec[] =
      "{\"heddle\":1,\"op\":\"gemm\",\"shape\":{\"n\":4096,\"k\":4096,\"m\":[1,16]},"
      "\"weight\":{\"bits\":4},\"activation\":{\"dtype\":\"fp16\"}}";
  MUST(heddle_tuned_tables_create(NULL, NULL, 0, &none) == HEDDLE_OK);
  MUST(heddle_target_create(SPEC("h100"), &target) == HEDDLE_OK);
  CHECK(heddle_plan_create(target, shipped, SPEC(spec), &with) == HEDDLE_OK);
  CHECK(heddle_plan_create(target, none, SPEC(spec), &without) == HEDDLE_OK);
  CHECK(heddle_plan_create(target, NULL, SPEC(spec), &by_default) == HEDDLE_OK);
  CHECK(heddle_plan_json(with, &one) == HEDDLE_OK);
  CHECK(heddle_plan_json(by_default, &other) == HEDDLE_OK && equals(other, one.data));
  CHECK(heddle_plan_json(without, &other) == HEDDLE_OK && other.length > 0);
  heddle_plan_destroy(with);
  heddle_plan_destroy(without);
  heddle_plan_destroy(by_default);
  heddle_target_destroy(target);
  heddle_tuned_tables_destroy(none);
}

/* A table of one shape in three ranges of M, and of another one, with costs of two parameters. */
#define ENTRY(n, m)                                                                             \
  "{\"weight\":{\"bits\":4},\"activation\":{\"dtype\":\"fp16\"},\"n\":" n ",\"k\":512,\"m\":" m \
  ",\"family\":\"stream\",\"kernel\":\"warps 8 chunks 1 stages 3 split 1\"}"
#define ENTRIES         \
  ENTRY("256", "[1,4]") \
  "," ENTRY("256", "[5,8]") "," ENTRY("256", "[9,16]") "," ENTRY("128", "[1,8]")

/* Activations of eight bits are a format of their own. */
static void test_bytes(void) {
#define BYTES "\"weight\":{\"bits\":8,\"type\":\"int\",\"group_size\":-1}"
  static const char table[] =
      "{\"heddle_tuned\":3,\"gpu\":\"h100\",\"families\":{\"warpgroup\":1},\"entries\":[{" BYTES
      ",\"activation\":{\"dtype\":\"int8\",\"granularity\":\"token\"},\"n\":256,\"k\":512,\"m\":[1,"
      "8],"
      "\"family\":\"warpgroup\",\"kernel\":\"any\"}]}";
  static const char same[] =
      "{\"heddle\":1,\"op\":\"gemm\",\"shape\":{\"n\":256,\"k\":512,\"m\":[1,8]}," BYTES
      ",\"activation\":{\"dtype\":\"int8\",\"granularity\":\"token\"},\"output\":{\"dtype\":"
      "\"bf16\"}}";
  static const char other[] =
      "{\"heddle\":1,\"op\":\"gemm\",\"shape\":{\"n\":256,\"k\":512,\"m\":[1,8]}," BYTES
      ",\"activation\":{\"dtype\":\"fp16\"}}";
#undef BYTES
  heddle_text json = text(table);
  heddle_tuned_tables* set = NULL;
  heddle_tuned_entry_info entry;
  size_t count = 0;
  entry.struct_size = sizeof entry;
  MUST(heddle_tuned_tables_create(NULL, &json, 1, &set) == HEDDLE_OK);
  CHECK(heddle_tuned_tables_entries_for(set, 0, SPEC(same), NULL, 0, &count) == HEDDLE_OK);
  CHECK(count == 1);
  CHECK(heddle_tuned_tables_entries_for(set, 0, SPEC(other), NULL, 0, &count) == HEDDLE_OK);
  CHECK(count == 0);
  CHECK(heddle_tuned_tables_entry(set, 0, 0, &entry) == HEDDLE_OK);
  CHECK(strstr(entry.format.data,
               "\"activation\":{\"dtype\":\"int8\",\"granularity\":\"token\"}") != NULL);
  heddle_tuned_tables_destroy(set);
}

static void test_found(const heddle_tuned_tables* shipped) {
  static const char table[] =
      "{\"heddle_tuned\":1,\"gpu\":\"rtx4090\",\"families\":{\"stream\":1},\"entries\":[" ENTRIES
      "]}";
  heddle_text json = text(table);
  heddle_tuned_tables* set = NULL;
  heddle_target *known = NULL, *other = NULL;
  heddle_tuned_entry_info entry;
  size_t at = 0, count = 0, entries[4] = {99, 99, 99, 99};
  entry.struct_size = sizeof entry;
  MUST(heddle_tuned_tables_create(NULL, &json, 1, &set) == HEDDLE_OK);
  MUST(heddle_target_create(SPEC("rtx4090"), &known) == HEDDLE_OK);
  MUST(heddle_target_create(SPEC("h200"), &other) == HEDDLE_OK);
  CHECK(heddle_tuned_tables_find(set, known, &at) == HEDDLE_OK && at == 0);
  CHECK(heddle_tuned_tables_find(set, other, &at) == HEDDLE_OK && at == 1);
  CHECK(heddle_tuned_tables_find(shipped, other, &at) == HEDDLE_OK);
  /* M from 1 to 8: two of the three ranges, and not the other shape. */
  CHECK(heddle_tuned_tables_entries_for(set, 0, SPEC(kGemm), NULL, 0, &count) == HEDDLE_OK);
  CHECK(count == 2);
  CHECK(heddle_tuned_tables_entries_for(set, 0, SPEC(kGemm), entries, 1, &count) == HEDDLE_OK);
  CHECK(count == 2 && entries[1] == 99);
  CHECK(heddle_tuned_tables_entries_for(set, 0, SPEC(kGemm), entries, 4, &count) == HEDDLE_OK);
  CHECK(count == 2 && entries[2] == 99 && entries[1] == entries[0] + 1);
  CHECK(heddle_tuned_tables_entry(set, 0, entries[1], &entry) == HEDDLE_OK);
  CHECK(entry.n == 256 && entry.m_first == 5 && entry.m_last == 8);
  CHECK_CODE(heddle_tuned_tables_entries_for(set, 1, SPEC(kGemm), entries, 4, &count),
             HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_tuned_tables_entries_for(set, 0, SPEC(kRepack), entries, 4, &count),
             HEDDLE_ERROR_USAGE, "api.op");
  CHECK_CODE(heddle_tuned_tables_entries_for(set, 0, SPEC(kGemm), NULL, 4, &count),
             HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_tuned_tables_entries_for(NULL, 0, SPEC(kGemm), entries, 4, &count),
             HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_tuned_tables_find(NULL, known, &at), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_tuned_tables_find(set, NULL, &at), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_tuned_tables_find(set, known, NULL), HEDDLE_ERROR_USAGE, "api.null");
  heddle_target_destroy(known);
  heddle_target_destroy(other);
  heddle_tuned_tables_destroy(set);
}

void test_tuned_sets(void) {
  heddle_tuned_tables *shipped = NULL, *more = NULL;
  heddle_text table = text(kTable);
  size_t count = 0, after = 0, i = 0;
  MUST(heddle_tuned_tables_shipped(&shipped) == HEDDLE_OK);
  CHECK(heddle_tuned_tables_count(shipped, &count) == HEDDLE_OK && count > 0);
  for (i = 0; i < count; ++i) {
    check_table(shipped, i);
    check_written(shipped, i);
  }
  MUST(heddle_tuned_tables_create(shipped, &table, 1, &more) == HEDDLE_OK);
  CHECK(heddle_tuned_tables_count(more, &after) == HEDDLE_OK && after == count + 1);
  test_used(shipped);
  test_bytes();
  test_found(shipped);
  test_refused(shipped);
  heddle_tuned_tables_destroy(shipped);
  check_table(more, after - 1); /* it holds what it needs */
  heddle_tuned_tables_destroy(more);
  heddle_tuned_tables_destroy(NULL);
  test_families();
}
