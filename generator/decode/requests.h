// Requests for decode plans, and single codes of a unit: what the library and its tests need beside
// the plans themselves.
#ifndef HEDDLE_GENERATOR_DECODE_REQUESTS_H_
#define HEDDLE_GENERATOR_DECODE_REQUESTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "generator/decode/decode_plan.h"

namespace heddle {

// What kernels ask for, without scales but the integers of two levels; throws Error(kUnsupported)
// for the order swizzle_128b, which none decodes. `dtype`: of the activations; by those in FP8
// codes are multiplied as e4m3.
DecodeRequest decode_request(const WeightSpec& weight, DType dtype);
// FP8, FP6 and FP4, or `dtype` itself: 1 + exponent_bits + mantissa_bits bits.
DecodeRequest float_request(int exponent_bits, int mantissa_bits, DType dtype);
// The sixteen values of NF4.
const std::vector<float>& nf4_values();
DecodeRequest table_request(const std::vector<float>& table, DType dtype);

// Every kind of request that has a plan, with its name: each width and type of integer with and
// without zero points, each float format, the table, each order of elements, 16 bits as they are,
// to FP16 and BF16; integers of 4 bits to INT8, also times integer scales, and FP8.
struct NamedDecodeRequest {
  std::string name;
  DecodeRequest request;
};
std::vector<NamedDecodeRequest> every_decode_request();

// The table of docs/decode-plans.md: operations per weight for every source, in Markdown.
std::string decode_cost_table();

// Executes the plan on the host with bit-exact binary16 or bfloat16 arithmetic. `zero_fields` holds
// the zero point of row g in its lowest `bits` bits and that of row g + 8 in the next ones. Element
// e of the result has the bits of the 16-bit float, or of the code of eight bits. Precondition: the
// plan has one word.
std::vector<std::uint16_t> evaluate_decode_plan(const DecodePlan& plan, std::uint32_t word,
                                                std::uint16_t zero_fields);

// The code of an element in the packed words, and its place filled with a code.
unsigned read_code(const DecodePlan& plan, const std::vector<std::uint32_t>& words, int element);
void write_code(const DecodePlan& plan, int element, unsigned code,
                std::vector<std::uint32_t>& words);

// What a code has to become, by exact arithmetic and one rounding; no plan is asked. Infinities and
// NaN of a float code stay what they are where the destination has as many exponent bits (e5m2 to
// FP16); elsewhere such a code counts as the ordinary number that its bits would spell (e4m3 0x7f:
// 480). `zero` is the code of the zero point; it means nothing without integer zero points. The
// value is multiplied by `scale` and divided by 2^exponent before it is rounded. To eight bits it
// has to be exact: precondition.
std::uint16_t reference_decode(const DecodeRequest& request, unsigned code, unsigned zero,
                               int exponent = 0, double scale = 1);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_REQUESTS_H_
