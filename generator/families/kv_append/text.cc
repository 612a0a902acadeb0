#include "generator/families/kv_append/text.h"

#include <fmt/format.h>

#include <string>

#include "generator/families/kv_append/kv_append_tile.h"
#include "generator/families/value_type.h"
#include "generator/kv/kv_rule.h"
#include "generator/kv/rope.h"
#include "generator/render/config.h"
#include "generator/render/kv_granularity.h"
#include "generator/render/scale_type.h"
#include "heddle/kv_cache.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

constexpr std::string_view kTemplate = "kv_append/kv_append.cuh";
constexpr std::string_view kTensorTemplate = "kv_append/encode.cuh";

std::string pairing_name(RopePairing pairing) {
  if (pairing == RopePairing::kNone) return "kNone";
  return pairing == RopePairing::kNeox ? "kNeox" : "kGptj";
}

std::string tensor_text(const KvTensor& tensor, const KvTensorLayout& layout, DType activation,
                        const char* name) {
  const KvRule rule = kv_rule(tensor);
  const DType scale = tensor.scale_dtype.value_or(DType::kFp32);
  ConfigWriter config;
  config.number("kBits", rule.bits);
  config.flag("k16Bit", rule.is_16_bit);
  config.flag("kFloatCodes", rule.is_float);
  // Integer codes have no use for these, but SmallFloat wants some format.
  config.number("kExponentBits", rule.is_float ? rule.code_float.exponent_bits : 1);
  config.number("kMantissaBits", rule.code_float.mantissa_bits);
  config.number("kLargestCode", rule.code_float.largest);
  config.flag("kAsymmetric", !tensor.symmetric);
  config.number("kLow", rule.low);
  config.number("kHigh", rule.high);
  config.number("kBias", rule.bias);
  config.number("kDivisor", static_cast<std::int64_t>(rule.divisor));
  config.enumerator("kGranularity", "KvGranularity", kv_granularity_name(tensor.granularity));
  config.number("kGroupSize", tensor.group_size);
  config.flag("kGivenFactor", tensor.dtype == KvDtype::kNvfp4);
  config.enumerator("kScaleType", "ScaleType", scale_type_name(scale));
  config.number("kScaleBytes", bytes_of(scale));
  config.number("kNanScale", nan_scale(scale));
  config.number("kRowBytes", layout.row_bytes);
  config.number("kScaleRowBytes", layout.scale_row_bytes);
  config.number("kScaleHeads", layout.scale_heads);
  const bool bf16 = activation == DType::kBf16;
  config.flag("kOfInput", tensor.dtype == (bf16 ? KvDtype::kBf16 : KvDtype::kFp16));
  config.type("Stored", tensor.dtype == KvDtype::kBf16 ? "Bf16" : "Fp16");
  return config.text(kTensorTemplate, name);
}

// What each pair turns by from one position to the next.
std::string frequencies_text(const RopeSpec& rope) {
  if (rope.pairing == RopePairing::kNone || rope.source == RopeSource::kTable) {
    return "struct Frequencies {};\n";
  }
  std::string text = fmt::format("// 2^64 / (2 pi) * {}^(-2i / {})\n", rope.base, rope.dim);
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

std::string config_text(const KvAppendSpec& spec, const TileKernel& kernel, int arch) {
  const KvAppendTile tile = kv_append_tile(spec);
  ConfigWriter config;
  config.number("kHeads", spec.shape.kv_heads);
  config.number("kHeadDim", spec.shape.head_dim);
  config.number("kLanes", tile.lanes);
  config.number("kTokens", kernel.tile_rows);
  config.number("kSlots", tile.slots);
  config.number("kStages", tile.stages);
  config.number("kThreads", kernel.threads);
  config.number("kSharedBytes", kernel.shared_bytes);
  config.flag("kDependent", arch >= 90);
  config.flag("kHnd", spec.kv.order == KvOrder::kHnd);
  config.flag("kAsyncCopies", arch >= 80);
  config.flag("kPaged", spec.kv.layout == KvLayout::kPaged);
  config.number("kPageSize", spec.kv.page_size);
  config.enumerator("kRope", "RopePairing", pairing_name(spec.rope.pairing));
  config.number("kRopeDim", spec.rope.dim);
  config.flag("kRopeTable", spec.rope.source == RopeSource::kTable);
  config.type("Frequencies", "heddle::Frequencies");
  config.type("Value", value_type(spec.activation));
  config.type("K", "KTensor");
  config.type("V", "VTensor");
  return config.text(kTemplate);
}

}  // namespace

KernelText kv_append_text(const Plan& plan, const TileKernel& kernel) {
  const KvAppendSpec& spec = plan.spec.kv_append();
  const KvCacheLayout layout = kv_cache_layout(spec.kv, spec.shape.kv_heads, spec.shape.head_dim);
  const std::string definitions =
      tensor_text(spec.kv.k, layout.k, spec.activation, "KTensor") + '\n' +
      tensor_text(spec.kv.v, layout.v, spec.activation, "VTensor") + '\n' +
      frequencies_text(spec.rope) + '\n' + config_text(spec, kernel, plan.target.arch());
  return {kTemplate,
          fmt::format("tiles of {} tokens x {} elements of all heads\n", kernel.tile_rows,
                      kernel.tile_columns),
          definitions, "kv_append<heddle::Config>", "KvAppendParameters"};
}

}  // namespace heddle
