// The run-time compiler: from a Source to a Binary.
#ifndef HEDDLE_RUNTIME_COMPILE_NVRTC_H_
#define HEDDLE_RUNTIME_COMPILE_NVRTC_H_

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "heddle/inspect/binary.h"
#include "heddle/inspect/source.h"
#include "runtime/compile/nvrtc_files.h"

namespace heddle {

struct NvrtcApi;  // the functions of the opened library

// Any thread may call any function; compilations run in parallel. Nothing is looked for before the
// first call, and libnvrtc is opened by compile() and archs() only (and by files() and identity()
// where several versions of the builtins lie beside it). What failed is tried again on the next
// call.
class Nvrtc {
 public:
  // `last_folder` as in find_nvrtc().
  explicit Nvrtc(std::string last_folder = {});
  ~Nvrtc();
  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;

  // Where it lies and which version it is. Throws what find_nvrtc() throws.
  const NvrtcFiles& files();

  // Version and build-ids. Throws what find_nvrtc() throws.
  std::string identity();

  // The architectures it compiles for, ascending: 75, 80 ...
  std::vector<int> archs();

  // Throws Error(kUnsupported, "nvrtc.architecture"), one line, for an architecture that this NVRTC
  // lacks, and Error(kCompile, "nvrtc.compile") whose log() is the compiler's log and then the
  // source with line numbers. `warnings`, if not null, gets what the compiler said about good code.
  Binary compile(const Source& source, std::string* warnings = nullptr);

 private:
  const NvrtcApi& api();

  const std::string last_folder_;
  std::mutex mutex_;
  std::optional<NvrtcFiles> files_;
  std::unique_ptr<NvrtcApi> api_;
};

// The options that decide which bytes the compiler makes, for cache keys: the same text whichever
// NVRTC there is.
std::string compile_options_text(const std::string& arch);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_COMPILE_NVRTC_H_
