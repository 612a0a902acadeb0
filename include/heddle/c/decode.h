/* Decode plans: the operations that turn words of packed codes into 16-bit floats, or codes of 8
 * bits (docs/decode-plans.md). The plans that a spec's kernels use are members of
 * heddle_plan_json(). These functions need no GPU, CUDA or disk. */
#ifndef HEDDLE_C_DECODE_H_
#define HEDDLE_C_DECODE_H_

#include <stddef.h>
#include <stdint.h>

#include "heddle/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

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
HEDDLE_EXPORT heddle_status heddle_decode_plan_create(const char* request, size_t request_length,
                                                      heddle_decode_plan** plan);
HEDDLE_EXPORT void heddle_decode_plan_destroy(heddle_decode_plan* plan);

/* The plan as one JSON object: the request, every operation, "instructions_per_weight",
 * "result_exponent" (a weight is the result times 2^this) and, for each of the "elements" of a unit
 * of "words" words, where each bit of its code lies ("bit_of": [word, bit], the lowest bit first).
 */
HEDDLE_EXPORT heddle_status heddle_decode_plan_json(const heddle_decode_plan* plan,
                                                    heddle_text* json);

/* Executes the plan for every code in every position, among neighbours that could matter, and
 * compares with exact arithmetic. A plan that is wrong is HEDDLE_ERROR_INTERNAL, "decode.mismatch",
 * with the first wrong code in the message. */
HEDDLE_EXPORT heddle_status heddle_decode_plan_prove(const heddle_decode_plan* plan,
                                                     uint64_t* codes_checked);

/* Executes the plan on one unit: the bits of each element's 16-bit float, or its 8-bit code, in
 * the elements' order. Counts are those of the JSON ("words", "group_words", "elements"), else
 * "decode.words". `group_words` holds zero points, or scales that are folded in; null without. */
HEDDLE_EXPORT heddle_status heddle_decode_plan_evaluate(const heddle_decode_plan* plan,
                                                        const uint32_t* words, size_t word_count,
                                                        const uint32_t* group_words,
                                                        size_t group_word_count, uint16_t* values,
                                                        size_t value_count);

/* {"requests": [{"name", "request", "instructions_per_weight"}]}: every kind of request that has a
 * plan. The text belongs to the library. */
HEDDLE_EXPORT heddle_status heddle_decode_requests(heddle_text* json);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_DECODE_H_ */
