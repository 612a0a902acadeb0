// What the emulated machine knows of cp.async, of fences between blocks, and of what the kernel
// ahead still writes.
#include <gtest/gtest.h>

#include <string>

#include "tests/emulator/device.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/shared_words.h"
#include "tests/emulator/thread_index.h"

namespace emulator {
namespace {

constexpr int kSmallSharedBytes = 1024;

// What a kernel of one warp does that copies 16 bytes for each thread.
std::string problem_of_copies(const std::function<void(const std::uint8_t* source)>& kernel) {
  GlobalMemory memory;
  const std::uint8_t* const source = memory.allocate(512, Access::kReadEarly);
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    try {
      run({1, 1, 32, kSmallSharedBytes, seed}, memory, [&] { kernel(source + 16 * threadIdx.x); });
    } catch (const Error& error) {
      return error.what();
    }
  }
  return {};
}

TEST(MachineMemory, OrdersAsyncCopiesByTheirThreadAndBarriers) {
  const auto kernel = [](unsigned pending, bool barrier) {
    return [pending, barrier](const std::uint8_t* source) {
      async_copy(shared(16 * threadIdx.x), source, 16, 4);
      commit_async_copies();
      async_copy(shared(512 + 16 * threadIdx.x), source, 16, 16);
      commit_async_copies();
      wait_for_async_copies(pending);
      if (load(16 * threadIdx.x) != ~0U || load(16 * threadIdx.x + 4) != 0) fail("wrong value");
      if (barrier) warp_barrier();
      load(16 * (31 - threadIdx.x));
      wait_for_async_copies(0);
    };
  };
  EXPECT_EQ(problem_of_copies(kernel(1, true)), "");
  EXPECT_NE(problem_of_copies(kernel(2, true)).find("a copy is writing"), std::string::npos);
  EXPECT_NE(problem_of_copies(kernel(1, false)), "");
}

TEST(MachineMemory, FindsMisusedAsyncCopies) {
  const auto expect = [](const std::string& words, std::uint32_t from, unsigned bytes,
                         unsigned valid_bytes) {
    const std::string problem = problem_of_copies([=](const std::uint8_t* source) {
      if (threadIdx.x != 31) return;
      async_copy(shared(0), source + from, bytes, valid_bytes);
      commit_async_copies();
      wait_for_async_copies(0);
    });
    EXPECT_NE(problem.find(words), std::string::npos) << "found: " << problem;
  };
  expect("in no buffer", 16, 16, 16);
  expect("", 16, 16, 0);
  expect("not aligned", 4, 8, 4);
  EXPECT_NE(problem_of_copies([](const std::uint8_t* source) {
              async_copy(shared(16 * threadIdx.x), source, 16, 16);
            }).find("ended before its copies"),
            std::string::npos);
}

// Each of two blocks stores a word and counts itself; the last one reads both.
TEST(MachineMemory, OrdersBlocksByFencesAroundAtomics) {
  const auto problem = [](bool before, bool after) -> std::string {
    GlobalMemory memory;
    auto* const words = reinterpret_cast<std::uint32_t*>(memory.allocate(12, Access::kWrite));
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
      words[0] = 0;
      try {
        run({2, 1, 32, kSmallSharedBytes, seed, true}, memory, [&] {
          predecessor_has_ended();
          if (threadIdx.x == 0) {
            store_global(&words[1 + blockIdx.x], &seed, 4);
            if (before) device_fence();
            const std::uint32_t old = atomic_add(words, 1);
            if (after) device_fence();
            store_shared(shared(0), &old, 4);
          }
          block_barrier();
          if (load(0) == 0) return;
          std::uint32_t other = 0;
          load_global(&words[2 - blockIdx.x], &other, 4);
          if (other != seed) fail("wrong value");
        });
      } catch (const Error& error) {
        return error.what();
      }
    }
    return {};
  };
  EXPECT_EQ(problem(true, true), "");
  EXPECT_NE(problem(false, true).find("not ordered after the last write"), std::string::npos);
  EXPECT_NE(problem(true, false).find("not ordered after the last write"), std::string::npos);
}

TEST(MachineMemory, GivesOldBytesUntilTheKernelAheadHasEnded) {
  GlobalMemory memory;
  const std::uint32_t now = 2, before = 1;
  const std::uint8_t* const late = memory.allocate_late(&now, &before, 4);
  const auto problem = [&](bool l2) -> std::string {
    try {
      run({1, 1, 32, kSmallSharedBytes, 1}, memory, [&] {
        std::uint32_t value = 0;
        prefetch_global(late);
        l2 ? load_global_l2(late, &value, 4) : load_global(late, &value, 4);
        if (value != before) fail("not what was there before");
        predecessor_has_ended();
        load_global_l2(late, &value, 4);
        if (value != now) fail("not what is there now");
      });
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(problem(true), "");
  EXPECT_NE(problem(false).find("before the kernel ahead has ended"), std::string::npos);
  EXPECT_THROW(run({1, 1, 32, kSmallSharedBytes, 1}, memory, [&] { prefetch_global(late + 4); }),
               Error);
}

TEST(MachineMemory, LetsWhatIsSettledBeReadEarlyAndWrittenNoMore) {
  GlobalMemory memory;
  std::uint8_t* const words = memory.allocate(4 * 33, Access::kWrite);  // one for each thread more
  memory.settle(words, 4);
  const auto problem = [&](const std::uint8_t* early, bool writes) -> std::string {
    try {
      run({1, 1, 32, kSmallSharedBytes, 1}, memory, [&] {
        std::uint32_t value = 0;
        load_global_l2(early, &value, 4);
        predecessor_has_ended();
        if (writes) store_global(words, &value, 4);
        store_global(words + 4 * (threadIdx.x + 1), &value, 4);
      });
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(problem(words, false), "");
  EXPECT_NE(problem(words + 4, false).find("before the kernel ahead has ended"), std::string::npos);
  EXPECT_NE(problem(words, true).find("only read"), std::string::npos);
}

}  // namespace
}  // namespace emulator
