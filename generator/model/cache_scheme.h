// CacheScheme: the key-value cache that a quantiser has calibrated scales for.
#ifndef HEDDLE_GENERATOR_MODEL_CACHE_SCHEME_H_
#define HEDDLE_GENERATOR_MODEL_CACHE_SCHEME_H_

#include <string>

#include "generator/model/config_reader.h"

namespace heddle {

struct CacheScheme {
  // How the scales of K, or of V, of one layer are shared.
  enum class Scales {
    kTensor,   // one
    kHead,     // one for each head
    kChannel,  // one for each element of all heads
    kRunTime,  // none is stored
    kOther,
  };

  std::string codes;  // as users call them: "FP8"; empty: not said
  std::string dtype;  // of a spec's kv block: "fp8_e4m3"; empty: it has none for such codes
  Scales scales = Scales::kTensor;
  bool symmetric = true;  // else there are zero points, too
};

// The field `key`: an object as compressed-tensors and Model Optimizer write it (num_bits, type,
// strategy, dynamic), or a word.
CacheScheme read_cache_scheme(const ConfigReader& config, std::string_view key);
// Model Optimizer's name of an algorithm: "FP8", "NVFP4".
CacheScheme cache_scheme_of(const std::string& algorithm);

// What a user should know of it.
std::string note_of(const CacheScheme& scheme);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_CACHE_SCHEME_H_
