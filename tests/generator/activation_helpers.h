// Models whose activations a config quantises, and what is made of them.
#ifndef HEDDLE_TESTS_GENERATOR_ACTIVATION_HELPERS_H_
#define HEDDLE_TESTS_GENERATOR_ACTIVATION_HELPERS_H_

#include <algorithm>
#include <string>
#include <vector>

#include "tests/generator/model/model_helpers.h"

namespace heddle {

inline Model model_of(const Json& config, int arch = 0, int activation_bits = 0, bool gated = false,
                      bool dense = false) {
  const std::string text = config.dump();
  ModelConfigTexts texts;
  texts.config = text;
  texts.arch = arch;
  texts.activation_bits = activation_bits;
  texts.gated = gated;
  texts.dense = dense;
  return model_from_config(texts);
}

inline Json w8a8() { return Json::parse(example("llama-3-8b-w8a8")); }
inline Json fp8() { return Json::parse(example("llama-3-8b-fp8")); }

inline Json& group_of(Json& config) {
  return config["quantization_config"]["config_groups"]["group_0"];
}

inline Json with_quantization(const Json& quantization) {
  Json config = llama();
  config["quantization_config"] = quantization;
  return config;
}

inline const GemmSpec& first_gemm(const Model& model) { return model.kernels.at(0).spec.gemm(); }

inline bool has_bytes(const Model& model) {
  return std::any_of(model.kernels.begin(), model.kernels.end(), [](const ModelKernel& kernel) {
    return kernel.spec.gemm().has_byte_activations();
  });
}

inline std::string notes_of(const Model& model) {
  std::string text;
  for (const std::string& note : model.notes) text += note + '\n';
  return text;
}

inline void expect_sixteen(const Json& config, const std::string& reason) {
  const Model model = model_of(config, 90);
  EXPECT_FALSE(has_bytes(model)) << config["quantization_config"];
  EXPECT_NE(notes_of(model).find("in 16 bits"), std::string::npos) << notes_of(model);
  EXPECT_NE(notes_of(model).find(reason), std::string::npos) << notes_of(model);
}

using Lines = std::vector<std::string>;

// "norm 4096 fp8_e4m3 token x 64": each row kernel as a line.
inline Lines rows_of(const Model& model) {
  Lines lines;
  for (const ModelKernel& kernel : model.rows) {
    const RowTransformSpec& spec = kernel.spec.row_transform();
    lines.push_back(kernel.spec.name() + ' ' + std::to_string(spec.shape.columns) + ' ' +
                    std::string(to_string(spec.output.dtype)) + ' ' +
                    std::string(to_string(spec.output.granularity)) + ' ' +
                    (spec.output.symmetric ? "" : "zeros ") + "x " + std::to_string(kernel.layers));
  }
  return lines;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GENERATOR_ACTIVATION_HELPERS_H_
