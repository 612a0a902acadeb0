// The environment variables that Heddle reads; docs/deployment.md says what each means.
#ifndef HEDDLE_RUNTIME_ENVIRONMENT_VARIABLES_H_
#define HEDDLE_RUNTIME_ENVIRONMENT_VARIABLES_H_

#include <array>

namespace heddle {

inline constexpr std::array kEnvironmentVariables = {
    "HEDDLE_CACHE",    "XDG_CACHE_HOME", "HOME",          "HEDDLE_NVRTC",
    "LD_LIBRARY_PATH", "HEDDLE_TUNED",   "HEDDLE_RECORD", "HEDDLE_LOG",
    "HEDDLE_DUMP",     "HEDDLE_STATS",   "PATH"};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_ENVIRONMENT_VARIABLES_H_
