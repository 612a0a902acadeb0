// The rules between the fields of decode_attention.
#include <string>

#include "generator/operations/decode_attention/decode_attention.h"
#include "generator/spec/kv_meaning.h"

namespace heddle {

std::vector<Problem> check_meaning(const DecodeAttentionSpec& spec) {
  Problems problems;
  const auto [heads, kv_heads, head_dim, query_len] = spec.shape;
  check_kv(spec.kv, head_dim, problems);
  if (heads % kv_heads != 0) {
    problems.push_back({"/shape/heads", "each head of K and V serves as many heads of Q",
                        std::to_string(heads), "multiples of " + std::to_string(kv_heads), ""});
  }
  if (spec.sink_tokens != 0 && spec.window == 0) {
    problems.push_back({"/sink_tokens", "without a window all tokens are seen",
                        std::to_string(spec.sink_tokens), "0, or a window", ""});
  }
  return problems;
}

}  // namespace heddle
