/* From a spec to the cubins of its kernels, for a GPU that need not be there. Only builds touch the
 * disk, and only heddle_target_of_device() needs a GPU. */
#pragma once

#include "heddle/c/base.h"

HEDDLE_C_BEGIN

/* ---- Specs ---- */

/* The JSON Schema (draft 2020-12) of a spec. The text belongs to the library. */
HEDDLE_CALL heddle_spec_schema(heddle_text* schema);

/* Reads a spec and keeps what it means. All that is wrong with it is HEDDLE_ERROR_SPEC at once,
 * with a problem for each. */
HEDDLE_CALL heddle_spec_create(const char* text, size_t length, heddle_spec** spec);
HEDDLE_EXPORT void heddle_spec_destroy(heddle_spec* spec);

typedef struct heddle_spec_info {
  size_t struct_size;
  heddle_text name; /* the optional label; may be empty */
  heddle_text op;   /* "gemm" */
  /* One line of JSON with every default written out and without the label: equal for two specs
   * exactly if they mean the same. */
  heddle_text canonical;
  heddle_text output_dtype;   /* of Y, of W that is written, or of attention's output; empty for an
                                 operation that writes packed weights or a cache */
  heddle_text multiply_dtype; /* of a gemm: what the matrix instruction multiplies; else empty */
  int64_t n;                  /* of W; n and k are 0 without weights */
  int64_t k;
  int64_t m_min; /* rows that a launch may have, both inclusive; 0 where it has none */
  int64_t m_max;
  int64_t output_columns; /* of Y; else 0 */
  int32_t gated;          /* 1: packed weights have the row order of a gated epilogue */
  int32_t kv_heads;       /* of a cache; 0 without one */
  int32_t head_dim;
  int32_t reserved; /* 0 */
} heddle_spec_info;
HEDDLE_CALL heddle_spec_get(const heddle_spec* spec, heddle_spec_info* info);

/* ---- Targets ---- */

/* The known target with this name, "h200" or "sm_90"; else "target.unknown", which lists them. */
HEDDLE_CALL heddle_target_create(const char* name, size_t length, heddle_target** target);
HEDDLE_EXPORT void heddle_target_destroy(heddle_target* target);

/* known_targets(), by number. */
HEDDLE_CALL heddle_target_count(size_t* count);
HEDDLE_CALL heddle_target_known(size_t index, heddle_target** target);

/* The current context's device or, without a context, device `ordinal`. Needs a GPU. */
HEDDLE_CALL heddle_target_of_device(heddle_runtime* runtime, int32_t ordinal,
                                    heddle_target** target);

typedef struct heddle_target_info {
  size_t struct_size;
  heddle_text name;
  heddle_text compiler_arch; /* what NVRTC is given: "sm_80", "sm_90a" */
  heddle_text tuned_gpu;     /* the name that tuned tables have for it */
  int32_t major;             /* compute capability */
  int32_t minor;
  int32_t sm_count;
  int32_t shared_per_block; /* bytes, the opt-in limit of one block */
  int32_t shared_per_sm;    /* bytes */
  int32_t registers_per_sm; /* 32-bit registers */
  int32_t threads_per_sm;
  int32_t reserved; /* 0 */
  int64_t l2_bytes;
  double memory_gb_per_s; /* data sheet */
  double sm_mhz;          /* boost clock */
  double tensor_tflops;   /* the best that was measured of a dense 16-bit GEMM; 0: not known */
  double launch_us;       /* of a launch in a graph, beside the time of its bytes; 0: not known */
} heddle_target_info;
HEDDLE_CALL heddle_target_get(const heddle_target* target, heddle_target_info* info);

/* A GPU that has no name here. Reads all fields but compiler_arch and tuned_gpu, which follow from
 * the others. Facts that no GPU has are HEDDLE_ERROR_USAGE, "target.invalid". */
HEDDLE_CALL heddle_target_create_from_info(const heddle_target_info* info, heddle_target** target);

/* ---- Tuned tables (docs/planner.md) ---- */

/* A set of tables, one for each GPU: those of `base` (null: none), and over them the JSON texts
 * of `tables` in their order. A text replaces what was said before of the same shape and range of
 * M. HEDDLE_ERROR_SPEC for a text that is no table; its problems name it as "tables[2]". */
HEDDLE_CALL heddle_tuned_tables_create(const heddle_tuned_tables* base, const heddle_text* tables,
                                       size_t table_count, heddle_tuned_tables** set);
HEDDLE_EXPORT void heddle_tuned_tables_destroy(heddle_tuned_tables* set);

/* Those that come with this version of Heddle. */
HEDDLE_CALL heddle_tuned_tables_shipped(heddle_tuned_tables** set);
/* Those that the runtime plans with: heddle_runtime_set_tuned_tables(). Reads their files. */
HEDDLE_CALL heddle_tuned_tables_of_runtime(heddle_runtime* runtime, heddle_tuned_tables** set);

/* Tables ascend by GPU. */
HEDDLE_CALL heddle_tuned_tables_count(const heddle_tuned_tables* set, size_t* count);
/* All that a table says, as its file has it: the GPU ("gpu": the tuned_gpu of targets that use the
 * table), an entry for each format, shape and range of M, and measured costs. Tables that say the
 * same have the same text, and heddle_tuned_tables_create() reads it. */
HEDDLE_CALL heddle_tuned_tables_json(const heddle_tuned_tables* set, size_t table,
                                     heddle_text* json);

/* {"families": [{"name", "version", "cost_version"}]}: the families that have kernels for gemms,
 * the version of their kernels and that of their cost parameters (0: none). Entries and costs of
 * other versions are not used. The text belongs to the library. */
HEDDLE_CALL heddle_tuned_families(heddle_text* json);

/* ---- Plans ---- */

/* Every decision for a spec on a target. `tables` may be null: those that come with Heddle. A spec
 * that the target cannot serve is HEDDLE_ERROR_UNSUPPORTED, with every reason. */
HEDDLE_CALL heddle_plan_create(const heddle_target* target, const heddle_tuned_tables* tables,
                               const char* spec, size_t spec_length, heddle_plan** plan);
HEDDLE_EXPORT void heddle_plan_destroy(heddle_plan* plan);
/* What a loaded kernel was made by. */
HEDDLE_CALL heddle_plan_of_kernel(const heddle_kernel* kernel, heddle_plan** plan);

typedef struct heddle_plan_info {
  size_t struct_size;
  heddle_text spec;           /* canonical JSON */
  heddle_text target;         /* its name */
  size_t kernel_count;        /* those of all sizes, and those that run before each of them */
  size_t max_workspace_bytes; /* the most of any launch */
  size_t packed_bytes;        /* of packed weights W; 0 for an operation without, and
                                 for a moe: heddle_moe_gemms() */
} heddle_plan_info;
HEDDLE_CALL heddle_plan_get(const heddle_plan* plan, heddle_plan_info* info);

/* The plan as one JSON object, a stable format: "spec", the "target" with all its facts, the
 * "kernels", the "reasons" of decisions and, for operations that have them, "layout" (where
 * everything lies in packed weights, docs/layouts.md), "decode" (decode plans: below)
 * and "cache" (heddle/c/weights.h). And in words, for people. */
HEDDLE_CALL heddle_plan_json(const heddle_plan* plan, heddle_text* json);
HEDDLE_CALL heddle_plan_description(const heddle_plan* plan, heddle_text* text);

typedef struct heddle_plan_kernel_info {
  size_t struct_size;
  heddle_text name;   /* of its entry point */
  heddle_text family; /* "stream" */
  int64_t size_min;   /* that it serves: M; of decode_attention the tokens of a sequence */
  int64_t size_max;
  int32_t threads;       /* of a thread block */
  int32_t shared_bytes;  /* dynamic */
  int32_t runs_before;   /* 1: runs before the kernel of every size, to prepare its input */
  int32_t starts_early;  /* 1: uses programmatic dependent launch */
  int32_t blocks_per_sm; /* what the register budget is set for */
  int32_t reserved;      /* 0 */
} heddle_plan_kernel_info;
HEDDLE_CALL heddle_plan_kernel(const heddle_plan* plan, size_t index,
                               heddle_plan_kernel_info* info);
/* The kernel that serves a size. */
HEDDLE_CALL heddle_plan_kernel_of_size(const heddle_plan* plan, int64_t size, size_t* index);
/* For a gemm and a moe, a launch with this m. */
HEDDLE_CALL heddle_plan_workspace_bytes(const heddle_plan* plan, int64_t m, size_t* bytes);

/* heddle_decode_plan_prove() for every decode plan of the plan; *codes_checked is 0 for an
 * operation that does not decode. */
HEDDLE_CALL heddle_plan_prove(const heddle_plan* plan, uint64_t* codes_checked);

/* The CUDA text of one kernel, byte for byte what the compiler gets. Texts belong to the plan. */
typedef struct heddle_plan_source_info {
  size_t struct_size;
  heddle_text kernel_name; /* the extern "C" entry point */
  heddle_text file_name;   /* names the content */
  heddle_text text;        /* includes nothing */
  heddle_text arch;        /* what NVRTC is given: "sm_90a" */
} heddle_plan_source_info;
HEDDLE_CALL heddle_plan_source(const heddle_plan* plan, size_t kernel,
                               heddle_plan_source_info* info);

/* ---- Decode plans (docs/decode-plans.md) ---- */

typedef struct heddle_decode_plan heddle_decode_plan; /* immutable */

/* `request`: a JSON object, as the member "request" of a decode plan has it. A member that is left
 * out has its default, written first here:
 *   "kind"        "integer", "float" or "table"
 *   "bits"        4; of a code
 *   "type"        "uint" or "int" (two's complement); of integers
 *   "zero_point"  "none" or "int"; of integers
 *   "dtype"       what codes become: "fp16", "bf16", "int8" or "fp8_e4m3"
 *   "order"       of codes in words: "fragment" (takes the fewest operations), "linear", "awq",
 *                 "even_odd", "trtllm", "permutation" or, to eight bits, "byte_fragment"
 *   "zero_order"  "rows" or "elements"; of words of integer zero points
 *   "exponent_bits", "mantissa_bits"  of floats: their sum is bits - 1
 *   "table"       of tables: the 16 numbers that the codes become
 *   "permutation" of that order: field i of a word is element permutation[i]
 *   "fold_power"  false; true leaves a multiplication by 2^result_exponent to the scale
 *   "fold_scale"  false; true multiplies by the scale while decoding; integers to bf16 or int8
 * HEDDLE_ERROR_SPEC for a text that is no request, with a problem for each member that is wrong;
 * HEDDLE_ERROR_UNSUPPORTED, "decode.unsupported", where there is no exact plan. */
HEDDLE_CALL heddle_decode_plan_create(const char* request, size_t request_length,
                                      heddle_decode_plan** plan);
HEDDLE_EXPORT void heddle_decode_plan_destroy(heddle_decode_plan* plan);

/* The plan as one JSON object: the request, every operation, "instructions_per_weight",
 * "result_exponent" (a weight is the result times 2^this) and, for each of the "elements" of a unit
 * of "words" words, where the bits of its code lie ("bit_of": [word, bit], the lowest first). */
HEDDLE_CALL heddle_decode_plan_json(const heddle_decode_plan* plan, heddle_text* json);

/* prove_decode_plan() of heddle/inspect/decode_plan.h. A plan that is wrong is
 * HEDDLE_ERROR_INTERNAL, "decode.mismatch", with the first wrong code in the message. */
HEDDLE_CALL heddle_decode_plan_prove(const heddle_decode_plan* plan, uint64_t* codes_checked);

/* Executes the plan on one unit: the bits of each element's 16-bit float, or its 8-bit code, in
 * the elements' order. Counts are those of the JSON ("words", "group_words", "elements"), else
 * "decode.words". `group_words` holds zero points, or scales that are folded in; null without. */
HEDDLE_CALL heddle_decode_plan_evaluate(const heddle_decode_plan* plan, const uint32_t* words,
                                        size_t word_count, const uint32_t* group_words,
                                        size_t group_word_count, uint16_t* values,
                                        size_t value_count);

/* {"requests": [{"name", "request", "instructions_per_weight"}]}: every kind of request that has a
 * plan. The text belongs to the library. */
HEDDLE_CALL heddle_decode_requests(heddle_text* json);

/* ---- Builds ---- */

/* Returns 0 to cancel. One call at a time, from any thread; the name lives for the call. */
typedef int32_t (*heddle_progress_callback)(void* user, const char* kernel_name, size_t done,
                                            size_t total);

/* Plans the specs with the runtime's tuned tables, compiles in parallel what its cache lacks, and
 * stores it there. `progress` may be null; once it returns 0 nothing more is begun:
 * HEDDLE_ERROR_CANCELLED. Specs that are not well formed, or else that cannot be served, fail the
 * call before anything is compiled, with the problems of all of them, which name their spec as
 * "specs[2]". In strict mode kernels that the cache lacks are HEDDLE_ERROR_MISSING. */
HEDDLE_CALL heddle_build_create(heddle_runtime* runtime, const heddle_target* target,
                                const heddle_text* specs, size_t spec_count,
                                heddle_progress_callback progress, void* user,
                                heddle_build** build);
/* As above, for plans that were made before. Where a build counts specs, it counts these plans. */
HEDDLE_CALL heddle_build_create_from_plans(heddle_runtime* runtime, const heddle_plan* const* plans,
                                           size_t plan_count, heddle_progress_callback progress,
                                           void* user, heddle_build** build);
HEDDLE_EXPORT void heddle_build_destroy(heddle_build* build);

/* Kernels, each once. */
HEDDLE_CALL heddle_build_count(const heddle_build* build, size_t* count);
typedef struct heddle_build_kernel_info {
  size_t struct_size;
  heddle_text kernel_name; /* the entry point in the cubin, not mangled */
  heddle_text key;         /* hex digest of source, target and compiler: its name in the cache */
  heddle_text arch;        /* "sm_90a" */
  heddle_text compiler;    /* what made it: NVRTC's version and build-ids */
  heddle_text ptx;         /* empty if it is of a bundle without texts or cannot be read */
  const void* cubin;       /* belongs to the build */
  size_t cubin_bytes;
  double ms;           /* wall time of this call for this kernel */
  double compile_ms;   /* of the compilation that made these bytes, also on a hit */
  int32_t hit;         /* 1: it was in the cache */
  int32_t stored;      /* 1: the next process will find it there */
  int32_t threads;     /* of a thread block */
  int32_t registers;   /* of a thread */
  int32_t spill_bytes; /* stores and loads of registers to local memory, of a thread */
  int32_t local_bytes; /* stack frame of a thread */
  int32_t static_shared_bytes;
  int32_t dynamic_shared_bytes; /* to be set as the function's attribute before it is launched */
} heddle_build_kernel_info;
HEDDLE_CALL heddle_build_kernel(const heddle_build* build, size_t index,
                                heddle_build_kernel_info* info);

/* The plan of spec number `spec`, and which kernel of the build is its plan's kernel number
 * `kernel`. */
HEDDLE_CALL heddle_plan_of_build(const heddle_build* build, size_t spec, heddle_plan** plan);
HEDDLE_CALL heddle_build_index(const heddle_build* build, size_t spec, size_t kernel,
                               size_t* index);

/* The compiler at hand as JSON: {"identity": NVRTC's version and build-ids, which the cache's keys
 * hold, "archs": [75, 80 ...] that it compiles for}. HEDDLE_ERROR_DRIVER, "nvrtc.missing", without
 * one. The text belongs to the runtime. */
HEDDLE_CALL heddle_runtime_compiler(heddle_runtime* runtime, heddle_text* json);

HEDDLE_C_END
