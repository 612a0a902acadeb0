// What decode_attention refuses of a cache in groups, and what it plans.
#include <gtest/gtest.h>

#include "tests/attention_spec.h"
#include "tests/generator/plan_refusals.h"

namespace heddle {
namespace {

Pointers refusals(const std::string& kv, int head_dim) {
  return refused_fields(attention_spec(kv, "", {32, 8, head_dim, 1}, false), "h200");
}

std::string in_groups(const std::string& tensor, const std::string& dtype, int group) {
  return '"' + tensor + R"(":{"dtype":")" + dtype + R"(","granularity":"group","group_size":)" +
         std::to_string(group) + "}";
}

// A lane reads codes 16 bytes at a time, all of one group.
TEST(DecodeAttentionPlan, GroupsAreWholeRunsOf16Bytes) {
  struct Case {
    const char* dtype;
    int head_dim, group;
    bool served;
  };
  for (const Case& c : {Case{"int4", 96, 48, false},
                        {"int4", 160, 80, false},
                        {"int4", 96, 96, true},
                        {"int4", 128, 32, true},
                        {"int4", 128, 16, false},
                        {"int2", 192, 96, false},
                        {"int2", 128, 64, true},
                        {"int8", 96, 48, true},
                        {"int8", 128, 16, true}}) {
    for (const std::string tensor : {"k", "v"}) {
      const std::string other = tensor == "k" ? "v" : "k";
      const std::string kv =
          in_groups(tensor, c.dtype, c.group) + ",\"" + other + R"(":{"dtype":"int8"})";
      const Pointers expected = c.served ? Pointers{} : Pointers{"/kv/" + tensor + "/group_size"};
      EXPECT_EQ(refusals(kv, c.head_dim), expected) << kv << ", head_dim " << c.head_dim;
    }
  }
}

}  // namespace
}  // namespace heddle
