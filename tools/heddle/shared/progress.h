// Progress of long work on stderr: one line rewritten in place on a terminal, plain lines else.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_PROGRESS_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_PROGRESS_H_

#include <string_view>

namespace heddle {

class Progress {
 public:
  // A progress that is not enabled says nothing.
  explicit Progress(bool enabled);
  // Clears the line on a terminal, so that what follows starts on a fresh one.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // What is going on now, in one line whatever the names in it hold. A line that tells nothing new,
  // a cache hit, is for terminals only.
  void show(std::string_view line, bool terminal_only = false);
  // A line that stays: on a terminal what is shown next begins below it.
  void keep(std::string_view line);

 private:
  bool enabled_;
  bool terminal_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_PROGRESS_H_
