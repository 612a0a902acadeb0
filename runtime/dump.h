// Dump: writes every stage of each kernel that a process makes, for people who want to see them.
#ifndef HEDDLE_RUNTIME_DUMP_H_
#define HEDDLE_RUNTIME_DUMP_H_

#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "cache/cache_roots.h"
#include "heddle/inspect/binary.h"
#include "heddle/inspect/source.h"

namespace heddle {

// Thread-safe. Several processes may share the folder: a file is replaced when the new one is
// complete, and a kernel's folder has a name for its text, its plan and its compiler, so that
// whoever writes it writes the same.
class Dump {
 public:
  // To the folder $HEDDLE_DUMP; nowhere if that is not set or empty. Touches no file.
  explicit Dump(const Environment& environment = process_environment);

  // Writes to <folder>/<kernel>_<digest of the text>.<digest of plan and compiler>: kernel.cu,
  // kernel.cubin, kernel.ptx if there is PTX, and of a source that was rendered from a plan
  // spec.json, plan.json and plan.txt. Once for each such name. Throws Error(kFile,
  // "dump.unwritable"), or "dump.unfinished" where there is no room.
  void write(const Source& source, const Binary& binary) {
    if (!folder_.empty()) write_stages(source, binary);
  }

 private:
  void write_stages(const Source& source, const Binary& binary);

  const std::string folder_;  // absolute; empty: off
  std::mutex mutex_;
  std::set<std::string, std::less<>> written_;  // names of folders; guarded by mutex_
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_DUMP_H_
