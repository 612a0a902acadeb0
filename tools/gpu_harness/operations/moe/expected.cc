// The layer in FP64: products by the harness's own kernels, all else on the host.
#include <algorithm>

#include "generator/decode/float16.h"
#include "tools/gpu_harness/numbers/activated.h"
#include "tools/gpu_harness/numbers/as_size.h"
#include "tools/gpu_harness/operations/moe/problem.h"

namespace heddle {
namespace {

class Reference {
 public:
  Reference(const MoeSpec& spec, const MoeProblem& problem, const MoeWeights& weights,
            const HelperKernels& helpers, const OwnedStream& stream)
      : spec_(spec),
        gemms_(moe_gemms(spec)),
        problem_(problem),
        weights_(weights),
        helpers_(helpers),
        stream_(stream),
        format_(float16_format(spec.activation)),
        all_uses_(expert_uses(spec, problem.choices.ids, problem.choices.weights,
                              problem.choices.shared_gates)),
        y_(problem.x.size()) {}

  std::vector<double> compute() {
    for (std::size_t i = 0; i < problem_.residual.size(); ++i) y_[i] = value(problem_.residual[i]);
    for (std::int64_t expert = 0; expert < spec_.device_experts(); ++expert) add(expert);
    return std::move(y_);
  }

 private:
  double value(std::uint16_t bits) const { return float16_to_double(format_, bits); }

  // What the expert adds to its tokens.
  void add(std::int64_t expert) {
    const std::vector<ExpertUse> uses = uses_of(expert);
    if (uses.empty()) return;
    const std::vector<double> sums =
        product(weights_.gate_up_of(expert), gemms_.gate_up, tokens_of(uses));
    const std::vector<double> outputs =
        product(weights_.down_of(expert), gemms_.down, middle_of(expert, uses, sums));
    const std::int64_t hidden = spec_.shape.hidden;
    for (std::size_t row = 0; row < uses.size(); ++row) {
      const double weight = spec_.routing_weight == RoutingWeight::kInput ? 1 : uses[row].weight;
      for (std::int64_t column = 0; column < hidden; ++column) {
        double output = outputs[row * as_size(hidden) + as_size(column)];
        if (spec_.epilogue.bias) {
          output += value(problem_.down_bias[as_size(expert * hidden + column)]);
        }
        y_[as_size(uses[row].token * hidden + column)] += weight * output;
      }
    }
  }

  std::vector<ExpertUse> uses_of(std::int64_t expert) const {
    std::vector<ExpertUse> uses = all_uses_;
    std::erase_if(uses, [&](const ExpertUse& use) { return use.expert != expert; });
    return uses;
  }

  std::vector<std::uint16_t> tokens_of(const std::vector<ExpertUse>& uses) const {
    const auto hidden = spec_.shape.hidden;
    std::vector<std::uint16_t> rows;
    for (const ExpertUse& use : uses) {
      const std::vector<std::uint16_t> row = in_order_of(
          spec_, problem_.permutation, use.expert, problem_.x.data() + as_size(use.token * hidden));
      rows.insert(rows.end(), row.begin(), row.end());
    }
    return rows;
  }

  // rows * W^T, [rows][n], without an epilogue.
  std::vector<double> product(const DeviceWeights& weights, const GemmSpec& gemm,
                              const std::vector<std::uint16_t>& rows) const {
    const auto count = static_cast<int>(std::ssize(rows) / gemm.shape.k);
    const DeviceBuffer x = to_device(rows, stream_);
    const std::size_t values = as_size(count) * as_size(gemm.shape.n);
    const DeviceBuffer y(values * sizeof(double));
    helpers_.reference_gemm(weights.plain(), {}, x.get(), no_epilogue(gemm), y.get(), count,
                            gemm.activation == DType::kBf16, stream_);
    std::vector<double> sums(values);
    y.download(sums.data(), 0, y.bytes(), stream_);
    return sums;
  }

  // What the second product reads.
  std::vector<std::uint16_t> middle_of(std::int64_t expert, const std::vector<ExpertUse>& uses,
                                       const std::vector<double>& sums) const {
    const std::int64_t n = gemms_.gate_up.shape.n;
    const std::int64_t columns = spec_.shape.intermediate;
    std::vector<std::uint16_t> middle;
    for (std::size_t row = 0; row < uses.size(); ++row) {
      const double weight = spec_.routing_weight == RoutingWeight::kInput ? uses[row].weight : 1;
      const auto sum = [&](std::int64_t column) {
        double s = weight * sums[row * as_size(n) + as_size(column)];
        if (spec_.epilogue.bias) s += value(problem_.gate_up_bias[as_size(expert * n + column)]);
        return s;
      };
      for (std::int64_t column = 0; column < columns; ++column) {
        const double output =
            spec_.epilogue.gated
                ? activated(gemms_.gate_up.epilogue, sum(column), sum(columns + column))
                : activated(spec_.epilogue.activation, sum(column));
        middle.push_back(float16_from_double(format_, output));
      }
    }
    return middle;
  }

  const MoeSpec& spec_;
  const MoeGemms gemms_;
  const MoeProblem& problem_;
  const MoeWeights& weights_;
  const HelperKernels& helpers_;
  const OwnedStream& stream_;
  const Float16Format format_;
  const std::vector<ExpertUse> all_uses_;
  std::vector<double> y_;
};

}  // namespace

std::vector<double> expected_moe(const MoeSpec& spec, const MoeProblem& problem,
                                 const MoeWeights& weights, const HelperKernels& helpers,
                                 const OwnedStream& stream) {
  return Reference(spec, problem, weights, helpers, stream).compute();
}

}  // namespace heddle
