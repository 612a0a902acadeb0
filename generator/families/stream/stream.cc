// GEMM for few tokens: weights are streamed past tokens that stay in shared memory.
#include "generator/families/stream/stream.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "generator/families/all.h"
#include "generator/families/byte_codes.h"
#include "generator/families/gemm_config.h"
#include "generator/families/stream/product.h"
#include "generator/families/stream/shape.h"

namespace heddle {

using device::StreamConfig;

KernelLaunch StreamFamily::launch(const Plan& /*plan*/, const PlannedKernel& kernel,
                                  const LaunchSize& /*size*/) const noexcept {
  const auto& config = config_of<StreamConfig>(kernel);
  return {static_cast<unsigned>(config.workers), 1, 1, static_cast<unsigned>(config.cluster)};
}

std::string StreamFamily::describe(const PlannedKernel& kernel) const {
  const auto& c = config_of<StreamConfig>(kernel);
  return fmt::format(
      "stages {} of {} columns, {} warps along K, {} blocks in clusters of {}, "
      "split K {}, {}",
      c.stages, stream_stage_columns(c), c.warps_k, c.workers, c.cluster, c.split_k,
      scale_text(c.scaling.mode));
}

std::string StreamFamily::tile_text(const PlannedKernel& kernel) const {
  const auto& c = config_of<StreamConfig>(kernel);
  return fmt::format("{}x{}x{} s{} k{}", c.token_tiles() * kTokenTile, device::Chunk::kRows,
                     stream_stage_columns(c), c.stages, c.split_k);
}

std::string StreamFamily::label(const PlannedKernel& kernel) const {
  const auto& c = config_of<StreamConfig>(kernel);
  return fmt::format("warps {} chunks {} stages {} split {}", c.warps_k, c.stage_chunks, c.stages,
                     c.split_k);
}

std::optional<std::string> StreamFamily::arithmetic_for(const GemmRequest& gemm,
                                                        const PlannedKernel& kernel) const {
  if (adds_integers(gemm.spec)) return std::string(kIntegerArithmetic);
  return stream_arithmetic(config_of<StreamConfig>(kernel));
}

KernelText StreamFamily::text_with(const Plan& plan, const PlannedKernel& kernel,
                                   const Policies& policies) {
  std::vector<std::string> aliases = gemm_aliases(gemm_request(plan).spec);
  aliases.emplace_back("using Schedule = StridedRows<StreamShape<Config>>;");
  aliases.push_back(fmt::format("using Products = {};", policies.products));
  aliases.push_back(fmt::format("using Sums = {};", policies.sums));
  return gemm_text(
      plan, kernel, policies.path,
      families::config_struct("StreamConfig", config_of<StreamConfig>(kernel), aliases),
      policies.function);
}

namespace {

class Stream final : public StreamFamily {
 public:
  std::string_view name() const noexcept override { return "stream"; }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    return text_with(
        plan, kernel,
        {"StreamHalfProducts<Value>", "FloatSums", "stream/stream.cuh", "gemm_stream"});
  }

  const std::vector<CostParameter>& cost_parameters() const noexcept override {
    static const std::vector<CostParameter> parameters = stream_cost_parameters(false);
    return parameters;
  }
  int cost_version() const noexcept override { return 3; }
};

}  // namespace

const Family* stream_family() {
  static const Stream stream;
  return &stream;
}

}  // namespace heddle
