// The format of a table's entry: what a spec says of its weights, the type of the activation, and,
// of eight bits, its scales and how products are added.
#ifndef HEDDLE_GENERATOR_TUNED_FORMAT_H_
#define HEDDLE_GENERATOR_TUNED_FORMAT_H_

#include <string>

#include "generator/spec/fields.h"
#include "heddle/spec.h"
#include "heddle/tuned.h"

namespace heddle {

// Those fields of a gemm that are a format.
const FieldTable& format_fields();

// Precondition, as of the next: all values are in their fields' ranges.
// {"weight":{"bits":4,...},"activation":{"dtype":"fp16"}}
std::string format_text(const GemmSpec& gemm);
// Whether the texts are equal. Interleaves are settled (generator/spec/byte_meaning.h).
bool same_format(const GemmSpec& a, const GemmSpec& b);

// What is left open of a gemm that has a format, N, K and M alone.
void settle_format(GemmSpec& gemm);

// Whether the entry is for the gemm's format, N and K, and its range meets the gemm's range of M.
bool serves(const TunedEntry& entry, const GemmSpec& gemm);

// A gemm of the entry's format, N, K and M, and the other way round: an entry without a kernel. The
// epilogue is none; where that of eight bits has to name a type of Y, it is FP16.
GemmSpec gemm_of(const TunedEntry& entry);
TunedEntry entry_of(const GemmSpec& gemm);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_TUNED_FORMAT_H_
