/* Tuned tables: which kernels were measured to be the fastest on a GPU (docs/planner.md). */
#ifndef HEDDLE_C_TUNED_H_
#define HEDDLE_C_TUNED_H_

#include <stddef.h>

#include "heddle/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A set of tables, one for each GPU: those of `base` (null: none), and over them the JSON texts
 * of `tables` in their order. A text replaces what was said before of the same shape and range of
 * M. HEDDLE_ERROR_SPEC for a text that is no table; its problems name it as "tables[2]". */
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

/* Tables ascend by GPU. */
HEDDLE_EXPORT heddle_status heddle_tuned_tables_count(const heddle_tuned_tables* set,
                                                      size_t* count);
/* All that a table says, as its file has it: the GPU ("gpu": the tuned_gpu of targets that use the
 * table), an entry for each format, shape and range of M, and measured costs. Tables that say the
 * same have the same text, and heddle_tuned_tables_create() reads it. */
HEDDLE_EXPORT heddle_status heddle_tuned_tables_json(const heddle_tuned_tables* set, size_t table,
                                                     heddle_text* json);

/* {"families": [{"name", "version", "cost_version"}]}: the families that have kernels for gemms,
 * the version of their kernels and that of their cost parameters (0: none). Entries and costs of
 * other versions are not used. The text belongs to the library. */
HEDDLE_EXPORT heddle_status heddle_tuned_families(heddle_text* json);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_TUNED_H_ */
