// A child of a process that has used the driver: clear errors, and an end.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>

#include "heddle/inspect/plan.h"
#include "tests/runtime/barrier.h"
#include "tests/runtime/fake_device.h"

namespace heddle {
namespace {

using testing::Barrier;
using testing::code_of;
using testing::dequantize_args;
using testing::dequantize_spec;
using testing::EngineContext;
using testing::gemm_spec;

class ForkTest : public testing::FakeDevice {};

// The exit code of a child that runs work(), or a signal's negative number; SIGALRM if it hangs.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(work());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(ForkTest, EverythingThatNeedsTheDriverSaysSo) {
  auto runtime = std::make_unique<Runtime>(options_);
  const EngineContext context;
  const Spec spec = dequantize_spec();
  auto kernel = std::make_unique<DequantizeKernel>(runtime->kernel(spec));
  const KernelRequest request = runtime->request(spec);  // and a thread that the child lacks
  request.wait();
  const int code = in_child([&] {
    const std::function<void()> uses[] = {
        [&] { kernel->launch(dequantize_args(), nullptr); },
        [&] { runtime->kernel(spec); },
        [&] { runtime->kernel(spec, nullptr); },
        [&] { runtime->prepare({spec}); },
        [&] { runtime->request(spec); },
        [&] { runtime->load(kernel->plan()); },
        [&] { runtime->device_target(); },
        [&] { request.kernel(nullptr); },
        [&] { Runtime(options_).kernel(spec); },
    };
    int number = 1;
    for (const auto& use : uses) {
      if (code_of(use) != "driver.forked") return number;
      ++number;
    }
    std::string why;
    if (runtime->has_device(&why) || why.find("fork") == std::string::npos) return 50;
    const std::size_t calls = fake::calls().size();
    kernel.reset();
    runtime.reset();
    if (fake::calls().size() != calls) return 51;  // even giving back would be a call
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_NO_THROW(runtime->kernel<DequantizeKernel>(spec).launch(dequantize_args(), nullptr))
      << "in the parent";
}

TEST_F(ForkTest, WhileTheBackgroundMakesKernels) {
  Barrier barrier;
  std::atomic<bool> urgent_made{false};
  options_.log = [&](LogLevel, std::string_view) {
    if (urgent_made) barrier.pass();
  };
  auto runtime = std::make_unique<Runtime>(options_);
  const EngineContext context;
  barrier.shut();
  const Preparation preparation = runtime->prepare(
      {gemm_spec(64)}, {{1, 8}}, [&](const BuildResult&, std::size_t done, std::size_t total) {
        urgent_made = done == total;
        return true;
      });
  ASSERT_FALSE(preparation.status().ended);
  const int code = in_child([&] {
    const std::function<void()> uses[] = {
        [&] { preparation.wait(); },  // for nobody, since the child has no such thread
        [&] { preparation.requests()[0].wait(); },
        [&] { preparation.requests()[0].kernel(nullptr); },
        [&] { runtime->kernel(gemm_spec(64)); },
        [&] { runtime->kernel(gemm_spec(64), nullptr); },
        [&] {
          runtime->prepare({gemm_spec(64)}, {{1, 8}});
        },
    };
    int number = 1;
    for (const auto& use : uses) {
      if (code_of(use) != "driver.forked") return number;
      ++number;
    }
    preparation.cancel();
    if (preparation.status().ended) return 50;
    runtime.reset();
    return 0;
  });
  EXPECT_EQ(code, 0);
  barrier.open();
  EXPECT_NO_THROW(preparation.wait()) << "in the parent";
}

TEST_F(ForkTest, CompilingStillWorks) {
  Runtime runtime(options_);
  const EngineContext context;
  runtime.kernel(dequantize_spec());
  EXPECT_EQ(in_child([&] {
              Runtime child(options_);
              const Plan plan = resolve(dequantize_spec(128), target_from_name("h200"));
              return child.build(render_all(plan))[0].binary->cubin.empty() ? 1 : 0;
            }),
            0);
}

TEST_F(ForkTest, BeforeTheFirstUse) {
  if (::testing::UnitTest::GetInstance()->test_to_run_count() > 1) {
    GTEST_SKIP() << "needs a process of its own: fork_before_first_use of ctest";
  }
  EXPECT_EQ(
      in_child([&] {
        Runtime runtime(options_);
        const EngineContext context;
        runtime.kernel<DequantizeKernel>(dequantize_spec()).launch(dequantize_args(), nullptr);
        return 0;
      }),
      0);
}

}  // namespace
}  // namespace heddle
