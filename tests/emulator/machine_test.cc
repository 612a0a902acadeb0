// What the emulated machine lets pass, and what it finds.
#include "tests/emulator/machine.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/emulator/device.h"
#include "tests/emulator/shared_words.h"
#include "tests/emulator/thread_index.h"

namespace emulator {
namespace {

constexpr int kSharedBytes = 2048;
constexpr std::uint32_t kData = 128;  // behind the barriers

// What a kernel of two warps does, in each of many interleavings; of the first that is wrong, why.
std::string problem_of(const std::function<void()>& kernel, int cluster = 1) {
  const GlobalMemory memory;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    try {
      run({cluster, cluster, 64, kSharedBytes, seed}, memory, kernel);
    } catch (const Error& error) {
      return error.what();
    }
  }
  return {};
}

// That it is found with these words.
void expect_problem(const std::string& words, const std::function<void()>& kernel,
                    int cluster = 1) {
  const std::string problem = problem_of(kernel, cluster);
  EXPECT_NE(problem.find(words), std::string::npos) << "found: " << problem;
}

void store(std::uint32_t offset, std::uint32_t value) { store_shared(shared(offset), &value, 4); }
void make_barrier(unsigned arrivals) {
  if (threadIdx.x != 0) return;
  mbarrier_init(shared(0), arrivals);
  mbarrier_init_fence();
}

TEST(Machine, OrdersByBarriersOfTheBlock) {
  EXPECT_EQ(problem_of([] {
              store(kData + 4 * threadIdx.x, threadIdx.x);
              block_barrier();
              if (load(kData + 4 * (63 - threadIdx.x)) != 63 - threadIdx.x) fail("wrong value");
            }),
            "");
}

TEST(Machine, OrdersMaximaAmongThemselvesOnly) {
  const auto most = [](bool before, bool after) {
    return [=] {
      if (threadIdx.x == 0) store(kData, 0);
      if (before) block_barrier();
      shared_max(shared(kData), threadIdx.x * 7 % 64);
      if (after) block_barrier();
      if (load(kData) != 63 && after) fail("wrong value");
    };
  };
  EXPECT_EQ(problem_of(most(true, true)), "");
  expect_problem("not ordered", most(false, true));
  expect_problem("not ordered", most(true, false));
}

TEST(Machine, OrdersSumsAmongThemselvesOnly) {
  const auto sum = [](bool before, bool after) {
    return [=] {
      if (threadIdx.x == 0) store(kData, 0);
      if (before) block_barrier();
      shared_add(shared(kData), threadIdx.x);
      if (after) block_barrier();
      if (load(kData) != 63 * 64 / 2 && after) fail("wrong value");
    };
  };
  EXPECT_EQ(problem_of(sum(true, true)), "");
  expect_problem("not ordered", sum(false, true));
  expect_problem("not ordered", sum(true, false));
}

TEST(Machine, FindsARaceInAnyInterleaving) {
  const auto one_warp = [](bool barrier) {
    return [barrier] {
      if (threadIdx.x >= 32) return;
      store(kData + 4 * threadIdx.x, threadIdx.x);
      barrier ? warp_barrier() : warp_together("shfl");
      load(kData + 4 * (31 - threadIdx.x));
    };
  };
  EXPECT_EQ(problem_of(one_warp(true)), "");
  expect_problem("not ordered after the last write", one_warp(false));
  expect_problem("not ordered after a read", [] {
    load(kData);
    warp_barrier();
    if (threadIdx.x == 0) store(kData, 1);
  });
}

TEST(Machine, OrdersByMbarriers) {
  const auto kernel = [](unsigned rounds_before_wait) {
    return [rounds_before_wait] {
      make_barrier(32);
      block_barrier();
      for (unsigned i = 0; i < 3; ++i) {
        if (threadIdx.x < 32) {
          store(kData + 4 * (32 * i + threadIdx.x), i);
          mbarrier_arrive(shared(0), 0);
          mbarrier_wait(shared(0), i & 1, false);
        } else {
          if (i >= rounds_before_wait) mbarrier_wait(shared(0), i & 1, false);
          load(kData + 4 * (32 * i + 63 - threadIdx.x));
        }
        block_barrier();
      }
    };
  };
  EXPECT_EQ(problem_of(kernel(0)), "");
  expect_problem("not ordered after the last write", kernel(1));
}

TEST(Machine, FindsAPhaseThatWasMissed) {
  expect_problem("nothing can run", [] {
    make_barrier(1);
    block_barrier();
    if (threadIdx.x == 0) {
      mbarrier_arrive(shared(0), 0);
      mbarrier_arrive(shared(0), 0);
    } else if (threadIdx.x == 32) {
      mbarrier_wait(shared(0), 0, false);
    }
  });
}

TEST(Machine, FindsMisusedBarriers) {
  expect_problem("no one has initialised", [] { mbarrier_wait(shared(0), 0, false); });
  expect_problem("not ordered after its start", [] {
    if (threadIdx.x >= 32) return;
    make_barrier(32);
    warp_together("shfl");
    mbarrier_arrive(shared(0), 0);
  });
  expect_problem("not ordered after its start", [] {
    if (threadIdx.x == 0) mbarrier_init(shared(0), 64);
    block_barrier();
    mbarrier_arrive(shared(0), 0);
  });
  expect_problem("more arrivals", [] {
    make_barrier(1);
    block_barrier();
    if (threadIdx.x == 0) mbarrier_arrive(shared(0), 16);
    block_barrier();
    if (threadIdx.x == 0) mbarrier_arrive(shared(0), 0);
  });
  expect_problem("are a barrier", [] {
    make_barrier(1);
    block_barrier();
    load(0);
  });
}

TEST(Machine, FindsWarpsThatPartAndThreadsThatStayAway) {
  expect_problem("other lanes of the warp wait for",
                 [] { threadIdx.x % 2 == 0 ? warp_barrier() : warp_together("shfl"); });
  expect_problem("nothing can run", [] {
    if (threadIdx.x != 5) block_barrier();
  });
  expect_problem("other threads wait at that of", [] {
    if (threadIdx.x < 32) block_barrier();
    block_barrier();
  });
}

TEST(Machine, FindsAccessesOutsideAndNotAligned) {
  expect_problem("outside", [] { load(kSharedBytes); });
  expect_problem("not aligned", [] { load(kData + 2); });
}

TEST(Machine, KnowsWhenCopiesEnd) {
  GlobalMemory memory;
  const std::uint32_t words[4] = {1, 2, 3, 4};
  const std::uint8_t* const source = memory.allocate(words, sizeof words, Access::kReadEarly);
  const auto problem = [&](const std::uint8_t* from, bool waits) -> std::string {
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
      try {
        run({1, 1, 32, kSharedBytes, seed}, memory, [&] {
          make_barrier(1);
          block_barrier();
          if (threadIdx.x == 0) {
            mbarrier_arrive(shared(0), 16);
            bulk_copy(shared(kData), from, 16, shared(0), 0);
          }
          if (waits) mbarrier_wait(shared(0), 0, false);
          EXPECT_EQ(load(kData + 4 * (threadIdx.x % 4)), words[threadIdx.x % 4]);
        });
      } catch (const Error& error) {
        return error.what();
      }
    }
    return {};
  };
  EXPECT_EQ(problem(source, true), "");
  EXPECT_NE(problem(source + 16, true).find("in no buffer"), std::string::npos);
  EXPECT_EQ(problem(source + 8, true).empty(), false);
}

TEST(Machine, FindsReadsOfBytesThatACopyIsWriting) {
  GlobalMemory memory;
  const std::uint8_t* const source = memory.allocate(64, Access::kReadEarly);
  EXPECT_THROW(run({1, 1, 32, kSharedBytes, 1}, memory,
                   [&] {
                     make_barrier(1);
                     warp_barrier();
                     if (threadIdx.x != 0) return;
                     mbarrier_arrive(shared(0), 64);
                     bulk_copy(shared(kData), source, 64, shared(0), 0);
                     load(kData);
                   }),
               Error);
}

// Block 1 stores into block 0, whose barrier counts the bytes in.
TEST(Machine, OrdersBlocksOfAClusterByTheirBarriers) {
  const auto kernel = [](bool waits, bool cluster_wide) {
    return [waits, cluster_wide] {
      make_barrier(1);
      cluster_arrive();
      cluster_wait();
      if (cluster_rank() == 1) {
        const std::uint32_t v[4] = {threadIdx.x, threadIdx.x, threadIdx.x, threadIdx.x};
        store_remote(remote_address(shared(kData + 16 * threadIdx.x), 0), v, 16,
                     remote_address(shared(0), 0));
      } else {
        if (threadIdx.x == 0) mbarrier_arrive(shared(0), 16 * 64);
        if (!waits) return;
        mbarrier_wait(shared(0), 0, cluster_wide);
        if (load(kData + 4 * threadIdx.x) != threadIdx.x / 4) fail("wrong value");
      }
    };
  };
  EXPECT_EQ(problem_of(kernel(true, true), 2), "");
  expect_problem("as if the own block had", kernel(true, false), 2);
  expect_problem("ended", kernel(false, true), 2);
}

// Those of block 0 wait at once, those of block 1 never do, or have ended before.
TEST(Machine, ThreadsArriveAtTheBarrierOfAClusterAndWaitThereApart) {
  EXPECT_EQ(problem_of(
                [] {
                  if (cluster_rank() == 1 && threadIdx.x == 0) return;
                  cluster_arrive();
                  if (cluster_rank() == 0) cluster_wait();
                },
                2),
            "");
  expect_problem(
      "where it has not arrived", [] { cluster_wait(); }, 2);
  expect_problem(
      "arrives twice",
      [] {
        cluster_arrive();
        if (cluster_rank() == 0) cluster_arrive();
      },
      2);
}

}  // namespace
}  // namespace emulator
