// What compiling does to the process around it: nothing.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <clocale>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "heddle/error.h"
#include "runtime/compile/nvrtc.h"
#include "tests/cache/torture.h"

extern char** environ;

namespace heddle {
namespace {

// All that a caller may have set up and would be surprised to find changed.
struct ProcessState {
  rlim_t stack_now = 0;
  rlim_t stack_most = 0;
  std::string folder;
  std::string locale;
  std::vector<std::string> environment;
  std::vector<int> blocked_signals;
  std::vector<void (*)(int)> handlers;
  std::vector<std::string> descriptors;
  mode_t umask = 0;

  bool operator==(const ProcessState&) const = default;
};

ProcessState process_state() {
  ProcessState state;
  rlimit limit{};
  ::getrlimit(RLIMIT_STACK, &limit);
  state.stack_now = limit.rlim_cur;
  state.stack_most = limit.rlim_max;
  state.folder = std::filesystem::current_path().string();
  state.locale = std::setlocale(LC_ALL, nullptr);
  for (char** entry = environ; *entry != nullptr; ++entry) state.environment.emplace_back(*entry);
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  for (int signal = 1; signal < 32; ++signal) {
    if (::sigismember(&blocked, signal) == 1) state.blocked_signals.push_back(signal);
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    state.handlers.push_back(action.sa_handler);
  }
  for (const auto& item : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(item.path(), gone);
    // Not the descriptor that lists the others.
    if (target.string().find("/fd") == std::string::npos) {
      state.descriptors.push_back(item.path().filename().string() + " " + target.string());
    }
  }
  std::sort(state.descriptors.begin(), state.descriptors.end());
  state.umask = ::umask(0);
  ::umask(state.umask);
  return state;
}

long resident_kib() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stol(line.substr(6));
  }
  return 0;
}

Source source_of(int number, bool good) {
  Source source;
  source.kernel_name = "k" + std::to_string(number);
  source.file_name = source.kernel_name + ".cu";
  source.text = "extern \"C\" __global__ void " + source.kernel_name +
                "(float* x) { x[threadIdx.x] " + (good ? "*= 2.0f" : "is no C++") + "; }\n";
  source.arch = "sm_80";
  source.threads = 32;
  return source;
}

class HygieneTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      nvrtc_.archs();  // opens the library: what that leaves behind is there once
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  void compile(int number, bool good) {
    if (good) {
      EXPECT_FALSE(nvrtc_.compile(source_of(number, true)).cubin.empty());
    } else {
      EXPECT_THROW(nvrtc_.compile(source_of(number, false)), Error);
    }
  }
  Nvrtc nvrtc_;
};

TEST_F(HygieneTest, TheProcessIsLeftAsFound) {
  // Nothing that a default would hide: a limit, a mask and a locale of the caller's own.
  rlimit limit{};
  ::getrlimit(RLIMIT_STACK, &limit);
  const rlimit before = limit;
  limit.rlim_cur = rlim_t{3} << 20;
  ASSERT_EQ(::setrlimit(RLIMIT_STACK, &limit), 0);
  sigset_t mask;
  sigset_t old_mask;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &mask, &old_mask);
  const std::string old_locale = std::setlocale(LC_ALL, nullptr);
  std::setlocale(LC_ALL, "C.UTF-8");
  compile(0, true);  // the first one starts what NVRTC needs to start
  const ProcessState found = process_state();
  for (const bool good : {true, false, true}) {
    compile(1, good);
    EXPECT_EQ(process_state(), found);
  }
  EXPECT_EQ(found.stack_now, rlim_t{3} << 20);
  EXPECT_EQ(found.blocked_signals, std::vector<int>{SIGUSR1});
  ::pthread_sigmask(SIG_SETMASK, &old_mask, nullptr);
  ::setrlimit(RLIMIT_STACK, &before);
  std::setlocale(LC_ALL, old_locale.c_str());
}

// Already the first compilation, which opens the library's parts.
TEST_F(HygieneTest, TheFirstCompilationToo) {
  const ProcessState found = process_state();
  compile(0, true);
  ProcessState left = process_state();
  EXPECT_EQ(left.descriptors, found.descriptors);
  EXPECT_EQ(left, found);
}

// With a comma for the decimal point, or letters of another case.
TEST_F(HygieneTest, TheLocaleChangesNoByte) {
  const std::vector<std::uint8_t> cubin = nvrtc_.compile(source_of(0, true)).cubin;
  for (const char* locale : {"de_DE.UTF-8", "tr_TR.UTF-8", "C.UTF-8", "POSIX"}) {
    if (std::setlocale(LC_ALL, locale) == nullptr) continue;  // not on this machine
    EXPECT_EQ(nvrtc_.compile(source_of(0, true)).cubin, cubin) << locale;
  }
  std::setlocale(LC_ALL, "C");
}

TEST_F(HygieneTest, MemoryStaysFlat) {
  const int count = testing::rounds(60, 1000);  // of good ones, and as many that fail
  const auto compile_many = [&](int many) {
    for (int i = 0; i < many; ++i) {
      compile(i % 7, true);
      compile(i % 7, false);
    }
  };
  compile_many(count / 4);  // pools fill
  const long before = resident_kib();
  compile_many(count);
  const long grown = resident_kib() - before;
  EXPECT_LT(grown, 16 * 1024) << "KiB";
  testing::tell_figure(
      "memory of the compiler",
      fmt::format("{} good and {} failing compilations: {} KiB more", count, count, grown));
}

}  // namespace
}  // namespace heddle
