#include "generator/families/row_transform/config.h"

#include <algorithm>
#include <bit>

#include "generator/ceil_div.h"
#include "generator/target/capabilities.h"
#include "heddle/spec.h"

namespace heddle {
namespace {

using device::RowTransformConfig;

constexpr int kWarp = 32;
constexpr int kMostThreads = 1024;
// Threads of a block whose rows take a warp or less.
constexpr int kShortRowThreads = 128;
// The fewest threads of a row that read 128 bytes, a whole line, in one instruction.
constexpr int kLineLanes = 8;
// Vectors of a row that a thread holds: usually, and where blocks with fewer would be so large that
// no two of them share an SM. A gate has two vectors of X for each until its values are kept.
constexpr int kUsualVectors = 4;
constexpr int kMostVectors = 8;
int usual_vectors(const RowTransformConfig& config) {
  return config.keeps_values() && config.norm == NormType::kNone ? kUsualVectors / 2
                                                                 : kUsualVectors;
}
int most_vectors(const RowTransformConfig& config) {
  return usual_vectors(config) * (kMostVectors / kUsualVectors);
}
// Vectors of a thread of the largest blocks, which have 64 registers for each thread: values that
// are kept take twice as many as values of 16 bits.
int vectors_of_largest(const RowTransformConfig& config) {
  return config.keeps_values() ? kUsualVectors / 2 : kUsualVectors;
}
constexpr int kUsualThreads = 384;
constexpr int kMostHeldThreads = 512;

int blocks_of(int count, int unit) { return static_cast<int>(ceil_div(count, unit)); }
int whole(int count, int unit) { return blocks_of(count, unit) * unit; }

// Threads of a row for which a whole number of rows makes whole warps.
int lanes_for(int threads) {
  if (threads > kWarp) return whole(threads, kWarp);
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(threads)));
}

RowTransformConfig base(const RowTransformSpec& spec, const Target& target) {
  RowTransformConfig config{};
  config.columns = static_cast<int>(spec.shape.columns);
  config.parts = 1;
  config.norm = spec.norm.type;
  config.epsilon_bits = std::bit_cast<int>(spec.norm.epsilon.value_or(0.0F));
  config.weight_offset = spec.norm.weight_offset;
  config.bias = spec.norm.bias;
  config.residual = spec.residual;
  config.gate = spec.gate.order;
  config.activation = spec.gate.activation;
  config.dependent = has_dependent_launch(target);
  config.output = {spec.output.dtype,       spec.output.granularity,  !spec.output.symmetric,
                   spec.output.scale_dtype, spec.output.scale_layout, spec.output.pre_scale};
  return config;
}

// Vectors of 16 bytes of X that become one of Y.
int inputs_of(const RowTransformConfig& config) { return config.gate == GateOrder::kNone ? 1 : 2; }

// A row that does not fit in a block's registers is walked through by as many threads as there can
// be.
RowTransformConfig long_rows(RowTransformConfig config) {
  config.lanes = kMostThreads;
  config.rows = 1;
  // A gate has two vectors for each, and a norm of 8 bits what codes are made of besides.
  const bool few = config.gate != GateOrder::kNone || !config.output.is_16_bit();
  config.vectors = few ? kUsualVectors / 2 : kUsualVectors;
  return config;
}

// Weights stay in registers where there is room for them in so many blocks of an SM.
RowTransformConfig held(RowTransformConfig config, const Target& target, int blocks) {
  config.vectors = blocks_of(config.row_vectors(), config.lanes);
  config.in_registers = true;
  if (config.norm == NormType::kNone) return config;
  config.holds_weights = true;
  const int most = target.registers_per_sm / (blocks * config.threads());
  config.holds_weights = config.vectors <= kUsualVectors && registers_of(config, target) <= most;
  return config;
}

// Threads along a row that is no unit of work: blocks take parts of it.
RowTransformConfig gate_config(RowTransformConfig config, int vectors) {
  config.lanes = lanes_for(std::min(config.row_vectors(), kShortRowThreads));
  config.rows = kShortRowThreads / config.lanes;
  config.vectors = std::min(vectors, blocks_of(config.row_vectors(), config.lanes));
  config.parts = blocks_of(config.row_vectors(), config.lanes * config.vectors);
  return config;
}

}  // namespace

int registers_of(const RowTransformConfig& config, const Target& target) {
  constexpr int kUnit = 8;  // that they are allotted in
  // Found with the compile matrix; Turing widens FP16 through more of them.
  const int other = has_bf16(target) ? 32 : 40;
  constexpr int kOfVector = 4;
  if (config.norm == NormType::kNone) {
    // The activation takes 16 more.
    const int inputs = config.keeps_values() ? 2 : inputs_of(config);
    return whole(other + 16 + kOfVector * config.vectors * inputs, kUnit);
  }
  const int weights = 1 + (config.bias ? 1 : 0) + (config.output.pre_scale ? 1 : 0);
  // What is needed only while X is added to the residual, and only while Y is computed.
  const int added =
      config.residual ? std::min(config.vectors, RowTransformConfig::kChunkVectors) : 0;
  const int read_again = config.holds_weights ? 0 : weights * config.chunk_weights();
  const int widened = weights * device::kVectorElements;
  const int for_a_while = std::max(kOfVector * added, kOfVector * read_again + widened);
  const int held =
      config.vectors * ((config.keeps_values() ? 2 : 1) + (config.holds_weights ? weights : 0));
  return whole(other + kOfVector * held + for_a_while, kUnit);
}

RowTransformConfig few_rows_config(const RowTransformSpec& spec, const Target& target) {
  RowTransformConfig config = base(spec, target);
  if (!config.takes_rows()) return gate_config(config, 1);
  const int vectors = config.row_vectors();
  if (vectors > vectors_of_largest(config) * kMostThreads) return many_rows_config(spec, target);
  config.lanes = lanes_for(std::min(vectors, kMostThreads));
  config.rows = std::max(1, kWarp / config.lanes);
  return held(config, target, 1);
}

RowTransformConfig many_rows_config(const RowTransformSpec& spec, const Target& target) {
  RowTransformConfig config = base(spec, target);
  if (!config.takes_rows()) return gate_config(config, kUsualVectors / inputs_of(config));
  const int vectors = config.row_vectors();
  const int of_thread = std::clamp(blocks_of(vectors, kLineLanes), 1, usual_vectors(config));
  config.lanes = lanes_for(blocks_of(vectors, of_thread));
  if (config.output.granularity == RowGranularity::kGroup) {
    // The vectors of a group are those of neighbouring lanes.
    config.lanes = std::max(config.lanes, lanes_for(std::min(vectors, device::kRowGroupVectors)));
  }
  if (config.lanes > kUsualThreads)
    config.lanes = lanes_for(blocks_of(vectors, most_vectors(config)));
  // A block's warps are spread over the quarters of an SM, each with a quarter of its registers.
  if (config.keeps_values() && config.lanes > kWarp) config.lanes = whole(config.lanes, 4 * kWarp);
  if (config.lanes > kMostHeldThreads) return long_rows(config);
  config.rows = std::max(1, config.lanes > kWarp ? 1 : kShortRowThreads / config.lanes);
  // While one block waits for its sums, another one reads.
  return held(config, target, 2);
}

}  // namespace heddle
