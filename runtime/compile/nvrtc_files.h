// Where NVRTC lies and which build it is, found without opening it: dlopen of a library of 100 MB
// costs milliseconds, and a process whose kernels are all cached needs only the identity.
#ifndef HEDDLE_RUNTIME_COMPILE_NVRTC_FILES_H_
#define HEDDLE_RUNTIME_COMPILE_NVRTC_FILES_H_

#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct NvrtcFiles {
  std::string library;   // path of libnvrtc
  std::string builtins;  // path of libnvrtc-builtins, "" if it is not beside the library
  int major = 0;         // 0.0 if the name of the builtins does not tell
  int minor = 0;
  // Build-ids, or "xxh3:" and a digest of the content where a file has none.
  std::string library_build_id;
  std::string builtins_build_id;

  // What a cache key holds: "nvrtc 13.0 <build-id> builtins <build-id>".
  std::string identity() const;
};

// Looks in this order and takes the first folder that has the library, there the highest version:
// $HEDDLE_NVRTC (a file or a folder; nothing else is tried if it is set), $LD_LIBRARY_PATH, the
// loader's cache and its default folders, the folder given at build time, /usr/local/cuda/lib64,
// /usr/local/cuda-*/lib64 from the highest version down, `last_folder` unless it is empty. A
// set-user-id program has no environment here. Throws Error(kDriver): "nvrtc.missing" names every
// place tried, "nvrtc.environment" says that $HEDDLE_NVRTC leads nowhere, "nvrtc.unreadable" that
// what was found is no such library. Any thread.
NvrtcFiles find_nvrtc(const std::string& last_folder = {});

// Picks the names of libnvrtc itself among those in a folder, the highest version first; the plain
// name "libnvrtc.so" comes last. Pure.
std::vector<std::string> nvrtc_names(const std::vector<std::string>& names);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_COMPILE_NVRTC_FILES_H_
