// What `heddle doctor` found on a machine, and what of it is wrong.
#ifndef HEDDLE_TOOLS_HEDDLE_DOCTOR_DIAGNOSIS_H_
#define HEDDLE_TOOLS_HEDDLE_DOCTOR_DIAGNOSIS_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cache/cache_roots.h"
#include "heddle/target.h"
#include "runtime/compile/compiler_facts.h"

namespace heddle {

struct Remark {
  std::string about;   // "cache", or a variable's name
  std::string text;    // what was seen
  std::string advice;  // what to do; empty of notes
};

struct Diagnosis {
  nlohmann::ordered_json found = nlohmann::ordered_json::object();  // by area
  std::vector<std::pair<std::string, std::string>> lines;           // the same for people
  std::vector<Remark> notes;                                        // no faults
  std::vector<Remark> problems;

  // What later probes compare with.
  std::vector<Target> devices;
  int driver_version = 0;           // as cuDriverGetVersion() tells it: 13000; 0: no driver
  std::optional<CacheRoots> roots;  // of a cache that can be used
};

// Runs the probe. What it throws is a problem about `about`, with this advice.
void examine(const std::string& about, const std::string& advice, Diagnosis* diagnosis,
             const std::function<void()>& probe);

// Why no file or folder can be made at a path where nothing is; empty if one can. Looks at the
// nearest folder above it and makes nothing.
std::string why_not_makable(const std::string& path);

// The probes, each of which sets its area of `found`. They throw nothing.
void probe_driver(Diagnosis* diagnosis);
void probe_compiler(Diagnosis* diagnosis);
void probe_disassemblers(Diagnosis* diagnosis);
void probe_cache(Diagnosis* diagnosis);
void probe_tables(Diagnosis* diagnosis);
void probe_environment(Diagnosis* diagnosis);

// Judges the driver's error: a machine without a GPU is good for building and gets a note.
// `has_gpu_file`: the kernel's part of the driver shows this process a GPU.
void judge_driver_error(const std::string& code, const std::string& text, bool has_gpu_file,
                        Diagnosis* diagnosis);

// Judges whether a compiler of this version, which knows these architectures, can serve the GPUs,
// and the driver its code.
void judge_compiler(CompilerVersion version, std::span<const int> archs, Diagnosis* diagnosis);

// The program in the folders of `path_list`, as PATH has them, else in the wheels of a Python
// environment's folder of packages (may be empty); empty if it is in none.
std::string find_program(const std::string& name, const std::string& path_list,
                         const std::string& packages);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_DOCTOR_DIAGNOSIS_H_
