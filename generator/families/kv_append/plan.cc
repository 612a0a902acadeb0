#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "generator/families/all.h"
#include "generator/families/blocks_that_fit.h"
#include "generator/families/kv_append/kv_append_tile.h"
#include "generator/families/kv_append/text.h"
#include "generator/families/tile_kernel.h"
#include "generator/kv/kv_channel.h"
#include "generator/planner/refuse_if_any.h"
#include "generator/spec/meaning.h"
#include "heddle/kv_cache.h"

namespace heddle {
namespace {

constexpr int kLaneElements = 16;
// Rows of a thread under way; of a token whose heads share scales it has no more.
constexpr int kStages = 3;
constexpr int kTokenRows = 2;
constexpr int kStageBytes = 32;  // of a thread
// Small blocks: while some wait for their bytes, others compute.
constexpr int kUsualThreads = 128;
constexpr int kMostThreads = 1024;
constexpr int kTokenBytes = 8;  // of shared memory: its range

bool has(const KvSpec& kv, KvGranularity granularity) {
  return kv.k.granularity == granularity || kv.v.granularity == granularity;
}

bool is_power_of_two(int value) { return std::has_single_bit(static_cast<unsigned>(value)); }

void refuse_tensor(const KvTensor& tensor, const std::string& pointer,
                   std::vector<Problem>& problems) {
  if (tensor.granularity == KvGranularity::kGroup &&
      !is_power_of_two(tensor.group_size / kLaneElements)) {
    problems.push_back({pointer + "/group_size", "groups are found by halves of a warp's lanes",
                        fmt::format("{}", tensor.group_size), "16, 32, 64, 128 or 256", ""});
  }
}

bool is_bf16(const KvAppendSpec& spec) {
  return spec.activation == DType::kBf16 || spec.kv.k.dtype == KvDtype::kBf16 ||
         spec.kv.v.dtype == KvDtype::kBf16;
}

void refuse(const Spec& spec, const Target& target) {
  const KvAppendSpec& append = spec.kv_append();
  std::vector<Problem> problems = check_meaning(append);
  if (problems.empty()) problems = refuse_channels(append.kv);
  if (problems.empty()) {
    refuse_tensor(append.kv.k, "/kv/k", problems);
    refuse_tensor(append.kv.v, "/kv/v", problems);
    const KvAppendTile tile = kv_append_tile(append);
    if (tile.threads > kMostThreads) {
      problems.push_back(
          {"/kv/granularity",
           "a block finds the scale of all heads of a token, 16 elements a thread", "\"token\"",
           fmt::format("heads that take at most {} threads, here {}", kMostThreads, tile.threads),
           ""});
    } else if (tile.shared_bytes > target.shared_per_block) {
      problems.push_back(
          {"/kv/k/group_size",
           fmt::format("a block keeps the tokens that share scales in shared memory,"
                       " of which {} has {} bytes",
                       target.name, target.shared_per_block),
           fmt::format("{}, which takes {} bytes", append.kv.k.group_size, tile.shared_bytes),
           "fewer tokens", ""});
    }
  }
  if (target.arch() < 75) {
    problems.push_back({"", fmt::format("no kernel serves target {}", target.name),
                        fmt::format("sm_{}", target.arch()), "sm_75 and up", ""});
  } else if (is_bf16(append) && target.arch() < 80) {
    problems.push_back(
        {"/activation/dtype",
         fmt::format("{} (sm_{}) has no bfloat16 arithmetic", target.name, target.arch()),
         "\"bf16\"", "\"fp16\", also in the cache", ""});
  }
  refuse_if_any(spec, std::move(problems));
}

// Whether lanes of K hold elements that turn with those of other lanes, as AppendRows::kSpan has
// it.
bool turns_across_lanes(const KvAppendSpec& spec) {
  const KvTensor& k = spec.kv.k;
  const int dim = spec.rope.dim;
  return spec.rope.pairing == RopePairing::kNeox && k.granularity == KvGranularity::kGroup &&
         dim / 2 % k.group_size != 0 && k.group_size % dim != 0;
}

// 64 registers hold the rotations and what makes codes of values; 80 also the zero points of two
// groups or 16 channels' scales, 96 twice the rotations.
int threads_of_an_sm(const KvAppendSpec& spec) {
  if (turns_across_lanes(spec)) return 640;
  if (spec.kv.k.granularity == KvGranularity::kChannel) return 768;
  for (const KvTensor* tensor : {&spec.kv.k, &spec.kv.v}) {
    if (tensor->granularity == KvGranularity::kGroup && !tensor->symmetric) return 768;
  }
  return 1024;
}

std::string tensor_name(const KvTensor& tensor) {
  std::string name(to_string(tensor.dtype));
  if (!tensor.symmetric) name += 'z';
  if (tensor.granularity == KvGranularity::kGroup)
    return name + fmt::format("_g{}", tensor.group_size);
  if (tensor.granularity == KvGranularity::kNone) return name;
  name += '_' + std::string(to_string(tensor.granularity));
  return tensor.group_size == 0 ? name : name + fmt::format("{}", tensor.group_size);
}

std::string kernel_name(const KvAppendSpec& spec) {
  std::string types = tensor_name(spec.kv.k);
  if (const std::string v = tensor_name(spec.kv.v); v != types) types += '_' + v;
  return fmt::format("heddle_kv_append_{}_{}_h{}_d{}", to_string(spec.activation), types,
                     spec.shape.kv_heads, spec.shape.head_dim);
}

// templates/kv_append/append_channel.cuh computes the same: scales of the channels, their ranges in
// each warp's tokens, and all values of the tokens that share scales.
int channel_bytes(const KvAppendSpec& spec, const KvAppendTile& tile) {
  const int rounds = (spec.kv.k.group_size + tile.channel_tokens - 1) / tile.channel_tokens;
  const int sides = spec.kv.k.symmetric ? 1 : 2;
  const int ranges = spec.shape.head_dim / 16 * (tile.threads / 32 * sides * 80);
  return 16 + 9 * spec.shape.head_dim + ranges + 32 * tile.threads * rounds;
}

}  // namespace

KvAppendTile kv_append_tile(const KvAppendSpec& spec) {
  KvAppendTile tile;
  const auto [heads, head_dim] = spec.shape;
  const int lanes = (head_dim + kLaneElements - 1) / kLaneElements;
  tile.lanes = static_cast<int>(std::bit_ceil(static_cast<unsigned>(lanes)));
  // Scales per token: all heads of one in a block, kTokenRows rows a thread.
  const bool by_token = has(spec.kv, KvGranularity::kToken);
  tile.slots = by_token ? (heads + kTokenRows - 1) / kTokenRows : 1;
  tile.stages = by_token ? kTokenRows : kStages;
  const int token_threads = tile.slots * tile.lanes;
  tile.tokens = std::max(1, kUsualThreads / token_threads);
  const int threads = tile.tokens * token_threads;
  tile.threads = (threads + 31) / 32 * 32;
  tile.shared_bytes =
      kStageBytes * tile.stages * tile.threads + (by_token ? tile.tokens * kTokenBytes : 0);
  if (spec.kv.k.granularity == KvGranularity::kChannel) {
    tile.channel_tokens = tile.threads / tile.lanes;
    tile.shared_bytes = std::max(tile.shared_bytes, channel_bytes(spec, tile));
  }
  return tile;
}

namespace {

TileKernel plan_kv_append(Plan& plan) {
  refuse(plan.spec, plan.target);
  const KvAppendSpec& spec = plan.spec.kv_append();
  const KvAppendTile tile = kv_append_tile(spec);
  TileKernel kernel;
  kernel.name = kernel_name(spec);
  kernel.tile_rows = tile.tokens;
  kernel.tile_columns = spec.shape.kv_heads * spec.shape.head_dim;
  kernel.threads = tile.threads;
  kernel.shared_bytes = tile.shared_bytes;
  kernel.blocks_per_sm = blocks_that_fit(plan.target, kernel.threads, kernel.shared_bytes,
                                         threads_of_an_sm(spec) / kernel.threads);
  plan.reasons = {
      fmt::format("{} lanes take the {} elements of a row, 16 each, and find its scale among "
                  "themselves",
                  tile.lanes, spec.shape.head_dim),
      fmt::format("a block takes {} heads of {} tokens, of K or of V: the two take turns, so that "
                  "turning K hides behind the bytes of V",
                  spec.shape.kv_heads, tile.tokens)};
  if (spec.kv.k.granularity == KvGranularity::kChannel) {
    plan.reasons[1] = fmt::format(
        "a block takes one head of K in {} tokens that share scales, {} of them at a "
        "time, and {} heads of V in {} tokens",
        spec.kv.k.group_size, tile.channel_tokens, spec.shape.kv_heads, tile.tokens);
  }
  if (has(spec.kv, KvGranularity::kToken)) {
    plan.reasons.emplace_back("scales per token: a block holds all heads of its tokens");
  }
  if (spec.rope.pairing != RopePairing::kNone) {
    plan.reasons.push_back(
        fmt::format("rotations are {} once for each token of a block, in registers",
                    spec.rope.source == RopeSource::kTable ? "read" : "computed"));
  }
  return kernel;
}

// Thread blocks that share the heads of a tile of tokens: one where the tiles keep all SMs busy,
// else as many as do. Scales per token need all heads in one block.
int head_parts(const Plan& plan, const TileKernel& kernel, std::int64_t tokens) noexcept {
  const KvAppendSpec& spec = plan.spec.kv_append();
  if (has(spec.kv, KvGranularity::kToken)) return 1;
  const std::int64_t tiles = 2 * ((tokens + kernel.tile_rows - 1) / kernel.tile_rows);
  const std::int64_t blocks = std::int64_t{plan.target.sm_count} * kernel.blocks_per_sm;
  const std::int64_t heads = spec.shape.kv_heads;
  const std::int64_t parts = std::clamp(blocks / tiles, std::int64_t{1}, heads);
  // No thread has more heads than with this many.
  const std::int64_t rows = (heads + parts - 1) / parts;
  return static_cast<int>((heads + rows - 1) / rows);
}

class KvAppend final : public TileKernelFamily {
 public:
  std::string_view name() const noexcept override { return "kv_append"; }
  bool plans(Op op) const noexcept override { return op == Op::kKvAppend; }
  void plan(Plan& plan) const override {
    PlannedKernel kernel = planned(plan_kv_append(plan), {KernelArgument::kParameters});
    kernel.starts_early = plan.target.arch() >= 90;
    plan.kernels = {std::move(kernel)};
  }
  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    return kv_append_text(plan, tile_kernel_of(kernel));
  }
  // The schedule is the number of thread blocks that share the heads of a tile of tokens.
  KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    const KvAppendSpec& spec = plan.spec.kv_append();
    const TileKernel& tile = tile_kernel_of(kernel);
    KernelLaunch launch;
    launch.schedule = head_parts(plan, tile, size.size);
    const unsigned of_v =
        tile_grid(tile, size.size, 1).grid_x * static_cast<unsigned>(launch.schedule);
    if (spec.kv.k.granularity != KvGranularity::kChannel) {
      launch.grid_x = 2 * of_v;  // K and V in turn
      return launch;
    }
    // K's blocks of tokens, a sequence's first one and those that its new tokens may fill; then V.
    std::int64_t units = size.sequences;
    if (size.has_offsets) units += size.size / spec.kv.k.group_size;
    launch.grid_x = of_v + static_cast<unsigned>(units * spec.shape.kv_heads);
    return launch;
  }
};

}  // namespace

const Family* kv_append_family() {
  static const KvAppend family;
  return &family;
}

}  // namespace heddle
