// The CUDA driver without a toolkit.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

// A call of the CUDA driver by name; a real engine has its own way to CUDA. Arguments must be as
// wide as the driver's parameters; a void* is as wide as a CUdeviceptr.
template <typename... Args>
void cuda(const char* name, Args... args) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  auto* function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
  const int result = function != nullptr ? function(args...) : -1;
  if (result != 0) throw std::runtime_error(name + (" failed: " + std::to_string(result)));
}
