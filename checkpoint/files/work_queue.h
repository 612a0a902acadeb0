// run_all: independent pieces of work on several threads.
#ifndef HEDDLE_CHECKPOINT_FILES_WORK_QUEUE_H_
#define HEDDLE_CHECKPOINT_FILES_WORK_QUEUE_H_

#include <cstddef>
#include <functional>

namespace heddle {

// Calls work(0) .. work(count - 1), `jobs` at a time (0: one per core, 8 at most), in ascending
// order of their starts. The first exception stops what has not started and is thrown once all
// threads have ended.
void run_all(std::size_t count, int jobs, const std::function<void(std::size_t)>& work);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FILES_WORK_QUEUE_H_
