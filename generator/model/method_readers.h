// The readers of the quantisation methods: each fills a builder from a method's own fields.
#ifndef HEDDLE_GENERATOR_MODEL_METHOD_READERS_H_
#define HEDDLE_GENERATOR_MODEL_METHOD_READERS_H_

#include "generator/model/config_reader.h"
#include "generator/model/quantization_builder.h"

namespace heddle {

// One reader for each "quant_method".
void read_awq(const ConfigReader& config, QuantizationBuilder& builder);
void read_gptq(const ConfigReader& config, QuantizationBuilder& builder);
void read_auto_round(const ConfigReader& config, QuantizationBuilder& builder);
void read_compressed_tensors(const ConfigReader& config, QuantizationBuilder& builder);
void read_fp8(const ConfigReader& config, QuantizationBuilder& builder);
void read_fbgemm_fp8(const ConfigReader& config, QuantizationBuilder& builder);
void read_mxfp4(const ConfigReader& config, QuantizationBuilder& builder);
void read_modelopt(const ConfigReader& config, QuantizationBuilder& builder);
void read_quark(const ConfigReader& config, QuantizationBuilder& builder);

// Model Optimizer's "quantized_layers" and the algorithm of one entry.
void read_quantized_layers(const ConfigReader& config, QuantizationBuilder& builder);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_METHOD_READERS_H_
