// Options that several subcommands share, and what they mean.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_OPTIONS_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/runtime.h"
#include "heddle/target.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace heddle {

// Help text for a SPEC argument.
inline constexpr const char* kSpecHelp =
    "a JSON spec: a file, - for standard input, or the JSON itself";

// As above, for a MODEL argument.
inline constexpr const char* kModelHelp =
    "a model's folder, its config.json, a spec or a JSON list of specs; - is a config or specs on "
    "standard input";

struct CompileOptions {
  std::string cache_dir;
  std::string tuned;
  int jobs = 0;
  bool strict = false;
};

// For the command and its subcommands, whose options are all there: no value may be an empty text,
// but for options that allow_empty_values() marked before.
void refuse_empty_values(CLI::App& command);
void allow_empty_values(CLI::Option* option);

void add_json_option(CLI::App& command, bool* json);
void add_target_option(CLI::App& command, std::string* target);
// --target for a command that runs on the GPU: the GPU must be of that architecture.
void add_device_target_option(CLI::App& command, std::string* target);
// --baseline cublas
void add_baseline_option(CLI::App& command, std::string* baseline);
// --tuned LIST, of a command that plans kernels.
void add_tuned_option(CLI::App& command, CompileOptions* options);
void add_cache_option(CLI::App& command, std::string* cache_dir);
void add_compile_options(CLI::App& command, CompileOptions* options);
// --m with one value or a list "1,7,64".
CLI::Option* add_m_option(CLI::App& command, std::int64_t* m, const std::string& help);
CLI::Option* add_m_list_option(CLI::App& command, std::vector<std::int64_t>* m,
                               const std::string& help);

// Throws Error(kFile, "cache.unusable") where --cache names a layer that is of no use; the cache of
// the environment is not asked for by name, and is a warning then. Warnings and errors go to
// stderr, or what $HEDDLE_LOG asks for.
RuntimeOptions runtime_options(const CompileOptions& options);

// The target of that name or, for an empty name, the device at hand. Throws Error(kUsage) for an
// unknown name, Error(kDriver) with advice where there is no device.
Target choose_target(const std::string& name, Runtime& runtime);
// As above, where a model is read for it: its Target::arch(), 0 where there is no device.
int arch_of_target(const std::string& name, Runtime& runtime);

// The operation whose kernels are chosen from many.
inline bool is_gemm(const Spec& spec) { return spec.get_if<GemmSpec>() != nullptr; }

// Throws Error(kUsage, "tool.gemm_option") unless the spec is a gemm, whose option it is.
void refuse_gemm_option(const char* name, const Spec& spec);

// The plan's kernel that serves M; with `m` 0 the first. Throws Error(kUsage) for an M outside of
// the spec's range, or of an operation that has none.
std::size_t kernel_of(const Plan& plan, std::int64_t m);
// Throws Error(kUsage): --m was given with a spec whose operation has none; says which sizes it
// has.
[[noreturn]] void refuse_m(const Spec& spec);
void check_m_option(const MRange& range, std::int64_t m);
// As above, of a list: each is in the range of the spec, or the list is empty.
void check_m_list(const Spec& spec, const std::vector<std::int64_t>& m_list);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_OPTIONS_H_
