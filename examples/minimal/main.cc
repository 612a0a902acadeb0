// The smallest real engine: one quantised linear layer, Y = X W^T.
//   heddle_minimal [SPEC.json]      exits with 0: right, 1: wrong or failed, 77: no GPU
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <random>
#include <stdexcept>

#include "heddle/heddle.hpp"

using heddle::DType;

constexpr const char* kSpec = R"({"heddle": 1, "op": "gemm", "activation": {"dtype": "fp16"},
  "shape": {"n": 1024, "k": 2048, "m": [1, 64]},
  "weight": {"bits": 4, "type": "uint", "group_size": 128, "zero_point": "int"}})";

// A call of the CUDA driver by name. A real engine has its own way to CUDA; this one needs no
// toolkit. Arguments must be as wide as the driver's parameters; a void* is as wide as CUdeviceptr.
template <typename... Args>
void cuda(const char* name, Args... args) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  auto* function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
  const int result = function != nullptr ? function(args...) : -1;
  if (result != 0) throw std::runtime_error(name + (" failed: " + std::to_string(result)));
}

// Device memory for the life of the program.
template <typename T>
heddle::DeviceOutput to_device(const std::vector<T>& values) {
  const std::size_t bytes = values.size() * sizeof(T);
  if (bytes == 0) return {};
  void* pointer = nullptr;
  cuda("cuMemAlloc_v2", &pointer, bytes);
  cuda("cuMemcpyHtoD_v2", pointer, static_cast<const void*>(values.data()), bytes);
  return {pointer, bytes};
}

double value_of(std::uint16_t bits, DType type) {
  const int mantissa = type == DType::kFp16 ? 10 : 7, bias = type == DType::kFp16 ? 15 : 127;
  const int exponent = (bits & 0x7fff) >> mantissa, fraction = bits & ((1 << mantissa) - 1);
  const double size = std::ldexp(fraction + (exponent > 0 ? 1 << mantissa : 0),
                                 std::max(exponent, 1) - bias - mantissa);
  return bits >> 15 != 0 ? -size : size;
}

// A random number of either sign and a size from 2^-power to 2^(1 - power).
std::uint16_t random_bits(std::mt19937& random, DType type, int power) {
  const int mantissa = type == DType::kFp16 ? 10 : 7, bias = type == DType::kFp16 ? 15 : 127;
  return (random() & 0x8000) | (bias - power) << mantissa | random() % (1 << mantissa);
}

int run(const heddle::Spec& spec) {
  const heddle::GemmSpec& gemm = spec.gemm();  // throws for another operation
  heddle::Runtime runtime;
  if (std::string why_not; !runtime.has_device(&why_not)) {
    std::cout << "no GPU: " << why_not << "\n";
    return 77;
  }
  const DType type = gemm.activation, scale_type = gemm.weight.scale_dtype;
  const std::size_t n = gemm.shape.n, k = gemm.shape.k, m = std::max<long>(gemm.shape.m_min, 5);
  const std::size_t offset = gemm.weight.group_offset;
  const std::size_t size = gemm.weight.group_size > 0 ? gemm.weight.group_size : k;
  const std::size_t groups = (k + offset + size - 1) / size;
  const unsigned codes = 1U << gemm.weight.bits;
  const bool has_zeros = gemm.weight.zero_point == heddle::ZeroPoint::kInt;
  // Two's complement is the same as unsigned codes around the middle with the top bit flipped.
  const int flip = gemm.weight.type == heddle::WeightType::kInt ? codes / 2 : 0;

  // Random weights as a checkpoint holds them, and random activations.
  std::mt19937 random(1);
  heddle::QuantizedWeights weights;
  for (std::size_t i = 0; i < n * k; ++i) weights.codes.push_back(random() % codes);
  for (std::size_t i = 0; i < n * groups; ++i) {
    const std::uint16_t scale = random_bits(random, scale_type, 5);
    for (const int byte : {scale & 255, scale >> 8}) weights.scales.push_back(byte);
    if (has_zeros) weights.zeros.push_back(random() % codes);
  }
  std::vector<std::uint16_t> x(m * k), y(m * n);
  for (std::uint16_t& element : x) element = random_bits(random, type, 0);

  // The engine's own context and stream. Heddle works in the context that is current.
  void *context = nullptr, *stream = nullptr;
  cuda("cuDevicePrimaryCtxRetain", &context, 0);
  cuda("cuCtxSetCurrent", context);
  cuda("cuStreamCreate", &stream, 0U);
  const auto kernel = runtime.kernel<heddle::GemmKernel>(spec);
  const std::vector<std::uint8_t> workspace(kernel.workspace_bytes(m));  // zeros
  heddle::GemmArgs args{to_device(x), to_device(heddle::pack_weights(gemm, weights)), to_device(y)};
  args.workspace = to_device(workspace);
  args.m = m;
  kernel.launch(args, stream);
  cuda("cuStreamSynchronize", stream);
  cuda("cuMemcpyDtoH_v2", y.data(), args.y.data, 2 * y.size());
  double error = 0, norm = 0;  // squared, against FP64
  for (std::size_t out = 0; out < m * n; ++out) {
    double sum = 0;
    for (std::size_t token = out / n, row = out % n, i = 0; i < k; ++i) {
      const std::size_t at = row * groups + (i + offset) / size;
      const int zero = has_zeros ? weights.zeros[at] : static_cast<int>(codes / 2);
      const int scale = weights.scales[2 * at] | weights.scales[2 * at + 1] << 8;
      const int code = (weights.codes[row * k + i] ^ flip) - zero;
      sum += code * value_of(scale, scale_type) * value_of(x[token * k + i], type);
    }
    error += std::pow(value_of(y[out], type) - sum, 2);
    norm += sum * sum;
  }
  std::cout << "relative error " << (error = std::sqrt(error / norm)) << "\n";
  return error < (type == DType::kFp16 ? 1e-3 : 5e-3) ? 0 : 1;
}

int main(int argc, char** argv) try {
  if (argc < 2) return run(heddle::Spec::parse(kSpec));
  std::ifstream file(argv[1]);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad()) throw std::runtime_error("cannot be read");
  return run(heddle::Spec::parse(text));
} catch (const std::exception& error) {
  std::cerr << (argc < 2 ? "" : argv[1]) << (argc < 2 ? "" : ": ") << error.what() << "\n";
  return 1;
}
