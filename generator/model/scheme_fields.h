// What the readers of several quantisation methods read alike: single fields, and the schemes of
// the float formats.
#ifndef HEDDLE_GENERATOR_MODEL_SCHEME_FIELDS_H_
#define HEDDLE_GENERATOR_MODEL_SCHEME_FIELDS_H_

#include <optional>
#include <string>
#include <string_view>

#include "generator/model/config_reader.h"
#include "generator/model/quantization.h"

namespace heddle {

// -1 or 1 to 1048576; nothing where the field is absent.
std::optional<int> read_group_size(const ConfigReader& config, std::string_view key);
inline constexpr std::int64_t kMostBits = 8;
// 1 to kMostBits.
int read_bits(const ConfigReader& config, std::string_view key);
// "e4m3", "float8_e4m3fn" ...; refuses what is none of the two FP8 types.
WeightType read_fp8_format(const ConfigReader& config, std::string_view key);
// An array of rows and columns into block_rows and group_size, as they are where it is absent.
void read_block(const ConfigReader& config, std::string_view key, Scheme& scheme);

Scheme fp8_scheme(int group_size);  // FP32 scales

// Activations whose scales are found at run time, one for each row.
ActivationScheme token_activations(DType dtype);
// One scale, which the checkpoint has.
ActivationScheme static_activations(DType dtype);
// As above, one for each row and kRowGroup columns.
ActivationScheme group_activations(DType dtype, RowScaleDtype scale_dtype = RowScaleDtype::kFp32);
// Those that no kernel takes: "activations of 4 bits".
ActivationScheme unserved_activations(std::string what);
Scheme mxfp8_scheme();
Scheme mxfp4_scheme();
Scheme nvfp4_scheme();

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_SCHEME_FIELDS_H_
