// A small decoder-only model in FP32 on the CPU: what examples/decoder is compared with.
//
// Plain loops over plain weights: no cache that is quantised, no chunks, no batch. Nothing of
// Heddle is used.
#ifndef HEDDLE_TESTS_DECODER_REFERENCE_H_
#define HEDDLE_TESTS_DECODER_REFERENCE_H_

#include <cstddef>
#include <vector>

namespace heddle {

// [rows][columns], row-major.
struct ReferenceMatrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<float> values;
};

struct ReferenceLayer {
  ReferenceMatrix q, k, v, o, gate, up, down;
  std::vector<float> input_norm, middle_norm;  // [hidden]
  std::vector<float> q_norm, k_norm;           // [head_dim]; empty: heads are not normalised
};

struct ReferenceModel {
  std::size_t heads = 0;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  float epsilon = 0;
  std::vector<double> frequencies;  // [head_dim / 2], radians a position
  ReferenceMatrix embeddings;       // [vocabulary][hidden]
  std::vector<ReferenceLayer> layers;
  std::vector<float> final_norm;
  ReferenceMatrix head;  // [vocabulary][hidden]
};

// One sequence: its tokens one by one.
class ReferenceDecoder {
 public:
  explicit ReferenceDecoder(const ReferenceModel& model);

  // The logits behind the next token, [vocabulary].
  std::vector<float> step(int token);

 private:
  // Keys and values of a layer, [tokens][kv_heads][head_dim].
  struct Cache {
    std::vector<float> k, v;
  };
  std::vector<float> attend(const ReferenceLayer& layer, const std::vector<float>& h, Cache& cache);

  const ReferenceModel& model_;
  std::vector<Cache> caches_;
  std::size_t position_ = 0;
};

// base^(-2i / dim), changed as Llama 3.1's config asks for it; a factor of 0: not.
struct Llama3Scaling {
  double factor = 0;
  double low_freq_factor = 0;
  double high_freq_factor = 0;
  double original_positions = 0;
};
std::vector<double> rope_frequencies(double base, std::size_t dim, const Llama3Scaling& scaling);

}  // namespace heddle

#endif  // HEDDLE_TESTS_DECODER_REFERENCE_H_
