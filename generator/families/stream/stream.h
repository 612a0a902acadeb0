// What streams of tokens of 16 bits and of 8 have in common.
#ifndef HEDDLE_GENERATOR_FAMILIES_STREAM_STREAM_H_
#define HEDDLE_GENERATOR_FAMILIES_STREAM_STREAM_H_

#include <string>
#include <string_view>
#include <vector>

#include "generator/families/gemm_kernel.h"
#include "generator/families/stream/candidates.h"
#include "generator/families/stream/cost.h"
#include "generator/families/stream/refuse.h"
#include "stream/config.h"

namespace heddle {

class StreamFamily : public GemmFamilyOf<device::StreamConfig> {
 public:
  KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override;
  std::int64_t size_step(const PlannedKernel& kernel) const noexcept override {
    return kernel.size_max;
  }

  std::string describe(const PlannedKernel& kernel) const override;
  std::string tile_text(const PlannedKernel& kernel) const override;
  std::string label(const PlannedKernel& kernel) const override;

  std::vector<Problem> exclusions_for(const GemmSpec& spec, const Target& target,
                                      const MRange& m) const override {
    return stream_exclusions(spec, target, m);
  }
  std::vector<PlannedKernel> candidates_for(const GemmRequest& gemm,
                                            const MRange& m) const override {
    return stream_candidates(*this, gemm, m);
  }
  std::vector<Problem> refusals_for(const GemmRequest& gemm, const MRange& m) const override {
    return stream_refusals(*this, gemm, m);
  }

  double predicted_us_for(const GemmRequest& gemm, const PlannedKernel& kernel, std::int64_t m,
                          Costs costs) const override {
    return stream_us(gemm, kernel, m, costs);
  }

  std::optional<std::string> arithmetic_for(const GemmRequest& gemm,
                                            const PlannedKernel& kernel) const override;

  Path path(const PlannedKernel& /*kernel*/) const noexcept override { return Path::kHopper; }

 protected:
  // Products, sums, and the template that has them.
  struct Policies {
    std::string products;
    std::string_view sums, path, function;
  };
  static KernelText text_with(const Plan& plan, const PlannedKernel& kernel,
                              const Policies& policies);
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_STREAM_STREAM_H_
