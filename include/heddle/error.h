// Errors: every failure that Heddle reports to a caller is one heddle::Error.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/export.h"

namespace heddle {

// Which promise failed. kSpec, kUsage and kFile are the caller's input (exit code 2 of the
// command), all others failures of the work (1).
enum class ErrorCategory {
  kSpec,         // the JSON spec or model config is not well formed
  kUnsupported,  // well formed, but this (spec, target) pair cannot be served; nothing was compiled
  kUsage,        // an API or command was called with arguments that break its contract
  kFile,         // a file named by the caller cannot be read or written
  kCompile,      // NVRTC refused the source; log() holds its whole output
  kDriver,       // a CUDA driver call failed, or libcuda or libnvrtc cannot be loaded
  kInternal,     // a bug in Heddle
  kCancelled,    // the caller's callback asked to stop
  kMissing,      // a kernel is not at hand and may not be made here: strict mode, stream capture
};

// One thing that is wrong. All fields but `message` may be empty.
struct Problem {
  std::string pointer;  // JSON pointer (RFC 6901) into the spec, "" for the whole document
  std::string message;  // a sentence without the pointer
  std::string value;    // the offending value as JSON text
  std::string allowed;  // what would be accepted
  std::string hint;     // a near miss: "did you mean \"group_size\"?"
};

// what() is one line for one problem, and one line per problem for several: the first 50, and how
// many more there are in problems().
class HEDDLE_EXPORT Error : public std::runtime_error {
 public:
  Error(ErrorCategory category, std::string code, std::vector<Problem> problems,
        std::string log = {});
  // One problem that has no JSON pointer.
  Error(ErrorCategory category, std::string code, std::string message, std::string log = {});
  ~Error() override;
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;

  ErrorCategory category() const noexcept { return category_; }
  // A stable identifier: "spec.unknown_field", "plan.unsupported", "nvrtc.compile" ...
  const std::string& code() const noexcept { return code_; }
  const std::vector<Problem>& problems() const noexcept { return problems_; }
  // For kCompile: the compiler's log and the source with line numbers. Else empty.
  const std::string& log() const noexcept { return log_; }

 private:
  ErrorCategory category_;
  std::string code_;
  std::vector<Problem> problems_;
  std::string log_;
};

}  // namespace heddle
