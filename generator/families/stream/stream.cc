// GEMM for few tokens: weights are streamed past tokens that stay in shared memory.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "generator/families/all.h"
#include "generator/families/byte_codes.h"
#include "generator/families/gemm_config.h"
#include "generator/families/gemm_kernel.h"
#include "generator/families/stream/candidates.h"
#include "generator/families/stream/shape.h"
#include "stream/config.h"

namespace heddle {
namespace {

using device::StreamConfig;

// What products and sums are, and the template: codes of eight bits have one of its own.
struct Products {
  std::string products;
  std::string_view sums;
  std::string_view path = "stream/decoded_bytes.cuh", function = "gemm_stream_decoded";
};
Products products_of(const GemmSpec& spec) {
  if (!spec.has_byte_activations()) {
    return {"StreamHalfProducts<Value>", "FloatSums", "stream/stream.cuh", "gemm_stream"};
  }
  if (spec.activation == DType::kInt8) return {"StreamInt8Products", sums_of_codes(spec)};
  return {fmt::format("StreamFp8Products<{}>", token_codes(spec.activation)), sums_of_codes(spec)};
}

class Stream final : public GemmFamilyOf<StreamConfig> {
 public:
  std::string_view name() const noexcept override { return "stream"; }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    const Products products = products_of(plan.spec.gemm());
    std::vector<std::string> aliases = gemm_aliases(plan.spec.gemm());
    aliases.emplace_back("using Schedule = StridedRows<StreamShape<Config>>;");
    aliases.push_back(fmt::format("using Products = {};", products.products));
    aliases.push_back(fmt::format("using Sums = {};", products.sums));
    return gemm_text(
        plan, kernel, products.path,
        families::config_struct("StreamConfig", config_of<StreamConfig>(kernel), aliases),
        products.function);
  }
  bool multiplies_bytes() const noexcept override { return true; }

  void complete(const Plan& plan, PlannedKernel& candidate) const override {
    GemmFamilyOf::complete(plan, candidate);
    StreamConfig config = config_of<StreamConfig>(candidate);
    if (!config.widens_codes) return;
    config.scaling.result_exponent = stream_decode_plan(plan).result_exponent;
    candidate.configuration = make_configuration(config);
  }
  DecodePlan decode_plan(const Plan& plan, const PlannedKernel& kernel) const override {
    const auto& config = config_of<StreamConfig>(kernel);
    return config.widens_codes ? stream_decode_plan(plan) : GemmFamilyOf::decode_plan(plan, kernel);
  }

  KernelLaunch launch(const Plan& /*plan*/, const PlannedKernel& kernel,
                      const LaunchSize& /*size*/) const noexcept override {
    const auto& config = config_of<StreamConfig>(kernel);
    return {static_cast<unsigned>(config.workers), 1, 1, static_cast<unsigned>(config.cluster)};
  }
  std::int64_t size_step(const PlannedKernel& kernel) const noexcept override {
    return kernel.size_max;
  }

  std::string describe(const PlannedKernel& kernel) const override {
    const auto& c = config_of<StreamConfig>(kernel);
    return fmt::format(
        "stages {} of {} columns, {} warps along K, {} blocks in clusters of {}, split K {}, "
        "{}{}",
        c.stages, stream_stage_columns(c), c.warps_k, c.workers, c.cluster, c.split_k,
        c.widens_codes ? "FP8 as FP16, " : "", scale_text(c.scaling.mode));
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    const auto& c = config_of<StreamConfig>(kernel);
    return fmt::format("{}x{}x{} s{} k{}", c.token_tiles() * kTokenTile, device::Chunk::kRows,
                       stream_stage_columns(c), c.stages, c.split_k);
  }

  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& m) const override {
    return stream_candidates(plan, m);
  }
  std::vector<Problem> refusals(const Plan& plan, const MRange& m) const override {
    return stream_refusals(plan, m);
  }
  std::string why_none(const Plan& plan, const MRange& m) const override {
    return why_no_stream(plan, m);
  }
  const std::vector<CostParameter>& cost_parameters() const noexcept override {
    return stream_cost_parameters();
  }
  int cost_version() const noexcept override { return 2; }
  double predicted_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t m,
                      Costs costs) const override {
    return stream_us(plan, kernel, m, costs);
  }

  Path path(const PlannedKernel& /*kernel*/) const noexcept override { return Path::kHopper; }

  std::string label(const PlannedKernel& kernel) const override {
    const auto& c = config_of<StreamConfig>(kernel);
    return fmt::format("warps {} chunks {} stages {} split {}", c.warps_k, c.stage_chunks, c.stages,
                       c.split_k);
  }
};

}  // namespace

const Family* stream_family() {
  static const Stream stream;
  return &stream;
}

}  // namespace heddle
