// K and V of new tokens, normalised, rotated and quantised, into a key-value cache, and Q of these
// tokens into a tensor of its own.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "generator/families/all.h"
#include "generator/families/blocks_that_fit.h"
#include "generator/families/configuration.h"
#include "generator/families/family.h"
#include "generator/families/fields.h"
#include "generator/families/fields_json.h"
#include "generator/families/kv_append/config.h"
#include "generator/families/kv_append/refusals.h"
#include "generator/families/kv_name.h"
#include "generator/families/value_type.h"
#include "generator/kv/rope.h"

namespace heddle {
namespace {

using device::KvAppendConfig;

// Whether lanes of K hold elements that turn with those of other lanes.
bool turns_across_lanes(const KvAppendConfig& config) {
  return config.rope == RopePairing::kNeox && config.span_of(config.k, true) == 0;
}

// 64 registers hold the rotations and what makes codes of values; 80 also the zero points of two
// groups, 16 channels' scales or the weights of a norm, 96 twice the rotations, or both of the last
// two. Twice the rotations and twice the weights take 128.
int threads_of_an_sm(const KvAppendSpec& spec, const KvAppendConfig& config) {
  const bool norm = config.normalizes();
  if (turns_across_lanes(config)) return norm ? 512 : 640;
  if (spec.kv.k.granularity == KvGranularity::kChannel) return norm ? 640 : 768;
  if (norm) return 768;
  for (const KvTensor* tensor : {&spec.kv.k, &spec.kv.v}) {
    if (tensor->granularity == KvGranularity::kGroup && !tensor->symmetric) return 768;
  }
  return 1024;
}

bool is_by_token(const KvAppendSpec& spec) {
  return spec.kv.k.granularity == KvGranularity::kToken ||
         spec.kv.v.granularity == KvGranularity::kToken;
}

std::string append_kernel_name(const KvAppendSpec& spec) {
  const std::string types = kv_name(spec.kv);
  std::string name = fmt::format("heddle_kv_append_{}_{}_h{}_d{}", to_string(spec.activation),
                                 types, spec.shape.kv_heads, spec.shape.head_dim);
  if (spec.query.heads != 0) name += fmt::format("_q{}", spec.query.heads);
  return name;
}

// What each pair turns by from one position to the next.
std::string frequencies_text(const RopeSpec& rope) {
  if (rope.pairing == RopePairing::kNone || rope.source == RopeSource::kTable) {
    return "struct Frequencies {};\n";
  }
  std::string text = fmt::format("// 2^64 / (2 pi) * {}^(-2i / {})", rope.base, rope.dim);
  if (rope.scaling.type != RopeScalingType::kNone) {
    text += fmt::format(", scaled as {} does it", to_string(rope.scaling.type));
  }
  text += '\n';
  text += fmt::format("__device__ const u64 rope_frequencies[{}] = {{", rope.dim / 2);
  const auto frequencies = rope_frequencies(rope);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    text += fmt::format("{}0x{:016x}u,", i % 4 == 0 ? "\n    " : " ", frequencies[i]);
  }
  return text +
         "\n};\n"
         "struct Frequencies {\n"
         "  static __device__ __forceinline__ u64 of(int pair) { return rope_frequencies[pair]; }\n"
         "};\n";
}

std::vector<std::string> append_reasons(const KvAppendSpec& spec, const KvAppendConfig& config) {
  std::vector<std::string> reasons = {
      fmt::format("{} lanes take the {} elements of a row, 16 each, and find its scale among "
                  "themselves",
                  config.lanes, config.head_dim)};
  if (spec.kv.k.granularity == KvGranularity::kChannel) {
    reasons.push_back(
        fmt::format("a block takes one head of K in {} tokens that share scales, {} of them at a "
                    "time, and {} heads of V in {} tokens",
                    config.k.group_size, config.channel_tokens(), config.heads, config.tokens));
  } else {
    reasons.push_back(fmt::format(
        "a block takes {} heads of {} tokens, of K or of V: the two take turns, so that "
        "turning K hides behind the bytes of V",
        config.heads, config.tokens));
  }
  if (is_by_token(spec)) {
    reasons.emplace_back("scales per token: a block holds all heads of its tokens");
  }
  if (spec.query.heads != 0) {
    reasons.push_back(fmt::format(
        "blocks behind those of K and V take the {} heads of Q, as many in each of them",
        spec.query.heads));
  }
  if (config.normalizes()) {
    reasons.emplace_back(
        "the lanes of a row find its norm among themselves, and hold their weights");
  }
  if (spec.rope.pairing != RopePairing::kNone) {
    reasons.push_back(fmt::format("rotations are {} once for each token of a block, in registers",
                                  config.rope_table ? "read" : "computed"));
  }
  return reasons;
}

// Thread blocks that share the heads of a tile of tokens: one where the tiles keep all SMs busy,
// else as many as do. Scales per token need all heads in one block.
int head_parts(const Plan& plan, const PlannedKernel& kernel, std::int64_t tiles) noexcept {
  const KvAppendSpec& spec = plan.spec.kv_append();
  if (is_by_token(spec)) return 1;
  const std::int64_t blocks = std::int64_t{plan.target.sm_count} * kernel.blocks_per_sm;
  const std::int64_t heads = spec.shape.kv_heads;
  // Work of all tiles, in units of K's heads: K, V, and Q, which has a multiple of these heads.
  const std::int64_t works = (2 + spec.query.heads / heads) * tiles;
  const std::int64_t parts = std::clamp(blocks / works, std::int64_t{1}, heads);
  // No thread has more heads than with this many.
  const std::int64_t rows = device::ceil_div(heads, parts);
  return static_cast<int>(device::ceil_div(heads, rows));
}

class KvAppend final : public Family {
 public:
  std::string_view name() const noexcept override { return "kv_append"; }

  std::vector<Problem> exclusions(const Spec& spec, const Target& target,
                                  const MRange& /*sizes*/) const override {
    return refuse_kv_append(spec.kv_append(), target);
  }

  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& /*sizes*/) const override {
    const KvAppendSpec& spec = plan.spec.kv_append();
    const KvAppendConfig config = kv_append_config(spec, plan.target);
    PlannedKernel kernel;
    kernel.family = this;
    kernel.configuration = make_configuration(config);
    kernel.threads = config.threads();
    kernel.shared_bytes = config.shared_bytes();
    kernel.blocks_per_sm = blocks_that_fit(plan.target, kernel.threads, kernel.shared_bytes,
                                           threads_of_an_sm(spec, config) / kernel.threads);
    kernel.starts_early = config.dependent;
    kernel.arguments = {KernelArgument::kParameters};
    return {std::move(kernel)};
  }

  std::string kernel_name(const Plan& plan, const PlannedKernel& /*kernel*/) const override {
    return append_kernel_name(plan.spec.kv_append());
  }

  std::vector<std::string> reasons(const Plan& plan) const override {
    return append_reasons(plan.spec.kv_append(), config_of<KvAppendConfig>(plan.kernels.front()));
  }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    const KvAppendSpec& spec = plan.spec.kv_append();
    KernelText text;
    text.template_path = "kv_append/kv_append.cuh";
    text.decisions = describe(kernel) + " of all heads\n";
    text.definitions =
        frequencies_text(spec.rope) + '\n' +
        families::config_struct("KvAppendConfig", config_of<KvAppendConfig>(kernel),
                                {"using Value = " + value_type(spec.activation) + ';',
                                 "using Frequencies = heddle::Frequencies;"});
    text.function = "kv_append<heddle::Config>";
    text.parameter_type = "KvAppendParameters";
    return text;
  }

  // The schedule is the number of thread blocks that share the heads of a tile of tokens.
  KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    const auto& config = config_of<KvAppendConfig>(kernel);
    const std::int64_t tiles = device::ceil_div(size.size, config.tokens);
    KernelLaunch launch;
    launch.schedule = head_parts(plan, kernel, tiles);
    const auto of_v = static_cast<unsigned>(tiles) * static_cast<unsigned>(launch.schedule);
    const auto of_q =
        static_cast<unsigned>(tiles) * static_cast<unsigned>(config.query_parts(launch.schedule));
    if (config.k.granularity != device::KvGranularity::kChannel) {
      launch.grid_x = 2 * of_v + of_q;  // K and V in turn, then Q
      return launch;
    }
    // K's blocks of tokens, a sequence's first one and those that its new tokens may fill; then V
    // and Q.
    std::int64_t units = size.sequences;
    if (size.has_offsets) units += size.size / config.k.group_size;
    launch.grid_x = of_v + of_q + static_cast<unsigned>(units * config.heads);
    return launch;
  }

  std::string describe(const PlannedKernel& kernel) const override {
    const auto& config = config_of<KvAppendConfig>(kernel);
    return fmt::format("tiles of {} tokens x {} elements", config.tokens,
                       config.heads * config.head_dim);
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    const auto& config = config_of<KvAppendConfig>(kernel);
    return fmt::format("{}x{}", config.tokens, config.heads * config.head_dim);
  }
  nlohmann::ordered_json json(const PlannedKernel& kernel) const override {
    return families::fields_json(config_of<KvAppendConfig>(kernel));
  }
};

}  // namespace

const Family* kv_append_family() {
  static const KvAppend family;
  return &family;
}

}  // namespace heddle
