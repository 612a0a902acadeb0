// Checkpoints with layers of 16 bits that no quantiser touched.
#ifndef HEDDLE_TESTS_CHECKPOINT_PLAIN_CASES_H_
#define HEDDLE_TESTS_CHECKPOINT_PLAIN_CASES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "heddle/checkpoint.h"
#include "heddle/weights.h"
#include "tests/checkpoint/reader_cases.h"

namespace heddle {

class PlainCase : public ::testing::Test {
 protected:
  static constexpr const char* kLayer = "model.layers.0.";

  // Bytes of every kind, NaNs among them: what is packed are bits, not values.
  TestTensor matrix(const std::string& module, std::int64_t n, std::int64_t k,
                    TensorType type = TensorType::kBf16) {
    std::mt19937 random(static_cast<unsigned>(tensors_.size() + 1));
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n * k * bytes_of(type)));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    return {module + ".weight", type, {n, k}, std::move(bytes)};
  }
  const std::vector<std::uint8_t>& add(const std::string& module, std::int64_t n, std::int64_t k,
                                       TensorType type = TensorType::kBf16) {
    tensors_.push_back(matrix(module, n, k, type));
    return tensors_.back().bytes;
  }
  // A decoder layer without down_proj, and all that is around it. With an inner_ of 80 the
  // gates and ups are five panels.
  void add_model(TensorType type = TensorType::kBf16) {
    const std::string at = kLayer;
    q_ = add(at + "self_attn.q_proj", 64, 64, type);
    k_ = add(at + "self_attn.k_proj", 32, 64, type);
    v_ = add(at + "self_attn.v_proj", 32, 64, type);
    o_ = add(at + "self_attn.o_proj", 64, 64, type);
    gate_ = add(at + "mlp.gate_proj", inner_, 64, type);
    up_ = add(at + "mlp.up_proj", inner_, 64, type);
    head_ = add("lm_head", 96, 64, type);
    embeddings_ = add("model.embed_tokens", 96, 64, type);
    tensors_.push_back(some_halves("model.norm.weight", {64}));
  }
  void add_quantized(const std::string& module, std::size_t n, std::size_t k) {
    append(gptq(random_layer(n, k, 32, 4, false), module, true), &tensors_);
  }

  // `more`: members of the config.
  void write(const std::string& more = "", const std::string& type = "llama",
             const std::string& dtype = "bfloat16") {
    config_ = R"({"model_type": ")" + type + R"(", "torch_dtype": ")" + dtype + R"(",
                  "hidden_size": )" +
              std::to_string(hidden_) + R"(, "intermediate_size": )" + std::to_string(inner_) +
              R"(, "num_hidden_layers": 1,
                  "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": )" +
              std::to_string(vocabulary_) + R"(,
                  "rms_norm_eps": 1e-5)" +
              more + "}";
    write_case({"", config_, tensors_}, folder_);
  }
  CheckpointReader open(const CheckpointOptions& options) const {
    return CheckpointReader(folder_.path(), options);
  }
  static CheckpointOptions dense() {
    CheckpointOptions options;
    options.dense = true;
    return options;
  }
  // The message of an error, with its code before it.
  template <class Work>
  static std::string refusal(const Work& work) {
    try {
      work();
    } catch (const Error& error) {
      return error.code() + ": " + error.what();
    }
    return "nothing was refused";
  }

  static const CheckpointLayer& layer_of(const CheckpointReader& reader, const std::string& name) {
    const auto found =
        std::find_if(reader.layers().begin(), reader.layers().end(),
                     [&](const CheckpointLayer& layer) { return layer.name == name; });
    if (found == reader.layers().end()) throw std::out_of_range("no layer " + name);
    return *found;
  }
  static std::vector<std::string> names_of(const CheckpointReader& reader) {
    std::vector<std::string> names;
    for (const CheckpointLayer& layer : reader.layers()) names.push_back(layer.name);
    return names;
  }
  static bool has_tensor(const CheckpointReader& reader, const std::string& name) {
    return std::any_of(reader.tensors().begin(), reader.tensors().end(),
                       [&](const CheckpointTensor& tensor) { return tensor.name == name; });
  }
  static std::vector<std::uint8_t> packed(const CheckpointReader& reader,
                                          const CheckpointLayer& layer) {
    std::vector<std::uint8_t> bytes(layer.packed.bytes, 0xA5);
    reader.pack(layer, bytes.data(), bytes.size());
    EXPECT_EQ(read_in_pieces(reader, layer.packed), bytes) << layer.name;
    return bytes;
  }
  // The layer's bytes are pack_weights() of these rows.
  static void expect_rows(const CheckpointReader& reader, const std::string& name,
                          std::vector<std::uint8_t> rows) {
    const CheckpointLayer& layer = layer_of(reader, name);
    EXPECT_FALSE(layer.spec.weight().has_scales());
    QuantizedWeights weights;
    weights.codes = std::move(rows);
    EXPECT_EQ(packed(reader, layer), pack_weights(layer.spec.gemm(), weights)) << name;
  }

  TemporaryFolder folder_;
  std::vector<TestTensor> tensors_;
  std::string config_;
  std::vector<std::uint8_t> q_, k_, v_, o_, gate_, up_, head_, embeddings_;
  std::int64_t hidden_ = 64;
  std::int64_t vocabulary_ = 96;
  std::int64_t inner_ = 80;
};

inline std::vector<std::uint8_t> operator+(std::vector<std::uint8_t> a,
                                           const std::vector<std::uint8_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_CHECKPOINT_PLAIN_CASES_H_
