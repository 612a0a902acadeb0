// The rules between the fields of a gemm.
#include <string>

#include "generator/operations/gemm/gemm.h"
#include "generator/operations/gemm/output_meaning.h"
#include "generator/spec/byte_meaning.h"
#include "generator/spec/weight_meaning.h"

namespace heddle {
namespace {

constexpr int kWarpM = 8;  // one matrix instruction of a warp
constexpr int kWarpN = 16;
constexpr int kWarpK = 64;  // one 16-byte load of 4-bit weights
constexpr int kMostWarps = 32;

void check_m(const GemmShape& shape, Problems& problems) {
  if (shape.m_min <= shape.m_max) return;
  problems.push_back({"/shape/m", "the smallest M is larger than the largest",
                      '[' + std::to_string(shape.m_min) + ", " + std::to_string(shape.m_max) + ']',
                      "[smallest, largest]", ""});
}

std::string multiples_of(std::int64_t step) { return "multiples of " + std::to_string(step); }

// `extent` of a block must hold whole steps of all its warps.
void check_extent(const char* name, std::optional<int> extent, std::optional<int> warps, int step,
                  Problems& problems) {
  const int whole = step * warps.value_or(1);
  if (!extent || *extent % whole == 0) return;
  std::string message = "each warp takes whole steps of " + std::to_string(step);
  if (warps) message += ", and there are " + std::to_string(*warps) + " warps";
  problems.push_back(
      {std::string("/tile/") + name, message, std::to_string(*extent), multiples_of(whole), ""});
}

void check_tile(const TileSpec& tile, Problems& problems) {
  check_extent("m", tile.m, tile.warps_m, kWarpM, problems);
  check_extent("n", tile.n, tile.warps_n, kWarpN, problems);
  check_extent("k", tile.k, tile.warps_k, kWarpK, problems);
  const int warps = tile.warps_m.value_or(1) * tile.warps_n.value_or(1) * tile.warps_k.value_or(1);
  if (warps > kMostWarps) {
    problems.push_back({"/tile", "warps_m * warps_n * warps_k is more than a block can have",
                        std::to_string(warps), "at most 32 warps", ""});
  }
}

// A matrix instruction multiplies two values of one type.
void check_plain_type(const GemmSpec& gemm, Problems& problems) {
  const WeightType wanted = gemm.activation == DType::kBf16 ? WeightType::kBf16 : WeightType::kFp16;
  const bool has_codes = gemm.weight.has_scales() || gemm.has_byte_activations();
  if (has_codes || gemm.weight.type == wanted) return;
  problems.push_back({"/weight/type", "weights that are not quantised are of the activation's type",
                      '"' + std::string(to_string(gemm.weight.type)) + '"',
                      '"' + std::string(to_string(wanted)) + "\", or a quantised type", ""});
}

// No kernel converts X before the matrix instruction takes it.
void check_multiply(const GemmSpec& gemm, Problems& problems) {
  if (gemm.multiply_dtype() == gemm.activation || gemm.has_byte_activations()) return;
  problems.push_back({"/multiply/dtype", "no kernel multiplies in another type than X has",
                      '"' + std::string(to_string(*gemm.multiply)) + '"',
                      '"' + std::string(to_string(gemm.activation)) +
                          "\", the type of X; or another activation.dtype",
                      ""});
}

void check_limits(const EpilogueSpec& epilogue, Problems& problems) {
  const bool clamped = epilogue.activation == Activation::kClampedSwiglu;
  const bool situ = epilogue.activation == Activation::kSitu;
  const bool may_clamp = situ || (epilogue.gated && epilogue.activation == Activation::kSilu);
  if (!may_clamp && clamped != (epilogue.limit != 0)) {
    problems.push_back({"/epilogue/limit",
                        clamped ? "clamped_swiglu needs its limit"
                                : "only clamped_swiglu, situ and gated silu have a limit",
                        std::to_string(epilogue.limit), clamped ? "1 or more" : "0", ""});
  }
  if (situ != (epilogue.gate_limit != 0)) {
    problems.push_back({"/epilogue/gate_limit",
                        situ ? "situ needs the limit of its gates" : "only situ has one",
                        std::to_string(epilogue.gate_limit), situ ? "1 or more" : "0", ""});
  }
}

void check_epilogue(const GemmSpec& gemm, Problems& problems) {
  const EpilogueSpec& epilogue = gemm.epilogue;
  const bool takes_two =
      epilogue.activation == Activation::kClampedSwiglu || epilogue.activation == Activation::kSitu;
  if (epilogue.gated) check_gated(gemm.shape.n, problems);
  if (takes_two && !epilogue.gated) {
    const std::string name(to_string(epilogue.activation));
    problems.push_back({"/epilogue/activation", name + " takes a gate and an up", '"' + name + '"',
                        "with epilogue.gated only", ""});
  }
  check_limits(epilogue, problems);
}

}  // namespace

std::vector<Problem> check_meaning(const GemmSpec& gemm) {
  Problems problems;
  check_m(gemm.shape, problems);
  check_sides({gemm.shape.n, gemm.shape.k}, problems);
  check_weight({gemm.shape.n, gemm.shape.k}, gemm.weight, problems);
  check_plain_type(gemm, problems);
  check_multiply(gemm, problems);
  check_byte_activations(gemm, problems);
  check_output_scale(gemm, problems);
  check_tile(gemm.tile, problems);
  check_epilogue(gemm, problems);
  if (gemm.path == Path::kTuring && gemm.activation == DType::kBf16) {
    problems.push_back({"/path", "the turing path has no BF16 matrix instruction", "\"turing\"",
                        "\"auto\" or \"ampere\", or FP16 activations", ""});
  }
  return problems;
}

}  // namespace heddle
