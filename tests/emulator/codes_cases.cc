#include "tests/emulator/codes_cases.h"

#include <utility>

#include "tests/byte_gemm.h"
#include "tests/emulator/gemm_cases.h"
#include "tests/emulator/one_kernel.h"
#include "tests/gemm_tile.h"

namespace heddle {
namespace {

using enum DType;

const EpilogueSpec kGate{false, Activation::kSilu, false, true};
const EpilogueSpec kReluGate{false, Activation::kRelu, false, true};  // whose zeros have signs
const EpilogueSpec kAround{true, Activation::kGelu, true};

GemmSpec codes_of(GemmSpec spec, DType dtype, const EpilogueSpec& epilogue) {
  spec.output = dtype;
  spec.output_scale.granularity = RowGranularity::kTensor;
  spec.epilogue = epilogue;
  return spec;
}

GemmSpec codes_gemm(std::int64_t n, std::int64_t k, std::int64_t m_min, std::int64_t m_max, DType y,
                    const EpilogueSpec& epilogue = {}) {
  GemmSpec spec;
  spec.shape = {n, k, m_min, m_max};
  spec.weight.group_size = 32;
  spec.weight.zero_point = ZeroPoint::kInt;
  return codes_of(std::move(spec), y, epilogue);
}

GemmSpec groups_of(GemmSpec spec, RowScaleDtype scale_dtype = RowScaleDtype::kFp32) {
  spec.output_scale = {RowGranularity::kGroup, scale_dtype};
  return spec;
}

template <class Case>
CodesCase case_of(Case one) {
  return {one.name, [one] { return one.plan(); }};
}

std::vector<CodesCase> make_codes_cases() {
  std::vector<CodesCase> cases;
  const auto add_gemv = [&](std::string name, std::string label, GemmSpec spec) {
    cases.push_back(case_of(GemvCase{{std::move(name), std::move(spec)}, std::move(label)}));
  };
  const auto add_stream = [&](std::string name, GemmSpec spec, int split) {
    spec.path = Path::kHopper;
    if (split != 1) spec.tile.split_k = split;
    cases.push_back(case_of(StreamCase{{std::move(name), std::move(spec)}, 6}));
  };
  const auto add_tiles = [&](std::string name, GemmSpec spec) {
    spec.path = Path::kAmpere;
    cases.push_back(case_of(MmaCase{{std::move(name), std::move(spec)}}));
  };
  add_gemv("Gemv", "warps 5 ahead 2 split 1", codes_gemm(40, 1056, 1, 1, kInt8));
  add_gemv("GemvGatedSplit", "warps 4 ahead 2 split 2",
           codes_gemm(144, 2048, 1, 1, kFp8E4m3, kGate));
  add_gemv("GemvAround", "warps 4 ahead 2 split 1", codes_gemm(136, 2048, 1, 1, kFp8E5m2, kAround));
  add_stream("Stream", codes_gemm(40, 1056, 3, 4, kFp8E4m3), 1);
  add_stream("StreamGatedSplit", codes_gemm(144, 2208, 9, 10, kInt8, kGate), 2);
  add_stream("StreamAroundSplit", codes_gemm(136, 2208, 5, 6, kFp8E5m2, kAround), 2);
  add_tiles("Tiles", codes_gemm(136, 1056, 33, 65, kInt8));
  add_tiles("TilesGated", codes_gemm(144, 1056, 33, 40, kFp8E5m2, kGate));
  GemmSpec split = codes_gemm(136, 1056, 9, 16, kFp8E4m3, kAround);
  split.tile.split_k = 2;
  add_tiles("TilesAroundSplit", split);
  // Scales that are found: N that ends inside of a group and of a word of groups.
  add_tiles("TilesGroups", groups_of(codes_gemm(328, 416, 33, 65, kFp8E4m3)));
  add_tiles("TilesGroupsOfOne", groups_of(codes_gemm(40, 416, 1, 2, kInt8)));
  add_tiles("TilesGroupsAroundSplit", groups_of(std::move(split), RowScaleDtype::kE8m0));
  add_tiles("TilesGroupsGated",
            groups_of(codes_gemm(528, 416, 17, 20, kFp8E5m2, kGate), RowScaleDtype::kE8m0));
  GemmSpec wide = groups_of(codes_gemm(264, 416, 33, 40, kFp8E4m3));
  wide.tile = tile_of(256, 128, 8, 1);
  wide.tile.m = 64;
  wide.tile.split_k = 1;
  add_tiles("TilesGroupsReadAhead", wide);
  return cases;
}

std::vector<CodesCase> make_codes_byte_tiles_cases() {
  std::vector<CodesCase> cases;
  const auto add = [&](std::string name, GemmSpec spec, std::int64_t m_min, std::int64_t m_max,
                       int split = 1, Path path = Path::kAmpere) {
    spec.shape.m_min = m_min;
    spec.shape.m_max = m_max;
    spec.path = path;
    spec.tile.split_k = split;
    const auto is_byte_tiles = [](const PlannedKernel& kernel) {
      return kernel.family == byte_tiles_family();
    };
    cases.push_back({name, [=] {
                       constexpr int kSms = 3;
                       return plan_of_one(Spec::from_gemm(spec), name, is_byte_tiles, kSms);
                     }});
  };
  add("Codes", codes_of(byte_gemm(136, 416, kInt8), kFp8E5m2, kAround), 33, 40, 2);
  add("Groups", groups_of(codes_of(byte_gemm(328, 416, kInt8), kInt8, {})), 1, 65);
  add("GroupsGated", groups_of(codes_of(byte_gemm(528, 416, kFp8E4m3), kFp8E4m3, kGate)), 17, 33);
  add("GroupsReluGated", groups_of(codes_of(byte_gemm(528, 416, kInt8), kFp8E4m3, kReluGate)), 33,
      64);
  add("GroupsAroundSplit",
      groups_of(codes_of(byte_gemm(136, 896, kFp8E4m3), kFp8E4m3, kAround), RowScaleDtype::kE8m0),
      9, 16, 2);
  GemmSpec turing = groups_of(codes_of(byte_gemm(264, 416, kInt8), kInt8, kAround));
  turing.activation_scale.symmetric = false;
  add("GroupsTuring", turing, 9, 15, 1, Path::kTuring);
  return cases;
}

std::vector<CodesCase> make_codes_bulk_cases() {
  std::vector<CodesCase> cases;
  const auto add = [&](std::string name, GemmSpec spec, const TileSpec& tile, int split) {
    spec.path = Path::kHopper;
    spec.tile = tile;
    if (split != 1) spec.tile.split_k = split;
    cases.push_back(case_of(BulkCase{std::move(name), std::move(spec)}));
  };
  add("Bulk", codes_gemm(136, 2208, 15, 16, kInt8), tile_of(48, 512, 3, 4), 1);
  add("BulkGatedCluster", codes_gemm(144, 2208, 9, 10, kFp8E4m3, kGate), tile_of(48, 512, 3, 4), 2);
  return cases;
}

class CodesWgmmaCases {
 public:
  void add(std::string name, GemmSpec spec, int tile_m, int tile_n,
           std::vector<std::int64_t> tokens) {
    spec.shape.m_min = tokens.front();
    spec.shape.m_max = tokens.back();
    if (!spec.has_byte_activations()) spec.path = Path::kHopper;
    spec.tile.m = tile_m;
    spec.tile.n = tile_n;
    spec.tile.k = 128;
    spec.tile.split_k = 1;
    cases.push_back({std::move(name), spec, 3, std::move(tokens), Sharing::kNone});
  }
  void add_shared(std::string name, GemmSpec spec, int tile_m, int tile_n, int sm_count,
                  std::vector<std::int64_t> tokens, Sharing sharing) {
    add(std::move(name), std::move(spec), tile_m, tile_n, std::move(tokens));
    cases.back().spec.tile.split_k.reset();
    cases.back().sm_count = sm_count;
    cases.back().sharing = sharing;
  }
  std::vector<WgmmaCase> cases;
};

// Sums that become codes in registers, and those that do behind shared memory.
std::vector<WgmmaCase> make_codes_wgmma_cases() {
  CodesWgmmaCases c;
  c.add("Few", codes_gemm(136, 416, 0, 0, kInt8), 32, 128, {17, 31});
  c.add("Many", codes_gemm(136, 416, 0, 0, kFp8E4m3), 160, 128, {130, 161});
  c.add("FourWarpgroups", codes_gemm(264, 416, 0, 0, kFp8E5m2), 64, 256, {33, 64});
  c.add("ManyGated", codes_gemm(144, 416, 0, 0, kInt8, kGate), 256, 128, {200, 257});
  c.add("ManyAround", codes_gemm(136, 416, 0, 0, kFp8E4m3, kAround), 160, 128, {100, 161});
  // Scales that are found: rows of two warpgroups, of one, of four; few tokens; N that ends inside
  // of a group, and groups inside of a word.
  c.add("Groups", groups_of(codes_gemm(328, 416, 0, 0, kFp8E4m3)), 32, 128, {1, 9, 31});
  c.add("GroupsOfMany", groups_of(codes_gemm(136, 416, 0, 0, kInt8, kAround)), 160, 128,
        {100, 161});
  c.add("GroupsOfWarpgroup", groups_of(codes_gemm(520, 416, 0, 0, kFp8E5m2)), 128, 256, {127, 130});
  c.add("GroupsOfFour",
        groups_of(codes_gemm(264, 416, 0, 0, kFp8E4m3, kAround), RowScaleDtype::kE8m0), 32, 256,
        {17, 32});
  c.add("GroupsGated", groups_of(codes_gemm(528, 416, 0, 0, kFp8E4m3, kGate), RowScaleDtype::kE8m0),
        64, 256, {33, 64});
  c.add("GroupsOfTwoOfFour", groups_of(codes_gemm(256, 160, 0, 0, kInt8)), 32, 256, {17, 32});
  c.add("GroupsGatedOfFour", groups_of(codes_gemm(528, 160, 0, 0, kFp8E4m3, kGate)), 32, 256,
        {17, 32});
  c.add_shared("GroupsInPairsOf96", groups_of(codes_gemm(136, 2560, 0, 0, kFp8E4m3)), 96, 128, 4,
               {65, 96}, Sharing::kClusters);
  c.add_shared("GroupsInPairs", groups_of(codes_gemm(136, 2560, 0, 0, kFp8E4m3)), 16, 128, 4,
               {9, 16}, Sharing::kClusters);
  c.add_shared("GroupsInParts", groups_of(codes_gemm(520, 1280, 0, 0, kFp8E4m3)), 128, 256, 8,
               {129, 250}, Sharing::kEqualShares);
  return std::move(c.cases);
}

std::vector<WgmmaCase> make_bytes_cases() {
  CodesWgmmaCases c;
  c.add("Integers", codes_of(byte_gemm(136, 416, kInt8), kInt8, {}), 64, 128, {33, 65});
  c.add("Shared", codes_of(byte_gemm(72, 416, kFp8E4m3), kFp8E4m3, {}), 64, 64, {33, 64});
  c.add("Gated", codes_of(byte_gemm(272, 416, kInt8), kFp8E4m3, kGate), 128, 128, {65, 129});
  c.add("Groups", groups_of(codes_of(byte_gemm(328, 416, kInt8), kInt8, {})), 64, 128, {1, 65});
  c.add("GroupsOfMany", groups_of(codes_of(byte_gemm(256, 160, kFp8E4m3), kFp8E4m3, {})), 256, 128,
        {201, 257});
  c.add("GroupsGated", groups_of(codes_of(byte_gemm(528, 416, kFp8E4m3), kFp8E4m3, kGate)), 96, 256,
        {65, 97});
  c.add("GroupsReluGated", groups_of(codes_of(byte_gemm(528, 416, kInt8), kFp8E4m3, kReluGate)), 64,
        256, {33, 64});
  return std::move(c.cases);
}

// Tokens as columns of the instruction and as rows.
std::vector<WgmmaCase> make_blocks_cases() {
  CodesWgmmaCases c;
  c.add("Few", codes_of(block_gemm(136, 416), kFp8E4m3, {}), 64, 128, {33, 64});
  c.add("Rows", codes_of(block_gemm(136, 416), kFp8E4m3, {}), 128, 128, {100, 129});
  c.add("RowsGated", codes_of(block_gemm(256, 416), kInt8, kGate), 256, 128, {201, 260});
  c.add("Groups", groups_of(codes_of(block_gemm(328, 416), kFp8E4m3, {}), RowScaleDtype::kE8m0),
        128, 128, {100, 129});
  c.add("GroupsOfMany", groups_of(codes_of(block_gemm(256, 160), kFp8E4m3, {})), 256, 128,
        {201, 260});
  c.add("GroupsOfTwo", groups_of(codes_of(block_gemm(328, 160), kInt8, {})), 128, 256, {100, 129});
  c.add("GroupsGated",
        groups_of(codes_of(block_gemm(512, 160), kFp8E4m3, kGate), RowScaleDtype::kE8m0), 128, 256,
        {100, 129});
  // Each block of a pair has every other eight tokens.
  c.add_shared("GroupsInPairs", groups_of(codes_of(block_gemm(328, 1280), kFp8E4m3, {})), 128, 256,
               4, {100, 128}, Sharing::kClusters);
  c.add_shared("GroupsInParts", groups_of(codes_of(block_gemm(264, 1280), kFp8E4m3, {})), 256, 128,
               5, {257}, Sharing::kEqualShares);
  return std::move(c.cases);
}

}  // namespace

const std::vector<CodesCase>& codes_cases() {
  static const std::vector<CodesCase> cases = make_codes_cases();
  return cases;
}
const std::vector<CodesCase>& codes_bulk_cases() {
  static const std::vector<CodesCase> cases = make_codes_bulk_cases();
  return cases;
}
const std::vector<CodesCase>& codes_byte_tiles_cases() {
  static const std::vector<CodesCase> cases = make_codes_byte_tiles_cases();
  return cases;
}
const std::vector<WgmmaCase>& codes_wgmma_cases() {
  static const std::vector<WgmmaCase> cases = make_codes_wgmma_cases();
  return cases;
}
const std::vector<WgmmaCase>& codes_bytes_cases() {
  static const std::vector<WgmmaCase> cases = make_bytes_cases();
  return cases;
}
const std::vector<WgmmaCase>& codes_blocks_cases() {
  static const std::vector<WgmmaCase> cases = make_blocks_cases();
  return cases;
}

}  // namespace heddle
