// The specs of the operations on a key-value cache for one kind of attention of a model.
#ifndef HEDDLE_GENERATOR_MODEL_CACHE_SPECS_H_
#define HEDDLE_GENERATOR_MODEL_CACHE_SPECS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/model/model_block.h"
#include "heddle/spec.h"

namespace heddle {

// The largest number of those that specs have as integers.
inline constexpr std::int64_t kLargestWhole = std::int64_t{1} << 30;

struct CacheSpecs {
  Spec append;
  Spec attention;
  std::vector<std::string> notes;  // what the engine has to do
};

// What specs cannot say of the attention; empty where they say it all.
std::string why_no_cache_spec(const ModelAttention& attention, MixerKind mixer);

// `kv`: a spec's kv block. `names_window`: whether attention with a window has a name of its own.
// Throws Error(kSpec) where a spec refuses what the model or `kv` asks for. Precondition:
// why_no_cache_spec() is empty.
CacheSpecs cache_specs(const ModelAttention& attention, const HeadNorm& norm, DType dtype,
                       std::string_view kv, bool names_window);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_CACHE_SPECS_H_
