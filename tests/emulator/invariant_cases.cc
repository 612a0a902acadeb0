#include "tests/emulator/invariant_cases.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "generator/families/family.h"
#include "generator/operations/operation.h"
#include "generator/planner/choose.h"
#include "generator/planner/one_arithmetic.h"
#include "tests/byte_gemm.h"
#include "tests/emulator/scaled_gemm.h"
#include "tests/expert_layer.h"
#include "tests/plain_weight.h"
#include "tests/planned_kernel.h"

namespace heddle {
namespace {

InvariantKind kind_of(const Plan& plan, const PlannedKernel& kernel) {
  const std::string_view family = kernel.family->name();
  if (family == "warpgroup_experts") return InvariantKind::kMoeWgmma;
  const GemmSpec* const gemm = plan.spec.get_if<GemmSpec>();
  if (gemm == nullptr) return InvariantKind::kMoe;
  if (family == "byte_tiles") return InvariantKind::kByteTiles;
  if (is_bulk(kernel)) return InvariantKind::kBulk;
  if (family != "warpgroup") return InvariantKind::kGemm;
  if (!gemm->has_byte_activations()) return InvariantKind::kWgmma;
  return gemm->weight.has_blocks() ? InvariantKind::kWgmmaBlocks : InvariantKind::kWgmmaBytes;
}

// What a group is made of.
struct GroupSource {
  std::string name;
  Spec spec;
  std::string part;  // of the text of the arithmetic that its kernels have
  std::vector<MRange> sizes;
  std::vector<const char*> gpus = {"h200"};
  int sm_count = 5;  // few, so that blocks have several tiles
};

// The spec's plan as families are asked for candidates, for a GPU with few SMs.
Plan plan_for(const Spec& spec, const char* gpu, int sm_count) {
  Target target = target_from_name(gpu);
  target.sm_count = sm_count;
  Plan plan = resolve(spec, target, TunedTables());
  plan.kernels.clear();
  return plan;
}

// The spec with any tile that its path has.
Spec with_any_tile(const Spec& spec) {
  if (spec.get_if<GemmSpec>() == nullptr) return spec;
  GemmSpec gemm = spec.gemm();
  gemm.tile = {};
  return Spec::from_gemm(gemm);
}

class GroupMaker {
 public:
  explicit GroupMaker(const GroupSource& source) : source_(source), group_{source.name, {}} {}

  InvariantGroup make() {
    for (const char* gpu : source_.gpus) {
      const Plan plan = plan_for(source_.spec, gpu, source_.sm_count);
      for (const MRange& sizes : source_.sizes) add_alike(plan, sizes);
    }
    if (group_.kernels.size() < 2) {
      throw std::logic_error("few kernels add alike: " + source_.name + ", " + arithmetic_);
    }
    add_other();
    return std::move(group_);
  }

 private:
  // The predicted fastest of the sizes' candidates that have the arithmetic, and of the most tokens
  // the slowest, too.
  void add_alike(const Plan& plan, const MRange& sizes) {
    std::vector<PlannedKernel> alike;
    for (Candidate& one : all_candidates(plan, sizes)) {
      const auto arithmetic = arithmetic_of(plan, one.kernel);
      if (!arithmetic || arithmetic->find(source_.part) == arithmetic->npos) continue;
      if (arithmetic_.empty()) arithmetic_ = *arithmetic;
      if (arithmetic == arithmetic_) alike.push_back(std::move(one.kernel));
    }
    if (alike.empty()) return;
    add(plan, alike.front());
    if (sizes.max == source_.sizes.back().max) add(plan, alike.back());
  }

  // Of the fewest tokens the fastest one that has another arithmetic.
  void add_other() {
    const Plan plan = plan_for(with_any_tile(source_.spec), source_.gpus.front(), source_.sm_count);
    for (Candidate& one : all_candidates(plan, source_.sizes.front())) {
      const auto arithmetic = arithmetic_of(plan, one.kernel);
      const bool is_other = arithmetic && *arithmetic != arithmetic_;
      if (is_other && kind_of(plan, one.kernel) == group_.kernels.front().kind) {
        return add(plan, one.kernel);
      }
    }
    throw std::logic_error("no kernel adds in another way: " + source_.name);
  }

  void add(Plan plan, const PlannedKernel& candidate) {
    std::string name = candidate.family->kernel_name(plan, candidate);
    InvariantKernel one;
    one.arithmetic = *arithmetic_of(plan, candidate);
    plan.kernels = {planned_kernel(plan, candidate, std::move(name))};
    const auto json = [](const PlannedKernel& kernel) { return kernel.family->json(kernel); };
    for (const InvariantKernel& known : group_.kernels) {
      if (json(known.plan.kernels.front()) == json(plan.kernels.front())) return;
    }
    one.kind = kind_of(plan, plan.kernels.front());
    one.plan = std::move(plan);
    group_.kernels.push_back(std::move(one));
  }

  const GroupSource& source_;
  InvariantGroup group_;
  std::string arithmetic_;
};

// FP32 outputs, whose bits show every sum.
Spec spec_of(GemmSpec gemm, std::int64_t m_max, DType output = DType::kFp32) {
  gemm.shape.m_min = 1;
  gemm.shape.m_max = m_max;
  gemm.output = output;
  gemm.batch_invariant = true;
  return Spec::from_gemm(gemm);
}

// Of wgmma, with tiles of so many rows, each of one block.
Spec whole_tiles_of(GemmSpec gemm, int rows, std::int64_t m_max, DType output = DType::kFp32) {
  gemm.path = Path::kHopper;
  gemm.tile.n = rows;
  gemm.tile.split_k = 1;
  return spec_of(gemm, m_max, output);
}

Spec layer_of(std::int64_t tokens_max, std::int64_t hidden = 640) {
  MoeSpec spec = expert_layer(
      {.hidden = hidden, .intermediate = 288, .experts = 4, .top_k = 2, .tokens_max = tokens_max},
      DType::kFp16, {.group_size = 32, .scale_dtype = DType::kFp16});
  spec.batch_invariant = true;
  return Spec::from_moe(spec);
}

std::vector<GroupSource> group_sources() {
  using enum DType;
  const std::vector<MRange> few{{1, 8}, {9, 16}};
  const std::vector<MRange> up_to_64{{1, 8}, {17, 32}, {49, 64}};
  const std::vector<MRange> all{{1, 16}, {33, 64}, {129, 300}};
  const auto four_bits = [](std::int64_t n, std::int64_t k, DType dtype, int group) {
    return scaled_gemm({n, k, 1, 1}, dtype, group, ZeroPoint::kInt);
  };
  GemmSpec around = four_bits(136, 928, kBf16, 32);
  around.epilogue = {true, Activation::kGelu, true};
  GemmSpec gated = four_bits(144, 896, kFp16, 128);
  gated.epilogue = {false, Activation::kSilu, false, true};
  GemmSpec plain = four_bits(136, 896, kBf16, 32);
  plain.weight = plain_weight(kBf16);
  GemmSpec on_sums = four_bits(136, 1152, kFp16, 64);
  on_sums.weight.scale_dtype = kFp32;
  GemmSpec float_zeros = four_bits(136, 1088, kFp16, 64);
  float_zeros.weight.zero_point = ZeroPoint::kFloat;
  return {
      {"WgmmaInOrder", whole_tiles_of(four_bits(264, 1152, kFp16, 128), 128, 300), "K in its order",
       all},
      {"WgmmaByTurns", whole_tiles_of(four_bits(136, 1408, kBf16, 64), 64, 300), "every other",
       all},
      {"WgmmaByHalves", whole_tiles_of(plain, 64, 300), "halves", all},
      {"WgmmaOnSums", whole_tiles_of(on_sums, 128, 300), "sums of 64 columns in FP32", all},
      {"WgmmaAround", whole_tiles_of(around, 128, 300), "K in its order", all},
      // Few tokens end by way of FP32 in shared memory, many in registers.
      {"WgmmaGated", whole_tiles_of(gated, 128, 300, kFp16), "K in its order", all},
      {"WgmmaInPairs",
       spec_of(four_bits(136, 2560, kFp16, 128), 64),
       "in 2 parts of",
       up_to_64,
       {"h200"},
       8},
      {"WgmmaInShares",
       spec_of(four_bits(264, 2560, kFp16, 128), 64),
       "rows by",
       up_to_64,
       {"h200"},
       7},
      {"WgmmaFp8", whole_tiles_of(byte_gemm(264, 896, kFp8E4m3), 128, 300), "K in its order", all},
      {"WgmmaFp8ByHalves", whole_tiles_of(byte_gemm(136, 896, kFp8E4m3), 64, 300), "halves", all},
      {"WgmmaFp8Rounded", whole_tiles_of(byte_gemm(264, 416, kFp8E4m3), 128, 300, kFp16),
       "K in its order", all},
      {"WgmmaBlocks", whole_tiles_of(block_gemm(264, 896), 128, 300), "K in its order", all},
      {"WgmmaInt8Groups", whole_tiles_of(four_bit_gemm(264, 896, kInt8), 128, 300),
       "K in its order", all},
      {"Bulk",
       spec_of(four_bits(136, 2304, kBf16, 128), 64),
       "columns over 4 warps",
       up_to_64,
       {"h200", "a100"}},
      {"BulkOnSums", spec_of(on_sums, 64), "columns over 4 warps", up_to_64, {"h200", "a100"}},
      {"TilesInOrder",
       spec_of(four_bits(264, 928, kFp16, 32), 300),
       "K in its order",
       all,
       {"a100"}},
      {"TilesOnSums", spec_of(float_zeros, 300), "K in its order", all, {"a100"}},
      {"TilesInStages",
       spec_of(four_bits(264, 1184, kBf16, 32), 300),
       "over 4 warps",
       all,
       {"a100"}},
      {"TilesInParts", spec_of(around, 64), "in 2 parts", up_to_64, {"a100"}, 40},
      {"ByteTiles", spec_of(byte_gemm(136, 1184, kFp8E4m3), 300), "over 2 warps", all, {"rtx4090"}},
      {"Streams", spec_of(four_bits(72, 2304, kFp16, 128), 16), "streams", few, {"b200"}},
      {"Experts", layer_of(100), "over 2 warps", {{1, 8}, {17, 32}, {65, 100}}, {"a100"}},
      {"ExpertsByWgmma", layer_of(100), "tiles of wgmma", {{1, 8}, {17, 32}, {65, 100}}},
      {"FewExperts", layer_of(16, 1024), "order of their numbers", few},
      {"StreamExperts", layer_of(24), "streams", {{1, 8}, {9, 16}, {17, 24}}},
  };
}

std::vector<InvariantGroup> make_groups() {
  std::vector<InvariantGroup> groups;
  std::array<std::size_t, 8> numbers{};
  for (const GroupSource& source : group_sources()) {
    InvariantGroup group = GroupMaker(source).make();
    for (InvariantKernel& kernel : group.kernels) {
      kernel.number = numbers[static_cast<std::size_t>(kernel.kind)]++;
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

const std::vector<InvariantGroup>& invariant_groups() {
  static const std::vector<InvariantGroup> groups = make_groups();
  return groups;
}

}  // namespace heddle
