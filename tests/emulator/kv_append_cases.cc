#include "tests/emulator/kv_append_cases.h"

#include <utility>

namespace heddle {
namespace {

// Q, norms and scaled rotations, in each way that K goes.
template <class Add>
void add_query_cases(const Add& add) {
  const std::string neox = R"(,"rope":{"pairing":"neox"})";
  const auto with = [](const std::string& rope, int query_heads, const std::string& norm) {
    std::string more = rope;
    if (query_heads != 0) more += R"(,"query":{"heads":)" + std::to_string(query_heads) + "}";
    if (!norm.empty()) more += R"(,"norm":{)" + norm + "}";
    return more;
  };
  add("Query", 2, 64, R"("dtype":"int8")", with(neox, 8, ""));
  add("QueryAsItIs", 3, 48, R"("dtype":"int4")", with("", 3, ""));
  // Threads share Q's heads as they do K's; three of eight lanes lie behind the end of the row.
  add("QueryAndScalesOfTokens", 3, 80, R"("granularity":"token")",
      with(R"(,"rope":{"pairing":"gptj","dim":32})", 9, R"("epsilon":1e-6)"));
  add("QueryBehindTheTable", 2, 64, R"("dtype":"int8","layout":"contiguous")",
      with(R"(,"rope":{"pairing":"neox","dim":32,"source":"table"})", 4, R"("epsilon":1e-5)"));
  add("NormAcrossHalves", 3, 80, R"("dtype":"int4","granularity":"group","group_size":16)",
      with(neox, 6, R"("epsilon":1e-6,"weight_offset":1)"));
  add("NormInHalves", 2, 128, R"("dtype":"int4","granularity":"group","group_size":32)",
      with(R"(,"rope":{"pairing":"neox","dim":64})", 2, R"("epsilon":1e-6)"));
  add("NormOfChannels", 2, 80,
      R"("k":{"granularity":"channel","dtype":"int4","group_size":32},"v":{"dtype":"int8"})",
      with(neox, 4, R"("epsilon":1e-6)"));
  add("NormOfChannelsAlone", 1, 64,
      R"("k":{"granularity":"channel","group_size":96},"layout":"contiguous","order":"nhd")",
      with("", 0, R"("epsilon":1e-5,"weight_offset":1)"));
  add("NormOfSixteenBits", 2, 64, R"("dtype":"fp16","order":"nhd")",
      with("", 0, R"("epsilon":1e-6)"));
  add("Llama3", 2, 64, R"("dtype":"fp8_e4m3","granularity":"head")",
      with(R"(,"rope":{"pairing":"neox","base":500000,"scaling":{"type":"llama3","factor":8,)"
           R"("low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":64}})",
           4, ""));
  add("YarnOfChannels", 2, 64, R"("k":{"granularity":"channel"},"v":{"dtype":"int8"})",
      with(R"(,"rope":{"pairing":"gptj","scaling":{"type":"yarn","factor":16,)"
           R"("original_max_position_embeddings":64}})",
           4, R"("epsilon":1e-6)"));
}

std::vector<KvAppendCase> make_kv_append_cases() {
  std::vector<KvAppendCase> cases;
  // Every other case has BF16.
  const auto add = [&](std::string name, int heads, int head_dim, const std::string& kv,
                       const std::string& more) {
    const std::string dtype = cases.size() % 2 == 0 ? "fp16" : "bf16";
    cases.push_back(
        {std::move(name), Spec::parse(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":)" +
                                      std::to_string(heads) + R"(,"head_dim":)" +
                                      std::to_string(head_dim) + R"(},"activation":{"dtype":")" +
                                      dtype + R"("},"kv":{)" + kv + "}" + more + "}")});
  };
  const auto k = [](const char* of_k) {
    return R"("k":{"granularity":"channel",)" + std::string(of_k) + "}";
  };
  add("Int4", 2, 64, k(R"("dtype":"int4","group_size":32)") + R"(,"v":{"dtype":"int4"})",
      R"(,"rope":{"pairing":"neox","base":500000})");
  add("Int8Zeros", 3, 80,
      k(R"("dtype":"int8","group_size":64,"symmetric":false)") + R"(,"order":"nhd")",
      R"(,"rope":{"pairing":"gptj","dim":32})");
  add("Int2Zeros", 2, 128,
      k(R"("dtype":"int2","group_size":128,"symmetric":false,"scale_dtype":"fp32")") +
          R"(,"layout":"contiguous")",
      "");
  add("E4m3", 1, 64,
      k(R"("dtype":"fp8_e4m3","group_size":32,"scale_dtype":"bf16")") +
          R"(,"layout":"contiguous","order":"nhd")",
      R"(,"rope":{"pairing":"neox","dim":48,"source":"table"})");
  add("E5m2OfOddBlocks", 2, 48,
      k(R"("dtype":"fp8_e5m2","group_size":96)") +
          R"(,"v":{"dtype":"int8","granularity":"token","symmetric":false},"page_size":192)",
      R"(,"rope":{"pairing":"gptj"})");
  // Scales of all heads of a token, and rotations that a block shares.
  add("Token", 3, 64, R"("dtype":"int8","granularity":"token")", R"(,"rope":{"pairing":"neox"})");
  add("Head", 2, 128, R"("dtype":"int4","symmetric":false,"page_size":24)",
      R"(,"rope":{"pairing":"gptj","dim":64})");
  // Groups of what turns together and of what does not turn; those that a half of it does not hold
  // wholly; one that holds all of it.
  add("GroupsInHalves", 2, 128,
      R"("dtype":"int2","granularity":"group","group_size":32,"symmetric":false)",
      R"(,"rope":{"pairing":"neox","dim":64})");
  add("GroupsAcrossHalves", 3, 80, R"("dtype":"int4","granularity":"group","group_size":16)",
      R"(,"rope":{"pairing":"neox"})");
  add("GroupOfAll", 1, 256, R"("dtype":"fp8_e4m3","granularity":"group","group_size":128)",
      R"(,"rope":{"pairing":"neox","dim":128})");
  // Three of eight lanes lie behind the end of the row, and of the table's last one.
  add("LanesBehindTheTable", 2, 80, R"("dtype":"int8")",
      R"(,"rope":{"pairing":"neox","source":"table"})");
  add("PairsBehindTheTable", 2, 80, R"("dtype":"int8")",
      R"(,"rope":{"pairing":"gptj","source":"table"})");
  add("GivenScale", 5, 64, R"("dtype":"int8","granularity":"tensor","symmetric":false)",
      R"(,"rope":{"pairing":"neox","dim":32})");
  add_query_cases(add);
  return cases;
}

}  // namespace

Plan KvAppendCase::plan() const { return resolve(spec, target_from_name("h200")); }

const std::vector<KvAppendCase>& kv_append_cases() {
  static const std::vector<KvAppendCase> cases = make_kv_append_cases();
  return cases;
}

}  // namespace heddle
