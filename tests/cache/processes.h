// Child processes of a test, and what they tell it.
#ifndef HEDDLE_TESTS_CACHE_PROCESSES_H_
#define HEDDLE_TESTS_CACHE_PROCESSES_H_

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace heddle::testing {

// Runs work() in a child, which ends with its result as the exit code. No thread may be running.
template <typename Work>
pid_t start_process(const Work& work) {
  const pid_t child = ::fork();
  if (child < 0) std::abort();
  if (child == 0) ::_exit(work());
  return child;
}

// -1 if it did not end by itself.
inline int exit_code(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// Children wait at it until the parent opens it.
class Gate {
 public:
  Gate() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) std::abort();
  }
  ~Gate() {
    open();
    ::close(ends_[0]);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  // In a child.
  void wait() {
    open();
    char byte = 0;
    if (::read(ends_[0], &byte, 1) != 0) std::abort();
  }
  // In the parent.
  void open() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2] = {-1, -1};
};

// Appends one byte: how often was this called, over all processes?
inline void count(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || ::write(fd, "x", 1) != 1) std::abort();
  ::close(fd);
}

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_CACHE_PROCESSES_H_
