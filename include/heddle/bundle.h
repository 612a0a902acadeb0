// Bundles: the kernels of a model for several GPUs in one file, made without a GPU.
//
// A Runtime takes a bundle as a read-only layer of its cache (RuntimeOptions::cache_dir);
// docs/deployment.md says how one is shipped, docs/formats.md what its bytes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "heddle/export.h"
#include "heddle/runtime.h"
#include "heddle/spec.h"
#include "heddle/target.h"
#include "heddle/tuned.h"

namespace heddle {

// A spec and a GPU that it gets kernels for.
struct BundleRequest {
  Spec spec;
  Target target;
};

struct BundleReport {
  std::size_t kernels = 0;
  std::uint64_t bytes = 0;  // of the file
  TunedTables tables;       // those that are not the shipped ones and went in
};

// Plans every request with runtime.tuned_tables(), builds what the cache lacks, and writes kernels
// and tables to `path`, "*.hdl", whole or not at all. Equal requests give equal bytes in any order.
// `texts`: with CUDA source and PTX. Throws Error(kUsage, "bundle.name", "bundle.no_specs" or
// "path.null_byte"); Error(kUnsupported, "bundle.lacks_kernels") with every request that cannot be
// served, "bundle.too_large"; Error(kMissing, "bundle.no_texts") for cached kernels without texts;
// Error(kFile, "bundle.unwritable" or "bundle.unfinished"); and what Runtime::build_cancellable()
// throws. Any thread.
HEDDLE_EXPORT BundleReport write_bundle(Runtime& runtime, const std::string& path,
                                        const std::vector<BundleRequest>& requests,
                                        bool texts = true, const PrepareProgress& progress = {});

struct BundledKernel {
  std::string kernel_name;
  std::string key;                // as BuildResult::key
  std::string arch;               // "sm_90a"
  std::string compiler;           // as Binary::compiler
  std::vector<std::string> gpus;  // that it was planned for, as tuned_gpu() names them
  std::uint64_t cubin_bytes = 0;
  std::uint64_t stored_bytes = 0;
  bool has_source = false;
};

struct DamagedKernel {
  std::string key;  // of an entry that cannot be read, which a Runtime does without
  std::string why;
};

struct BundleContents {
  std::uint64_t bytes = 0;  // of the file
  std::vector<BundledKernel> kernels;
  std::vector<DamagedKernel> damaged;
  TunedTables tables;
};

// What is in a bundle. Throws Error(kFile, "bundle.unusable") with the reason why a Runtime would
// not use it, and Error(kUsage, "path.null_byte"). Any thread.
HEDDLE_EXPORT BundleContents read_bundle(const std::string& path);

}  // namespace heddle
