// Prints the plans of several hundred GEMMs, one line for each kernel: target, shape, M, family,
// the kernel's label, and the formats that it serves. tests/generator/golden/plans.txt is what it
// prints.
#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/families/family.h"
#include "generator/planner/choose.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"

namespace heddle {
namespace {

using Change = std::function<void(GemmSpec&)>;

struct Format {
  std::string_view name;
  Change change;
};

Format weights(std::string_view name, WeightType type, int bits, int group, DType scale,
               DType activation) {
  return {name, [=](GemmSpec& spec) {
            spec.weight.type = type;
            spec.weight.bits = bits;
            spec.weight.group_size = group;
            spec.weight.scale_dtype = scale;
            spec.weight.tensor_scale = scale == DType::kE4m3;
            spec.activation = activation;
          }};
}

Format with_zeros(Format format, std::string_view name, ZeroPoint zero) {
  return {name, [format, zero](GemmSpec& spec) {
            format.change(spec);
            spec.weight.zero_point = zero;
          }};
}

using enum DType;
using W = WeightType;

const Format kW4 = weights("W4", W::kUint, 4, 128, kFp16, kFp16);

const std::vector<Format>& formats() {
  static const std::vector<Format> all{
      kW4,
      weights("W4-bf16", W::kUint, 4, 128, kBf16, kBf16),
      with_zeros(kW4, "W4-zeros", ZeroPoint::kInt),
      weights("W8-channel", W::kUint, 8, kPerChannel, kBf16, kBf16),
      weights("W2g64", W::kUint, 2, 64, kFp16, kFp16),
      weights("NVFP4", W::kE2m1, 4, 16, kE4m3, kBf16),
  };
  return all;
}

const std::vector<Format>& other_formats() {
  static const std::vector<Format> all{
      weights("W1", W::kUint, 1, 128, kFp16, kFp16),
      weights("W3", W::kUint, 3, 128, kBf16, kBf16),
      weights("W4g32", W::kUint, 4, 32, kBf16, kBf16),
      weights("W4-channel", W::kUint, 4, kPerChannel, kFp16, kFp16),
      weights("W4-fp32-scales", W::kUint, 4, 128, kFp32, kFp16),
      weights("W5", W::kUint, 5, 128, kFp16, kFp16),
      weights("W6", W::kUint, 6, 128, kFp16, kFp16),
      weights("W8", W::kUint, 8, 128, kFp16, kFp16),
      weights("FP8", W::kE4m3, 8, kPerChannel, kFp32, kBf16),
      weights("FP6", W::kE3m2, 6, 128, kFp16, kFp16),
      weights("MXFP4", W::kE2m1, 4, 32, kE8m0, kBf16),
      weights("NF4", W::kNf4, 4, 64, kBf16, kBf16),
      with_zeros(kW4, "W4-float-zeros", ZeroPoint::kFloat),
      {"W4-trtllm", [](GemmSpec& spec) { spec.weight.interleave = Interleave::kTrtllm; }},
      {"W4-act-order", [](GemmSpec& spec) { spec.act_order = true; }},
      {"W4-pre-scale", [](GemmSpec& spec) { spec.pre_scale = true; }},
      {"W4-epilogue", [](GemmSpec& spec) { spec.epilogue.bias = spec.epilogue.residual = true; }},
      {"W4-turing", [](GemmSpec& spec) { spec.path = Path::kTuring; }},
      {"W4-ampere", [](GemmSpec& spec) { spec.path = Path::kAmpere; }},
      {"W4-hopper", [](GemmSpec& spec) { spec.path = Path::kHopper; }},
      {"W4-M1", [](GemmSpec& spec) { spec.shape.m_max = 1; }},
      {"W4-M5-77", [](GemmSpec& spec) { spec.shape.m_min = 5, spec.shape.m_max = 77; }},
  };
  return all;
}

Format bytes(std::string_view name, W type, DType activation, Path path = Path::kAuto) {
  return {name, [=](GemmSpec& spec) {
            spec.weight.type = type;
            spec.weight.bits = 8;
            spec.weight.group_size = kPerChannel;
            spec.weight.scale_dtype = kFp32;
            spec.weight.interleave = Interleave::kSwizzle128b;
            spec.activation = activation;
            spec.activation_scale.granularity = RowGranularity::kToken;
            spec.output = kFp16;
            spec.path = path;
          }};
}

using Shape = std::pair<std::int64_t, std::int64_t>;  // N, K
// Layers of Llama 3 8B and 70B, Qwen 2.5 0.5B and 7B; one with few rows, one with very many.
constexpr Shape kShapes[] = {
    {6144, 4096},  {4096, 4096},  {28672, 4096}, {4096, 14336},  {10240, 8192}, {8192, 8192},
    {57344, 8192}, {8192, 28672}, {1152, 896},   {9728, 896},    {896, 4864},   {4608, 3584},
    {37888, 3584}, {3584, 18944}, {512, 2048},   {128256, 4096},
};

// The kernels of a target and a shape, in the order in which they come first, each with the formats
// that it serves.
class Plans {
 public:
  void add(std::string_view target, const Shape& shape, const Format& format) {
    GemmSpec spec;
    spec.shape.n = shape.first;
    spec.shape.k = shape.second;
    format.change(spec);
    const std::string place = fmt::format("{} {}x{}", target, shape.first, shape.second);
    try {
      const Plan plan = resolve(Spec::from_gemm(spec), target_from_name(target));
      for (const PlannedKernel& kernel : plan.kernels) {
        add_line(fmt::format("{} M {}-{} {}: {}", place, kernel.size_min, kernel.size_max,
                             kernel.family->name(), kernel_label(kernel)),
                 format.name);
      }
    } catch (const Error& error) {
      add_line(fmt::format("{} refused: {}", place, error.what()), format.name);
    }
  }
  void print() const {
    for (const auto& [line, formats] : lines_) fmt::print("{} | {}\n", line, formats);
  }

 private:
  void add_line(std::string line, std::string_view format) {
    const auto [place, is_new] = places_.try_emplace(line, lines_.size());
    if (is_new) lines_.emplace_back(std::move(line), "");
    std::string& formats = lines_[place->second].second;
    formats.append(formats.empty() ? "" : ", ").append(format);
  }

  std::vector<std::pair<std::string, std::string>> lines_;
  std::map<std::string, std::size_t> places_;
};

// Activations of eight bits, and GPUs with kernels for them.
void add_bytes(const Shape& shape, Plans* plans) {
  const Format int8 = bytes("W8A8", W::kInt, kInt8);
  const Format fp8 = bytes("FP8A8", W::kE4m3, kFp8E4m3);
  for (const char* target : {"h200", "b200", "a100", "rtx4090", "rtx5090", "t4"}) {
    plans->add(target, shape, int8);
  }
  for (const char* target : {"h200", "b200", "rtx4090"}) plans->add(target, shape, fp8);
  plans->add("h200", shape, bytes("W8A8-turing", W::kInt, kInt8, Path::kTuring));
  plans->add("h200", shape, bytes("W8A8-ampere", W::kInt, kInt8, Path::kAmpere));
  plans->add("h200", shape, bytes("FP8A8-ampere", W::kE4m3, kFp8E4m3, Path::kAmpere));
}

void print_all() {
  Plans plans;
  for (const Shape& shape : kShapes) {
    for (const Format& format : formats()) plans.add("h200", shape, format);
    for (const char* target : {"h100", "b200", "a100", "rtx4090", "rtx5090", "t4"}) {
      plans.add(target, shape, kW4);
    }
    for (const char* target : {"b200", "a100", "rtx4090"}) plans.add(target, shape, formats()[3]);
  }
  for (const Format& format : other_formats()) {
    for (const char* target : {"h200", "b200", "a100"}) plans.add(target, {8192, 8192}, format);
  }
  for (const Target& target : known_targets()) plans.add(target.name, {4096, 16384}, kW4);
  for (const Shape& shape : {kShapes[1], kShapes[4], kShapes[8]}) add_bytes(shape, &plans);
  plans.print();
}

}  // namespace
}  // namespace heddle

int main() {
  heddle::print_all();
  return 0;
}
