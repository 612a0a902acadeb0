// The NVRTC of a Python environment, for the command that a wheel has brought there.
#ifndef HEDDLE_TOOLS_HEDDLE_CACHE_WHEEL_NVRTC_H_
#define HEDDLE_TOOLS_HEDDLE_CACHE_WHEEL_NVRTC_H_

#include <string>

namespace heddle {

// The folder of libnvrtc in the package `nvidia` beside the package in which `program` lies:
// <site-packages>/nvidia/*/lib of <site-packages>/heddle/bin/heddle. Of several wheels the one with
// the highest CUDA version. Empty where there is none.
std::string nvrtc_of_wheel(const std::string& program);
// As above, of the program that runs.
std::string nvrtc_of_wheel();
// <site-packages> of the package in which the program lies that runs; empty if it lies in none.
std::string wheel_packages();

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_CACHE_WHEEL_NVRTC_H_
