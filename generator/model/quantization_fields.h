// What the readers of the quantisation methods share.
#ifndef HEDDLE_GENERATOR_MODEL_QUANTIZATION_FIELDS_H_
#define HEDDLE_GENERATOR_MODEL_QUANTIZATION_FIELDS_H_

#include <string>
#include <string_view>

#include "generator/model/config_reader.h"
#include "generator/model/quantization.h"

namespace heddle {

// Throws Error(kUnsupported, "model.quantization").
[[noreturn]] void refuse_quantization(const ConfigReader& config, std::string_view key,
                                      std::string message, std::string value, std::string allowed);

std::string quoted(std::string_view text);
// -1, or 16 to 1048576.
int read_group_size(const ConfigReader& config, std::string_view key);
int read_bits(const ConfigReader& config, std::string_view key);

// The codes and scales of the float formats; group_size of FP8 is the caller's.
void set_fp8(int group_size, Quantization& result);  // FP32 scales
void set_mxfp8(Quantization& result);
void set_mxfp4(Quantization& result);
void set_nvfp4(Quantization& result);
// Of FP8, an array of rows and columns: the columns, or kPerTensor where the field is absent.
int read_block_columns(const ConfigReader& config, std::string_view key);

// Modules that the checkpoint keeps in 16 bits; the list of kernels does not shrink by them, since
// a name may stand for some layers only. lm_head is quantised unless one of them names it.
void note_exceptions(const ConfigReader& config, std::string_view key, Quantization& result);
// The scheme quantises activations, too.
void note_activations(Quantization& result);
void note_act_order(Quantization& result);

void read_compressed_tensors(const ConfigReader& config, Quantization& result);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_QUANTIZATION_FIELDS_H_
