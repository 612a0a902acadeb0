/* Tuned tables: which kernels were measured to be the fastest on a GPU (docs/planner.md). */
#ifndef HEDDLE_C_TUNED_H_
#define HEDDLE_C_TUNED_H_

#include <stddef.h>
#include <stdint.h>

#include "heddle/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A set of tables, at most one for each GPU: those of `base`, or none where that is null, and over
 * them the JSON texts of `tables` in their order. What a text says of a shape and a range of M
 * replaces what was said of it before. A text that is no table is HEDDLE_ERROR_SPEC, and its
 * problems name it as "tables[2]". */
HEDDLE_EXPORT heddle_status heddle_tuned_tables_create(const heddle_tuned_tables* base,
                                                       const heddle_text* tables,
                                                       size_t table_count,
                                                       heddle_tuned_tables** set);
HEDDLE_EXPORT void heddle_tuned_tables_destroy(heddle_tuned_tables* set);

/* Those that come with this version of Heddle. */
HEDDLE_EXPORT heddle_status heddle_tuned_tables_shipped(heddle_tuned_tables** set);
/* Those that the runtime plans with. Reads their files, if that was not done yet; see
 * heddle_runtime_set_tuned_tables(). */
HEDDLE_EXPORT heddle_status heddle_tuned_tables_of_runtime(heddle_runtime* runtime,
                                                           heddle_tuned_tables** set);

/* Of the table with number `table`, ascending by GPU. */
HEDDLE_EXPORT heddle_status heddle_tuned_tables_count(const heddle_tuned_tables* set,
                                                      size_t* count);
typedef struct heddle_tuned_table_info {
  size_t struct_size;
  heddle_text gpu;  /* "h100" */
  heddle_text json; /* what a file of the table holds; equal for equal tables */
  size_t entry_count;
  size_t cost_count; /* families of kernels whose cost parameters were measured */
} heddle_tuned_table_info;
HEDDLE_EXPORT heddle_status heddle_tuned_tables_get(const heddle_tuned_tables* set, size_t table,
                                                    heddle_tuned_table_info* info);

/* The fastest kernel of a format and shape for a range of M. */
typedef struct heddle_tuned_entry_info {
  size_t struct_size;
  heddle_text format; /* JSON, parts of a spec: {"weight":{...},"activation":{"dtype":"fp16"}} */
  heddle_text family; /* "stream" */
  heddle_text kernel; /* its label: "warps 8 chunks 4 stages 3 split 1" */
  heddle_text from;   /* where and when it was measured; may be empty */
  int64_t n;
  int64_t k;
  int64_t m_first; /* both inclusive */
  int64_t m_last;
  double us;              /* of a launch with m_last tokens; 0: not told */
  int32_t family_version; /* of that family's kernels, as they were measured */
  int32_t reserved;       /* 0 */
} heddle_tuned_entry_info;
HEDDLE_EXPORT heddle_status heddle_tuned_tables_entry(const heddle_tuned_tables* set, size_t table,
                                                      size_t entry, heddle_tuned_entry_info* info);

/* The table with which kernels for the target are chosen: its number, or the count of the tables
 * where none is of its GPU. */
HEDDLE_EXPORT heddle_status heddle_tuned_tables_find(const heddle_tuned_tables* set,
                                                     const heddle_target* target, size_t* table);

/* The entries for a gemm's format, N and K whose ranges meet its range of M, ascending by M: their
 * numbers. Writes at most `capacity` of them; *count is how many there are, so a capacity of 0 asks
 * for it. */
HEDDLE_EXPORT heddle_status heddle_tuned_tables_entries_for(const heddle_tuned_tables* set,
                                                            size_t table, const char* spec,
                                                            size_t spec_length, size_t* entries,
                                                            size_t capacity, size_t* count);

/* The cost parameters of a family of kernels as they were measured on the table's GPU. */
typedef struct heddle_tuned_costs_info {
  size_t struct_size;
  heddle_text family;
  heddle_text from; /* where and when it was measured; may be empty */
  size_t value_count;
  int32_t version;  /* of that family's parameters */
  int32_t reserved; /* 0 */
} heddle_tuned_costs_info;
HEDDLE_EXPORT heddle_status heddle_tuned_tables_costs(const heddle_tuned_tables* set, size_t table,
                                                      size_t costs, heddle_tuned_costs_info* info);
/* One of them, by its name; ascending by name. */
HEDDLE_EXPORT heddle_status heddle_tuned_tables_cost(const heddle_tuned_tables* set, size_t table,
                                                     size_t costs, size_t index, heddle_text* name,
                                                     double* value);

/* What this library's entries and costs are of: the families that have kernels for gemms. Entries
 * and costs of another version are not used. The texts belong to the library. */
typedef struct heddle_tuned_family_info {
  size_t struct_size;
  heddle_text name;
  int32_t version;      /* of the family's kernels; of an entry's "version" */
  int32_t cost_version; /* of its cost parameters; 0: it has none */
} heddle_tuned_family_info;
HEDDLE_EXPORT heddle_status heddle_tuned_family_count(size_t* count);
HEDDLE_EXPORT heddle_status heddle_tuned_family(size_t index, heddle_tuned_family_info* info);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_TUNED_H_ */
