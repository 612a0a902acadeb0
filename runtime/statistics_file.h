// The file of $HEDDLE_STATS.
#ifndef HEDDLE_RUNTIME_STATISTICS_FILE_H_
#define HEDDLE_RUNTIME_STATISTICS_FILE_H_

#include "cache/cache_roots.h"

namespace heddle {

// Has the process write its statistics to the file $HEDDLE_STATS when it exits by exit() or by the
// end of main(); does nothing if that is not set or empty. The file is written now, too: throws
// Error(kFile, "statistics.unwritable") if it cannot be. What fails at the exit is told on stderr.
// A child of fork() writes none unless it calls this itself. Any thread, any number of times.
void write_statistics_at_exit(const Environment& environment = process_environment);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_STATISTICS_FILE_H_
