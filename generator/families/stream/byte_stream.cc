// GEMM for few tokens of eight bits by weights of four, by streams.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "generator/families/all.h"
#include "generator/families/byte_codes.h"
#include "generator/families/stream/stream.h"

namespace heddle {
namespace {

using device::StreamConfig;
using device::TokenValues;

class ByteStream final : public StreamFamily {
 public:
  std::string_view name() const noexcept override { return "byte_stream"; }
  bool multiplies_bytes() const noexcept override { return true; }
  bool multiplies_halves() const noexcept override { return false; }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    const GemmSpec& spec = gemm_request(plan).spec;
    const std::string products =
        spec.activation == DType::kInt8
            ? "StreamInt8Products"
            : fmt::format("StreamFp8Products<{}>", token_codes(spec.activation));
    return text_with(
        plan, kernel,
        {products, sums_of_codes(spec), "stream/decoded_bytes.cuh", "gemm_stream_decoded"});
  }

  void complete_for(const GemmRequest& gemm, PlannedKernel& candidate) const override {
    StreamFamily::complete_for(gemm, candidate);
    StreamConfig config = config_of<StreamConfig>(candidate);
    if (!config.has_fp8()) return;
    config.scaling.result_exponent = byte_stream_decode_plan(gemm).result_exponent;
    candidate.configuration = make_configuration(config);
  }
  DecodePlan decode_plan(const Plan& plan, const PlannedKernel& kernel) const override {
    const auto& config = config_of<StreamConfig>(kernel);
    return config.has_fp8() ? byte_stream_decode_plan(gemm_request(plan))
                            : StreamFamily::decode_plan(plan, kernel);
  }

  std::vector<std::string> reasons(const Plan& plan) const override {
    const auto takes_fp8 = [this](const PlannedKernel& kernel) {
      return kernel.family == this && config_of<StreamConfig>(kernel).has_fp8();
    };
    if (std::none_of(plan.kernels.begin(), plan.kernels.end(), takes_fp8)) return {};
    return {
        "streams multiply FP8 as FP16, to which they decode weights, and add products in FP32; "
        "columns 4t to 4t + 3 of a tile are 2t, 2t + 8, 2t + 1 and 2t + 9 of that decode plan"};
  }

  std::string describe(const PlannedKernel& kernel) const override {
    const auto& c = config_of<StreamConfig>(kernel);
    return fmt::format("{}{}tokens by {}", StreamFamily::describe(kernel), fp8_text(c.token_values),
                       c.bulk_tokens ? "bulk copies" : "registers");
  }
  std::string label(const PlannedKernel& kernel) const override {
    const auto& c = config_of<StreamConfig>(kernel);
    const bool is_in_loop = c.token_values == TokenValues::kFp8InLoop && !c.bulk_tokens;
    return StreamFamily::label(kernel) + (is_in_loop ? " in_loop" : "") +
           (c.bulk_tokens ? " bulk" : "");
  }

  const std::vector<CostParameter>& cost_parameters() const noexcept override {
    static const std::vector<CostParameter> parameters = stream_cost_parameters(true);
    return parameters;
  }

 private:
  static std::string_view fp8_text(TokenValues values) {
    switch (values) {
      case TokenValues::kFp8InLoop:
        return ", FP8 becomes FP16 in the loop, ";
      case TokenValues::kFp8OnTheWay:
        return ", FP8 becomes FP16 on its way to shared memory, ";
      default:
        return ", ";
    }
  }
};

}  // namespace

const Family* byte_stream_family() {
  static const ByteStream family;
  return &family;
}

}  // namespace heddle
