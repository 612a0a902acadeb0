// What $HEDDLE_LOG asks for, and the log of whoever gives a Runtime no callback.
#ifndef HEDDLE_RUNTIME_LOG_THRESHOLD_H_
#define HEDDLE_RUNTIME_LOG_THRESHOLD_H_

#include "cache/cache_roots.h"
#include "heddle/runtime.h"

namespace heddle {

// The least level that is told; the first ones are those of LogLevel.
enum class LogThreshold { kDebug, kInfo, kWarning, kError, kOff };

bool is_told(LogLevel level, LogThreshold threshold) noexcept;

// $HEDDLE_LOG: "debug", "info", "warning", "error" or "off"; `otherwise` where it is not set or
// empty. Throws Error(kUsage, "log.level") for another word.
LogThreshold log_threshold(LogThreshold otherwise,
                           const Environment& environment = process_environment);

// Writes what $HEDDLE_LOG asks for to stderr, one line for each message; empty where it asks for
// nothing. Throws what log_threshold() throws.
LogCallback default_log(const Environment& environment = process_environment);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_LOG_THRESHOLD_H_
