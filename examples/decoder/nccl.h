// Sums over several GPUs of one process, by NCCL, without its headers.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/heddle.hpp"

// One communicator for each of the first GPUs. Each rank's thread sums; all ranks sum the same
// values in the same order, or wait for each other forever. Made before any capture; lives as long
// as the process.
class Nccl {
 public:
  explicit Nccl(int ranks) : ranks_(ranks) {
    setenv("NCCL_RUNTIME_CONNECT", "0", 0);  // connections are made here, not by a captured sum
    call("ncclCommInitAll", ranks_.data(), ranks, static_cast<const int*>(nullptr));
  }
  // In place, of FP16 or BF16; in stream order, also while the stream is captured.
  void sum(int rank, heddle::DeviceOutput values, heddle::TensorType type, heddle::Stream stream) {
    const int fp16 = 6, bf16 = 9, add = 0;  // of NCCL's enums
    call("ncclAllReduce", values.data, values.data, values.bytes / 2,
         type == heddle::TensorType::kF16 ? fp16 : bf16, add, ranks_.at(rank), stream);
  }

 private:
  template <typename... Args>
  static void call(const char* name, Args... args) {
    static void* library = dlopen("libnccl.so.2", RTLD_NOW);
    if (library == nullptr)
      throw std::runtime_error("there is no libnccl.so.2 on the library path");
    auto* function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
    const int result = function != nullptr ? function(args...) : -1;
    if (result != 0) throw std::runtime_error(name + (" failed: " + std::to_string(result)));
  }

  std::vector<void*> ranks_;
};
