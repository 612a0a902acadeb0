#include <fmt/format.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/emulator/moe_cases.h"
#include "tests/expert_layer.h"

namespace heddle {
namespace {

MoeSpec int4_layer(const MoeShape& shape, DType dtype, ZeroPoint zero = ZeroPoint::kNone) {
  return expert_layer(shape, dtype,
                      {.bits = 4, .group_size = 32, .zero_point = zero, .scale_dtype = dtype});
}

std::vector<MoeCase> make_moe_stream_cases() {
  using enum DType;
  std::vector<MoeCase> cases = moe_cases_of("stream_experts", "Stream");
  const auto add = [&](std::string name, const MoeSpec& spec, std::string label_part,
                       int sm_count) -> MoeCase& {
    cases.push_back({std::move(name), spec, "stream_experts", std::move(label_part), sm_count});
    return cases.back();
  };
  // Warps that share K of both products, of one, and of none; the last one of K has fewer chunks.
  const MoeSpec long_rows =
      int4_layer({.hidden = 544, .intermediate = 416, .experts = 4, .top_k = 2, .tokens_max = 6},
                 kFp16, ZeroPoint::kInt);
  const std::pair<const char*, const char*> shares[] = {
      {"Two", "8 rows, 8x2 warps chunks 3 stages 2 buffers 2, 8x2"},
      {"Four", "8 rows, 2x4 warps chunks 2 stages 5 buffers 2, 2x4"},
      {"FourOf16Rows", "16 rows, 2x4 warps chunks 2 stages 5 buffers 2, 4x2"},
      {"TwoOfDown", "8 rows, 16x1 warps chunks 5 stages 2 buffers 2, 8x2"},
      {"NoneOf16Rows", "16 rows, 16x1 warps chunks 5 stages 2 buffers 1, 16x1"}};
  for (const auto& [name, label] : shares) {
    MoeSpec& spec = add(fmt::format("{}ShareKStream", name), long_rows, label, 3).spec;
    spec.epilogue.bias = true;
    spec.epilogue.residual = cases.size() % 2 == 0;
  }
  // Blocks with parts of many tiles, among them experts without rows, with one and with several
  // tiles; and groups of warps that have nothing of some of them.
  const std::tuple<const char*, const char*, DType> uneven[] = {
      {"8", "8 rows, 16x1", kBf16},
      {"16", "16 rows, 8x1", kFp16},
      {"8WithAdders", "8 rows, 2x4 warps chunks 2 stages 5 buffers 2, 4x2", kBf16},
      {"16WithAdders", "16 rows, 4x2 warps chunks 3 stages 3 buffers 2, 4x2", kFp16}};
  for (const auto& [name, label, dtype] : uneven) {
    const std::vector<int> expert_tokens = {1, 0, 7, 8, 9, 16, 17, 2, 3};
    const auto tokens = std::accumulate(expert_tokens.begin(), expert_tokens.end(), 0);
    MoeSpec spec = int4_layer({.hidden = 544,
                               .intermediate = 288,
                               .experts = 9,
                               .top_k = 1,
                               .tokens_min = tokens,
                               .tokens_max = tokens},
                              dtype);
    spec.epilogue.bias = true;
    add(fmt::format("Uneven{}Stream", name), spec, label, 2).expert_tokens = expert_tokens;
  }
  // Shared memory holds the rows of one tile.
  add("OneBufferStream",
      int4_layer({.hidden = 4096, .intermediate = 32, .experts = 3, .top_k = 1, .tokens_max = 30},
                 kFp16),
      "buffers 1", 2);
  // As many choices as a token may have, more experts than a warp has lanes for.
  add("ManyChoicesStream",
      int4_layer({.hidden = 64, .intermediate = 32, .experts = 70, .top_k = 32, .tokens_max = 3},
                 kFp16),
      "8 rows", 3);
  return cases;
}

}  // namespace

const std::vector<MoeCase>& moe_stream_cases() {
  static const std::vector<MoeCase> cases = make_moe_stream_cases();
  return cases;
}

}  // namespace heddle
