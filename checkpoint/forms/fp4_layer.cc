// MXFP4 and NVFP4: two codes of e2m1 to a byte, the first one low, with a coded scale to a group.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "checkpoint/codes/float_codes.h"
#include "checkpoint/codes/half_convert.h"
#include "checkpoint/codes/large_buffer.h"
#include "checkpoint/forms/read_layer.h"
#include "checkpoint/modules/layer_error.h"

namespace heddle {
namespace {

constexpr std::int64_t kNvGroup = 16;

struct Fp4Tensors {
  TensorInfo codes;
  TensorInfo scales;
  std::vector<std::int64_t> shape;  // [..., N, K]
  DType scale_dtype;                // kE8m0: MX, kE4m3: NV
};

class Fp4Layer final : public QuantizedRows {
 public:
  Fp4Layer(const std::string& name, const Fp4Tensors& tensors, std::optional<float> tensor_scale)
      : QuantizedRows(name, tensors.shape),
        scale_dtype_(tensors.scale_dtype),
        group_(tensors.scale_dtype == DType::kE8m0 ? kMxGroup : kNvGroup),
        tensor_scale_(tensor_scale) {}

  void read(const Checkpoint& checkpoint, const Fp4Tensors& tensors) {
    codes_ = make_large_buffer<std::uint8_t>(tensors.codes.bytes);
    checkpoint.at(tensors.codes.name)
        .file->read(tensors.codes, 0, codes_.get(), tensors.codes.bytes);
    scales_.resize(tensors.scales.bytes);
    checkpoint.at(tensors.scales.name)
        .file->read(tensors.scales, 0, scales_.data(), tensors.scales.bytes);
  }

  WeightSpec weight() const override {
    WeightSpec weight;
    weight.bits = 4;
    weight.type = WeightType::kE2m1;
    weight.group_size = static_cast<int>(group_);
    weight.scale_dtype = scale_dtype_;
    weight.tensor_scale = tensor_scale_.has_value();
    return weight;
  }
  float tensor_scale() const override { return tensor_scale_.value_or(1.0F); }
  DType native_dtype() const override { return DType::kBf16; }

  void codes(std::int64_t first, std::int64_t count, std::uint8_t* out) const override {
    const std::uint8_t* from = codes_.get() + first * k() / 2;
    const std::int64_t bytes = count * k() / 2;
    for (std::int64_t i = 0; i < bytes; ++i) {
      out[2 * i] = from[i] & 0xF;
      out[2 * i + 1] = from[i] >> 4;
    }
  }

  void scales(std::int64_t first, std::int64_t count, std::uint8_t* out) const override {
    const std::int64_t groups = k() / group_;
    std::memcpy(out, scales_.data() + first * groups, static_cast<std::size_t>(count * groups));
  }

  void rows(std::int64_t first, std::int64_t count, DType dtype,
            std::uint16_t* out) const override {
    const std::int64_t groups = k() / group_;
    for (std::int64_t g = first * groups; g < (first + count) * groups; ++g) {
      const std::uint8_t code = scales_[static_cast<std::size_t>(g)];
      // Exact in double: the three factors have 2, 4 and 24 bits.
      const double scale =
          (scale_dtype_ == DType::kE8m0 ? e8m0_value(code) : e4m3_value(code)) * tensor_scale();
      std::array<std::uint16_t, 16> table{};
      for (std::size_t i = 0; i < table.size(); ++i) {
        table[i] = round_to_16(dtype, e2m1_value(static_cast<std::uint8_t>(i)) * scale);
      }
      const std::uint8_t* from = codes_.get() + g * group_ / 2;
      std::uint16_t* to = out + (g - first * groups) * group_;
      for (std::int64_t i = 0; i < group_ / 2; ++i) {
        to[2 * i] = table[from[i] & 0xF];
        to[2 * i + 1] = table[from[i] >> 4];
      }
    }
  }

 private:
  DType scale_dtype_;
  std::int64_t group_;
  std::optional<float> tensor_scale_;
  LargeBuffer<std::uint8_t> codes_;
  std::vector<std::uint8_t> scales_;
};

// Sets the scales' type by the tensor of scales, and checks both shapes against each other.
Fp4Tensors read_tensors(const Checkpoint& checkpoint, const LayerName& layer) {
  const char* suffixes[2] = {".weight_packed", ".weight_scale"};
  if (layer.kind == LayerName::Kind::kMxfp4) suffixes[0] = ".blocks", suffixes[1] = ".scales";
  if (layer.kind == LayerName::Kind::kMxfp4Experts) {
    suffixes[0] = "_blocks";
    suffixes[1] = "_scales";
  }
  if (layer.kind == LayerName::Kind::kFp4) {
    suffixes[0] = ".weight";
    if (checkpoint.find(layer.module() + suffixes[1]) == nullptr) suffixes[1] = ".scale";
  }
  const TensorInfo& codes = *checkpoint.at(layer.module() + suffixes[0]).tensor;
  const TensorInfo* found = checkpoint.find(layer.module() + suffixes[1]);
  if (found == nullptr) {
    refuse_layer(layer.name,
                 fmt::format("the tensor {}{} is missing", layer.module(), suffixes[1]));
  }
  const TensorInfo& scales = *found;
  const bool blocks =
      layer.kind == LayerName::Kind::kMxfp4 || layer.kind == LayerName::Kind::kMxfp4Experts;
  const bool nv = scales.type == TensorType::kF8E4M3;
  const std::int64_t group = nv ? kNvGroup : kMxGroup;
  if (!nv && scales.type != TensorType::kU8 && scales.type != TensorType::kF8E8M0) {
    refuse_layer(layer.name, fmt::format("the tensor {} is {}, not U8, F8_E8M0 or F8_E4M3",
                                         scales.name, describe(scales.type, scales.shape)));
  }
  std::vector<std::int64_t> shape = codes.shape;
  const bool bytes = codes.type == TensorType::kU8 || codes.type == TensorType::kI8;
  if (!bytes || shape.size() < (blocks ? 3 : 2) || codes.bytes == 0 ||
      (blocks ? shape.back() != group / 2 : shape.back() % (group / 2) != 0)) {
    refuse_layer(layer.name,
                 fmt::format("the tensor {} is {}, expected U8 [..., N, {}", codes.name,
                             describe(codes.type, codes.shape), blocks ? "K / 32, 16]" : "K / 2]"));
  }
  if (blocks) {
    shape.pop_back();
  } else {
    shape.back() /= group / 2;
  }
  if (scales.shape != shape) {
    refuse_layer(layer.name,
                 fmt::format("the tensor {} is {}, expected [{}]", scales.name,
                             describe(scales.type, scales.shape), fmt::join(shape, ", ")));
  }
  shape.back() *= group;
  const DType scale_dtype = nv ? DType::kE4m3 : DType::kE8m0;
  if (layer.matrix < 0) return {codes, scales, std::move(shape), scale_dtype};
  if (shape.size() != 3 || layer.matrix >= shape.front()) {
    refuse_layer(layer.name, fmt::format("the tensor {} is {}, which is no stack of matrices",
                                         codes.name, describe(codes.type, codes.shape)));
  }
  shape.erase(shape.begin());
  return {member_of_stack(codes, layer.matrix), member_of_stack(scales, layer.matrix),
          std::move(shape), scale_dtype};
}

// NVFP4's factor for the whole tensor, without which its values mean nothing. Model Optimizer
// stores it, compressed-tensors its reciprocal.
float read_tensor_scale(const Checkpoint& checkpoint, const LayerName& layer) {
  const std::string factor = layer.module() + ".weight_scale_2";
  const std::string divisor = layer.module() + ".weight_global_scale";
  const bool inverse = checkpoint.find(factor) == nullptr;
  const TensorInfo* info = checkpoint.find(inverse ? divisor : factor);
  if (info == nullptr) {
    const bool packed = layer.kind == LayerName::Kind::kPackedFp4;
    refuse_layer(
        layer.name,
        fmt::format("the tensor {} is missing: NVFP4 has a second scale for the whole tensor",
                    packed ? divisor : factor));
  }
  if (info->type != TensorType::kF32 || info->bytes != sizeof(float)) {
    refuse_layer(layer.name, fmt::format("the tensor {} is {}, not one value of F32", info->name,
                                         describe(info->type, info->shape)));
  }
  float value = 0;
  std::memcpy(&value, checkpoint.read(info->name).data(), sizeof value);
  if (inverse) value = 1.0F / value;
  if (!std::isfinite(value)) {
    refuse_layer(layer.name, fmt::format("the tensor {} gives no finite factor", info->name));
  }
  return value;
}

}  // namespace

std::unique_ptr<QuantizedRows> read_fp4_layer(const Checkpoint& checkpoint, const LayerName& layer,
                                              Load load) {
  const Fp4Tensors tensors = read_tensors(checkpoint, layer);
  std::optional<float> tensor_scale;
  if (tensors.scale_dtype == DType::kE4m3) {
    tensor_scale = read_tensor_scale(checkpoint, layer);
  }
  auto result = std::make_unique<Fp4Layer>(layer.name, tensors, tensor_scale);
  if (load == Load::kAll) result->read(checkpoint, tensors);
  return result;
}

}  // namespace heddle
