/* Decode plans: the operations that turn words of packed codes into 16-bit floats, derived for a
 * spec's weights or for codes of one's own, executed and proven on the host (docs/decode-plans.md).
 * Pure functions: no GPU, no CUDA and no disk is needed. */
#ifndef HEDDLE_C_DECODE_H_
#define HEDDLE_C_DECODE_H_

#include <stddef.h>
#include <stdint.h>

#include "heddle/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heddle_decode_plan heddle_decode_plan; /* immutable */

/* The codes, and what they become. A text that is empty has its default. What means nothing for
 * the kind is not read. */
typedef struct heddle_decode_request {
  size_t struct_size;
  heddle_text kind;       /* "integer" (the default), "float" or "table" */
  heddle_text type;       /* of integers: "uint" (the default) or "int", two's complement */
  heddle_text zero_point; /* "none" (the default) or, of integers, "int" */
  heddle_text dtype;      /* what they become: "fp16" (the default), "bf16", "int8" or "fp8_e4m3" */
  /* Of the codes in the words: "fragment" (the default: the order that takes the fewest
   * operations), "linear", "awq", "even_odd", "trtllm", "permutation" or, to eight bits,
   * "byte_fragment". */
  heddle_text order;
  heddle_text zero_order;     /* of integer zero points: "rows" (the default) or "elements" */
  const float* table;         /* of tables: what the codes 0 to 15 become */
  size_t table_count;         /* 16 */
  const int32_t* permutation; /* of that order: field i of a word is element permutation[i] */
  size_t permutation_count;
  int32_t bits;          /* of a code */
  int32_t exponent_bits; /* of floats: 1 + exponent_bits + mantissa_bits is `bits` */
  int32_t mantissa_bits;
  int32_t fold_power; /* not 0: a multiplication by 2^result_exponent is left to the scale */
  int32_t fold_scale; /* not 0: decoding multiplies by the scale; integers to bf16 or int8 */
  int32_t reserved;   /* 0 */
} heddle_decode_request;

/* Sets `struct_size` and every default: unsigned integers of 4 bits to FP16. */
HEDDLE_EXPORT heddle_status heddle_decode_request_init(heddle_decode_request* request,
                                                       size_t struct_size);

/* HEDDLE_ERROR_UNSUPPORTED, "decode.unsupported", where there is no exact plan; a word that is none
 * of those above is HEDDLE_ERROR_USAGE, "decode.request". */
HEDDLE_EXPORT heddle_status heddle_decode_plan_create(const heddle_decode_request* request,
                                                      heddle_decode_plan** plan);
/* For the weights of a spec, to `dtype`, as in heddle_decode_request. */
HEDDLE_EXPORT heddle_status heddle_decode_plan_create_for_spec(const char* spec, size_t spec_length,
                                                               const char* dtype,
                                                               size_t dtype_length,
                                                               heddle_decode_plan** plan);
HEDDLE_EXPORT void heddle_decode_plan_destroy(heddle_decode_plan* plan);

/* Those that the kernels of a plan decode by, each once; none for an operation that does not
 * decode. */
HEDDLE_EXPORT heddle_status heddle_plan_decode_count(const heddle_plan* plan, size_t* count);
HEDDLE_EXPORT heddle_status heddle_decode_plan_of_plan(const heddle_plan* plan, size_t index,
                                                       heddle_decode_plan** decode);

/* What the plan was derived for. Texts and arrays belong to the plan. */
HEDDLE_EXPORT heddle_status heddle_decode_plan_request(const heddle_decode_plan* plan,
                                                       heddle_decode_request* request);

/* A unit is the smallest run of whole tiles, of 16 by 16 or to eight bits 16 by 32, that fills
 * whole words. */
typedef struct heddle_decode_plan_info {
  size_t struct_size;
  size_t words;       /* of a unit */
  size_t group_words; /* of zero points, or of scales, that decoding takes */
  size_t elements;    /* codes of a unit */
  size_t op_count;    /* for each unit */
  size_t group_op_count;
  double instructions_per_weight;
  int32_t result_exponent; /* a weight is the result times 2^this */
  int32_t reserved;        /* 0 */
} heddle_decode_plan_info;
HEDDLE_EXPORT heddle_status heddle_decode_plan_get(const heddle_decode_plan* plan,
                                                   heddle_decode_plan_info* info);

/* Every operation, and where each bit of each code lies, as one JSON object; and in words, a line
 * for each operation. */
HEDDLE_EXPORT heddle_status heddle_decode_plan_json(const heddle_decode_plan* plan,
                                                    heddle_text* json);
HEDDLE_EXPORT heddle_status heddle_decode_plan_description(const heddle_decode_plan* plan,
                                                           heddle_text* text);

/* Executes the plan for every code in every position among neighbours that could matter, and
 * compares with exact arithmetic. A plan that is wrong is HEDDLE_ERROR_INTERNAL, "decode.mismatch",
 * and the message has the first wrong code. */
HEDDLE_EXPORT heddle_status heddle_decode_plan_prove(const heddle_decode_plan* plan,
                                                     uint64_t* codes_checked);

/* Executes the plan: the bits of the 16-bit float of each element, in their order. The counts are
 * those of the info, else "decode.words". `group_words` may be null where there are none. */
HEDDLE_EXPORT heddle_status heddle_decode_plan_evaluate(const heddle_decode_plan* plan,
                                                        const uint32_t* words, size_t word_count,
                                                        const uint32_t* group_words,
                                                        size_t group_word_count, uint16_t* values,
                                                        size_t value_count);

/* The code of an element in the words of a unit, and its place filled with a code, of which there
 * are 2^bits ("decode.code"). */
HEDDLE_EXPORT heddle_status heddle_decode_plan_read_code(const heddle_decode_plan* plan,
                                                         const uint32_t* words, size_t word_count,
                                                         size_t element, uint32_t* code);
HEDDLE_EXPORT heddle_status heddle_decode_plan_write_code(const heddle_decode_plan* plan,
                                                          uint32_t* words, size_t word_count,
                                                          size_t element, uint32_t code);

/* What a code has to become, by exact arithmetic and one rounding: its value less that of `zero`,
 * times `scale`, divided by 2^exponent. No operation of the plan is asked. `zero` is a code; it
 * means nothing without integer zero points. "decode.exponent" beyond -1100 to 1100,
 * "decode.scale" for one that is not finite. */
HEDDLE_EXPORT heddle_status heddle_decode_plan_reference(const heddle_decode_plan* plan,
                                                         uint32_t code, uint32_t zero,
                                                         int32_t exponent, double scale,
                                                         uint16_t* value);

/* Every kind of request that has a plan, by number, with its name; and the operations that each
 * source takes for a weight, as a table in Markdown. What they give belongs to the library. */
HEDDLE_EXPORT heddle_status heddle_decode_request_count(size_t* count);
HEDDLE_EXPORT heddle_status heddle_decode_request_known(size_t index, heddle_text* name,
                                                        heddle_decode_request* request);
HEDDLE_EXPORT heddle_status heddle_decode_cost_table(heddle_text* table);

/* The sixteen values of nf4, as heddle_decode_request::table takes them. */
HEDDLE_EXPORT heddle_status heddle_nf4_values(const float** values, size_t* count);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_DECODE_H_ */
