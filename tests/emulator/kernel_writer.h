// Kernels as C++ that the emulator runs: what the renderer adds to the templates, behind an
// #include of those, spread over some files, and a table of them.
#ifndef HEDDLE_TESTS_EMULATOR_KERNEL_WRITER_H_
#define HEDDLE_TESTS_EMULATOR_KERNEL_WRITER_H_

#include <string>
#include <vector>

#include "heddle/inspect/plan.h"

namespace heddle {

// tests/FOLDER/HEADER_kernels.h declares the table KIND_kernels of pointers to `type`.
struct KernelFamily {
  std::string kind;
  std::string header;
  std::string type;
  std::vector<std::string> paths;  // of its templates
  std::vector<Plan> plans;         // each of one kernel
  std::string folder = "emulator";
};

// KIND_kernels.cc with the table and KIND_kernels_0.cc ... in `folder`.
void write_kernels(const KernelFamily& family, const std::string& folder, int files);

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_KERNEL_WRITER_H_
