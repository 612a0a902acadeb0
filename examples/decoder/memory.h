// Device memory, and what is uploaded to it.
#pragma once

#include <cstring>

#include "cuda.h"
#include "model.h"

// Lives as long as the context. One thread at a time, with the stream's context current.
class Memory {
 public:
  using Output = heddle::DeviceOutput;

  Memory(const Model& model, heddle::Stream stream)
      : uploader(stream), model_(model), stream_(stream) {}

  // All zeros, as the workspace must be.
  Output allocate(std::size_t bytes) const {
    void* pointer = nullptr;
    if (bytes == 0) return {};
    cuda("cuMemAlloc_v2", &pointer, bytes);
    cuda("cuMemsetD8Async", pointer, static_cast<unsigned char>(0), bytes, stream_);
    return {pointer, bytes};
  }
  template <typename T>
  Output upload(const std::vector<T>& values) {
    const Output memory = allocate(values.size() * sizeof(T));
    uploader.write(values.data(), memory.bytes, memory);
    return memory;
  }
  Output upload(const heddle::CheckpointTensor& tensor) {
    const Output memory = allocate(tensor.bytes);
    uploader.read(*model_.reader, tensor, memory);
    return memory;
  }
  // So many elements of the activations' type.
  Output upload(const std::string& name, std::int64_t elements) {
    return upload(model_.sixteen_bits(model_.reader->tensor(name), elements));
  }
  Output pack(const heddle::CheckpointLayer& layer) {
    const Output memory = allocate(layer.packed.bytes);
    uploader.pack(*model_.reader, layer, memory);
    return memory;
  }
  // As FP32, this GPU's part of a tensor with a number for each head.
  Output upload_heads(const std::string& name, std::size_t heads) {
    const heddle::CheckpointTensor& tensor = model_.reader->tensor(name);
    if (!is_float(tensor.type)) {
      Model::refuse(name + " is " + std::string(heddle::to_string(tensor.type)) +
                    "; served are F16, BF16 and F32");
    }
    std::vector<std::uint8_t> bytes(tensor.bytes);
    model_.reader->read(tensor, bytes.data(), bytes.size());
    const std::size_t first = model_.rank * heads;
    const std::size_t size = heddle::bytes_of(tensor.type);
    if (bytes.size() < (first + heads) * size) Model::refuse(name + " has too few numbers");
    std::vector<float> values;
    for (std::size_t i = first; i < first + heads; ++i) {
      values.push_back(number(tensor.type, &bytes[i * size]));
    }
    return upload(values);
  }

  heddle::Uploader uploader;

 private:
  static bool is_float(heddle::TensorType type) {
    return type == heddle::TensorType::kF16 || type == heddle::TensorType::kBf16 ||
           type == heddle::TensorType::kF32;
  }
  // Precondition: is_float(type).
  static float number(heddle::TensorType type, const std::uint8_t* from) {
    std::uint32_t bits = 0;
    float value = 0;
    std::memcpy(&bits, from, heddle::bytes_of(type));
    if (type == heddle::TensorType::kBf16) {
      bits <<= 16;
    } else if (type == heddle::TensorType::kF16) {
      // The exponent's bias is 15 there and 127 here: a product makes up for it, also of
      // subnormals.
      bits = (bits & 0x8000) << 16 | (bits & 0x7FFF) << 13;
    }
    std::memcpy(&value, &bits, sizeof value);
    return type == heddle::TensorType::kF16 ? value * 0x1p112F : value;
  }

  const Model& model_;
  heddle::Stream stream_;
};
