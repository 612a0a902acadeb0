// Source: one readable CUDA translation unit, byte for byte what NVRTC gets.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "heddle/export.h"
#include "heddle/inspect/plan.h"

namespace heddle {

struct Source {
  std::string kernel_name;  // the extern "C" entry point
  std::string file_name;    // names the content, so that equal sources compile to equal bytes
  std::string text;         // includes nothing
  std::string arch;         // for NVRTC: "sm_80", "sm_90a"
  int threads = 0;          // per block
  int dynamic_shared_bytes = 0;
  // What it was rendered for: the canonical spec and the target's name. Others may have the same
  // text. Empty of a source that was not rendered from a plan.
  std::string spec;
  std::string target;
  std::shared_ptr<const Plan> plan;  // likewise; null of a source that was not rendered from one
};

// Pure: no I/O, no CUDA. Throws Error(kInternal) if a template's parameters and the plan disagree.
// `kernel` is below plan.kernel_count().
HEDDLE_EXPORT Source render(const Plan& plan, std::size_t kernel);

// One source per kernel of the plan, in its order.
HEDDLE_EXPORT std::vector<Source> render_all(const Plan& plan);

}  // namespace heddle
