// ModelBuilder: a model's layers as they are found, and the kernels that serve them.
#ifndef HEDDLE_GENERATOR_MODEL_MODEL_BUILDER_H_
#define HEDDLE_GENERATOR_MODEL_MODEL_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generator/model/decoder.h"
#include "generator/model/gate.h"
#include "generator/model/quantization.h"
#include "heddle/model.h"

namespace heddle {

// Several layers that need the same kernel count on one.
class ModelBuilder {
 public:
  // All but `texts`, which says what the user wants, outlive the builder.
  ModelBuilder(DType dtype, const Decoder& decoder, const Quantization& quantization,
               const ModelConfigTexts& texts, Model* model)
      : dtype_(dtype),
        decoder_(decoder),
        quantization_(quantization),
        gated_(texts.gated),
        dense_(texts.dense),
        lm_head_bits_(texts.lm_head_bits),
        model_(*model) {}

  void add_decoder_layers();
  // lm_head, and what else is in no decoder layer.
  void add_others();
  // Notes of what is not quantised and what was assumed.
  void finish();

 private:
  using Schemes = std::vector<const Scheme*>;  // of the parts of a layer

  void add(const ModelLayer& layer, Module module, const std::string& prefix);
  // One layer for each product of the block's experts: the kernel takes both.
  void add_experts(const DecodedBlock& block);
  // `schemes`: of the modules in the order of the layers' parts, null where one has 16 bits.
  void add_experts(const ModelExperts& experts, std::vector<ModelLayer> layers, MoeSpec spec,
                   const std::string& why, const Schemes& schemes);
  // Gives the spec the weights of the layer's product, or says why it cannot have them.
  std::string set_expert_weight(const ModelLayer& layer, const Schemes& schemes,
                                WeightSpec* weight);
  void add_parts(const ModelLayer& layer, Module module, const Schemes& schemes);
  void add_small(ModelLayer layer, const Scheme* scheme);
  void add_table();
  void add_head();
  void add_quantized_head(ModelLayer head, const Scheme* scheme);
  void add_plain(ModelLayer layer);
  void add_kernel(ModelLayer layer, const Scheme& scheme);
  // Also among Model::unserved: its weights are quantised, and no kernel takes them.
  void add_refused(ModelLayer layer, const Scheme& scheme, std::string reason);
  void note_once(std::string note);
  const Scheme* scheme_of_embeddings() const;
  void add_unserved(ModelLayer layer, const Scheme* scheme, std::string reason);
  void merge_layers();
  std::size_t stored_bytes(const ModelLayer& layer, const Scheme* scheme) const;
  int kernel_of(const ModelLayer& layer, const Scheme& scheme);
  EpilogueSpec epilogue_of(const ModelLayer& layer);
  int kernel_of(const ModelLayer& layer, const WeightSpec& weight);
  int kernel_with(const ModelLayer& layer, GemmSpec gemm, const Scheme* scheme);
  // The index of the kernel with these specs, which so many layers more have.
  int count_kernel(ModelKernel counted);
  void assume(const Scheme& scheme, bool bias);

  DType dtype_;
  const Decoder& decoder_;
  const Quantization& quantization_;
  const bool gated_;
  const bool dense_;
  const int lm_head_bits_;
  Model& model_;
  std::map<std::string, int> left_out_;  // module to the number of layers that leave it in 16 bits
  std::map<std::string, int> small_;     // the same of modules that are taken to be so
  UngatedLayers ungated_;
  bool assumed_scales_ = false;
  bool assumed_fp32_ = false;
  bool assumed_order_ = false;
  bool assumed_zeros_ = false;
  bool assumed_bias_ = false;
};

// What ModelLayer::weights says of a layer that is not quantised.
extern const char* const kPlainWeights;
// Why such a layer has no kernel.
extern const char* const kNoPlainKernel;

// "uint4, groups of 128", "e4m3, blocks of 128 x 128".
std::string weights_text(const Scheme& scheme);
// Why no kernel takes such weights with so many columns; empty where one may.
std::string why_unread(const Scheme& scheme, std::int64_t k);
// As weights_text(scheme), of a spec's weights; kPlainWeights for those that are not quantised.
std::string weights_text(const WeightSpec& weight);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_MODEL_BUILDER_H_
