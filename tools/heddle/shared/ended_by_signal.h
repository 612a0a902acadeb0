// What is left to do when a signal ends the command.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_ENDED_BY_SIGNAL_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_ENDED_BY_SIGNAL_H_

namespace heddle {

// From now on SIGINT, SIGTERM and SIGHUP remove the temporary names of outputs (cache/new_file.h)
// before they end the process, unless they were ignored. A file that becomes larger than the
// process may write is an error of the write instead of a signal. The library itself handles no
// signal.
void clean_up_after_signals();

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_ENDED_BY_SIGNAL_H_
