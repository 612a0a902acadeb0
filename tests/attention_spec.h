// Specs of decode_attention for tests.
#ifndef HEDDLE_TESTS_ATTENTION_SPEC_H_
#define HEDDLE_TESTS_ATTENTION_SPEC_H_

#include <string>

#include "heddle/spec.h"

namespace heddle {

// `kv`: the members of the object "kv"; `more`: those of the spec that are not given otherwise,
// each after a comma.
inline Spec attention_spec(const std::string& kv, const std::string& more,
                           const AttentionShape& shape, bool bf16) {
  return Spec::parse(R"({"heddle":1,"op":"decode_attention","shape":{"heads":)" +
                     std::to_string(shape.heads) + R"(,"kv_heads":)" +
                     std::to_string(shape.kv_heads) + R"(,"head_dim":)" +
                     std::to_string(shape.head_dim) + R"(,"query_len":)" +
                     std::to_string(shape.query_len) + R"(},"activation":{"dtype":")" +
                     (bf16 ? "bf16" : "fp16") + R"("},"kv":{)" + kv + "}" + more + "}");
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_ATTENTION_SPEC_H_
