// Finds where a model's quantisation is written, which method it is, and reads it.
#ifndef HEDDLE_GENERATOR_MODEL_READ_QUANTIZATION_H_
#define HEDDLE_GENERATOR_MODEL_READ_QUANTIZATION_H_

#include "generator/model/config_reader.h"
#include "generator/model/quantization.h"

namespace heddle {

// Throws Error(kUnsupported, "model.quantization") for a quantisation that Heddle does not read,
// with what would be needed, and for documents that contradict each other. Adds findings for
// malformed fields; the result is good only if there are none.
Quantization read_quantization(const QuantizationSources& sources, Findings& findings);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_READ_QUANTIZATION_H_
