// A small model with random weights, as Hugging Face lays one out: config.json and
// model.safetensors, in one of the formats that checkpoints of large models have.
//
// Its answers mean nothing; everything that loads, packs, compiles for and decodes a model runs on
// it. Products of its matrices keep the size of what they multiply, so that no value overflows.
#ifndef HEDDLE_TOOLS_SAMPLE_MODEL_SAMPLE_MODEL_H_
#define HEDDLE_TOOLS_SAMPLE_MODEL_SAMPLE_MODEL_H_

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/sample_model/eight_bits.h"
#include "tools/sample_model/sample_matrix.h"
#include "tools/sample_model/tensor_file.h"

namespace heddle {

// kGptqActOrder: columns are permuted. kEightBits: as SampleOptions::eight_bits says. kMxfp4: of
// gpt-oss, whose experts alone are quantised.
enum class SampleMethod { kAwq, kGptq, kGptqActOrder, kEightBits, kMxfp4 };
// kLlama and kQwen3 have Mixtral's experts and Qwen 3's with SampleOptions::experts.
enum class SampleFamily { kLlama, kQwen3, kGptOss };
// For lm_head: 16 bits of its own, those of the embeddings, or as the other matrices.
enum class SampleHead { kPlain, kTied, kQuantised };

struct SampleSizes {
  std::size_t hidden = 256;
  std::size_t inner = 512;
  std::size_t heads = 4;
  std::size_t kv_heads = 2;
  std::size_t head_dim = 64;
  std::size_t layers = 2;
  std::size_t vocabulary = 512;
  std::size_t positions = 2048;
  std::size_t group = 128;  // columns that share a scale, with AWQ and GPTQ
};

struct SampleOptions {
  SampleSizes sizes;
  SampleMethod method = SampleMethod::kAwq;
  EightBits eight_bits = EightBits::kInt8;
  SampleHead head = SampleHead::kPlain;
  SampleFamily family = SampleFamily::kLlama;
  std::size_t experts = 0;     // of a layer, of which a token takes two; 0: it has none
  bool bf16 = false;           // what is not quantised; else FP16
  bool experts_alone = false;  // have permuted columns, with kGptqActOrder
  bool scales_bf16 = false;    // of INT8 weights, as compressed-tensors writes them; else FP32
  unsigned seed = 1;
  bool keep_values = false;  // fills SampleWeights::values
};

struct SampleWeights {
  std::vector<SampleTensor> tensors;
  // What they stand for, with SampleOptions::keep_values: of a matrix by its module,
  // "model.layers.0.self_attn.q_proj", of another tensor by its name, "model.norm.weight".
  std::map<std::string, SampleMatrix> values;
};

// With one standard library the same options give the same bytes: its distributions are its own.
SampleWeights sample_weights(const SampleOptions& options);
nlohmann::ordered_json sample_config(const SampleOptions& options);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_SAMPLE_MODEL_SAMPLE_MODEL_H_
