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

// A matrix and what is added to its products; empty: nothing.
struct ReferenceLinear : ReferenceMatrix {
  std::vector<float> bias;
};

// down(activation(gate, up)).
struct ReferenceFeedForward {
  ReferenceLinear gate, up, down;
};

struct ReferenceLayer {
  ReferenceLinear q, k, v, o;
  std::vector<float> input_norm, middle_norm;  // [hidden]
  std::vector<float> q_norm, k_norm;           // [head_dim]; empty: heads are not normalised
  std::vector<float> sinks;                    // [heads]; empty: there are none
  std::size_t window = 0;                      // tokens that one sees, itself included; 0: all
  std::vector<ReferenceFeedForward> experts;   // one without a router: a dense layer
  ReferenceLinear router;
};

struct ReferenceModel {
  std::size_t heads = 0;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  float epsilon = 0;
  std::vector<double> frequencies;  // [head_dim / 2], radians a position
  double rotation_scale = 1;        // of cosines and sines
  std::size_t experts_per_token = 0;
  bool weights_add_up = true;  // those of a token's experts are divided by their sum
  float clamp = 0;             // of gpt-oss's gates and ups; 0: silu(gate) * up
  ReferenceMatrix embeddings;  // [vocabulary][hidden]
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
  // How far a chosen expert's logit was ahead of the best one that was not chosen, at least,
  // relative to the root mean square of the router's logits.
  double least_lead() const { return least_lead_; }

 private:
  // Keys and values of a layer, [tokens][kv_heads][head_dim].
  struct Cache {
    std::vector<float> k, v;
  };
  std::vector<float> attend(const ReferenceLayer& layer, const std::vector<float>& h, Cache& cache);
  std::vector<float> feed_forward(const ReferenceFeedForward& one, const std::vector<float>& h);
  std::vector<float> mixture(const ReferenceLayer& layer, const std::vector<float>& h);

  const ReferenceModel& model_;
  std::vector<Cache> caches_;
  std::size_t position_ = 0;
  double least_lead_ = 1e9;
};

// base^(-2i / dim), changed as Llama 3.1's config asks for it; a factor of 0: not.
struct Llama3Scaling {
  double factor = 0;
  double low_freq_factor = 0;
  double high_freq_factor = 0;
  double original_positions = 0;
};
std::vector<double> rope_frequencies(double base, std::size_t dim, const Llama3Scaling& scaling);

// The same as gpt-oss's config asks for it: pairs with at least beta_fast rotations in
// `original_positions` keep their frequency, those with at most beta_slow are divided by `factor`,
// and between them is a ramp over the pairs' numbers.
struct YarnScaling {
  double factor = 0;
  double beta_fast = 0;
  double beta_slow = 0;
  double original_positions = 0;
};
std::vector<double> rope_frequencies(double base, std::size_t dim, const YarnScaling& scaling);

}  // namespace heddle

#endif  // HEDDLE_TESTS_DECODER_REFERENCE_H_
