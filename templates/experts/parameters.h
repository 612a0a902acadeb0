// What a launch of a layer of experts gives its kernel: one struct for the runtime and the kernel.
#pragma once

namespace heddle::device {

// FP16 or BF16 but where another type stands.
struct MoeParameters {
  const unsigned char* x;             // [tokens][hidden]
  const unsigned char* gate_up;       // packed, of one expert of this device after the other
  const unsigned char* down;          // the same
  const unsigned char* gate_up_bias;  // [experts][rows of gate_up]
  const unsigned char* down_bias;     // [experts][hidden]
  // [tokens][top_k], experts of the model and their weights, wherever they are: the caller's, or
  // what kChoose has written to chosen_ids and chosen_weights.
  const int* ids;
  const float* routing_weights;
  const unsigned char* residual;  // [tokens][hidden]
  unsigned char* y;               // [tokens][hidden]
  unsigned char* workspace;
  const unsigned char* logits;   // [tokens][experts of the model] of their own type
  const float* correction_bias;  // [experts of the model]
  const float* expert_scales;    // [experts of the model]
  const float* shared_gates;     // [tokens]
  const int* permutation;        // [experts][hidden]
  int* chosen_ids;               // [tokens][top_k]
  float* chosen_weights;         // [tokens][top_k]
  int tokens;
};

}  // namespace heddle::device
