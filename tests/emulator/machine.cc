#include "tests/emulator/machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "tests/emulator/cuda_words.h"
#include "tests/emulator/device.h"
#include "tests/emulator/fibers.h"
#include "tests/emulator/shared_memory.h"

Index3 threadIdx, blockIdx, gridDim;

namespace emulator {
namespace {

constexpr unsigned kLanes = 32;
// A remote address is an address of a block plus (its rank + 1) of these.
constexpr unsigned kRankShift = 24;

struct Thread {
  unsigned block = 0;               // rank
  unsigned index = 0;               // in the block
  const char* waits_for = nullptr;  // null: it can run
  std::uint32_t barrier = 0;        // that it waits for, and for the end of which phase
  unsigned parity = 0;
  bool done = false;
  bool predecessor_has_ended = false;
};

struct Warp {
  std::vector<unsigned> ready;  // lanes that can run
  double priority = 0;
  unsigned lane_order = 0;  // lanes by their number ^ this
  unsigned elected = 0;
  // The instruction at which lanes wait for the others.
  const char* together = nullptr;
  unsigned arrived = 0;
  void* arguments[kLanes] = {};
};

struct Block {
  explicit Block(std::size_t shared_bytes) : shared(shared_bytes) {}
  SharedMemory shared;
  unsigned running = 0;  // threads
  unsigned at_barrier = 0;
};

// What happens some time later.
struct Pending {
  unsigned block;  // where
  std::uint32_t address;
  const void* from;  // global memory; null: `data`
  std::uint32_t data[4];
  unsigned bytes;  // 0: an arrival
  std::uint32_t barrier;
  std::size_t thread;  // whose it is
};

// How a run draws what comes next.
struct Style {
  double pending;       // how often something that is pending happens
  bool uniform;         // any warp, or the one of the highest priority
  bool any_lane;        // of a warp, or the first in an order, which leaves some behind
  double new_priority;  // how often both change
};

class Machine {
 public:
  Machine(const Launch& launch, const GlobalMemory& memory, int first_block,
          const std::function<void()>& kernel);
  // To the end of the cluster.
  void run();

  Thread& self() { return threads_[current_]; }
  Warp& warp() { return warps_[current_ / kLanes]; }
  Block& block() { return blocks_[self().block]; }
  Block& live_block(unsigned rank);

  // Suspends the fiber until another one wakes it up.
  void wait(const char* what);
  void wake(std::size_t thread);
  // All threads from one on.
  void wake(std::size_t first, std::size_t count, const char* waiting_for);

  void count_in(unsigned block, std::uint32_t barrier, unsigned arrivals, std::int64_t bytes,
                bool remote);
  void later(const Pending& pending) {
    pending_.push_back(pending);
    pending_.back().thread = current_;
  }
  // The fiber's arrivals at other blocks, which a barrier orders before what follows it. Copies are
  // not: an mbarrier alone tells when they have ended.
  void finish_arrivals();
  [[noreturn]] void fail(const std::string& what);

  const Launch& launch;
  const GlobalMemory& memory;
  unsigned at_cluster_barrier = 0;

 private:
  // The number of the next thread; false: none can run.
  bool pick(std::size_t& thread);
  void draw(Warp& warp);
  void happen(std::size_t which);
  bool chance(double probability) { return random_() < probability * 4294967296.0; }
  std::size_t below(std::size_t n) { return random_() % n; }
  std::string who_waits() const;

  std::mt19937 random_;
  Style style_;
  std::vector<Block> blocks_;
  std::vector<Thread> threads_;  // of all blocks
  std::vector<Warp> warps_;
  std::vector<Pending> pending_;
  std::size_t current_ = 0;
  std::size_t running_;
  int first_block_;
  bool inside_ = false;  // of a fiber
  std::string failure_;
  Fibers fibers_;
};

Machine* machine = nullptr;

Style style_of(std::mt19937& random) {
  constexpr double kPending[] = {0, 0.02, 0.3, 1};
  constexpr double kNewPriority[] = {0.001, 0.02, 0.2};
  return {kPending[random() % 4], random() % 3 == 0, random() % 2 == 0, kNewPriority[random() % 3]};
}

Machine::Machine(const Launch& launch, const GlobalMemory& memory, int first_block,
                 const std::function<void()>& kernel)
    : launch(launch),
      memory(memory),
      random_(launch.seed + static_cast<unsigned>(first_block)),
      style_(style_of(random_)),
      threads_(static_cast<std::size_t>(launch.cluster * launch.threads)),
      warps_(threads_.size() / kLanes),
      running_(threads_.size()),
      first_block_(first_block),
      fibers_(threads_.size(), kernel) {
  const auto in_block = static_cast<unsigned>(launch.threads);
  for (int i = 0; i < launch.cluster; ++i) {
    blocks_.emplace_back(static_cast<std::size_t>(launch.shared_bytes)).running = in_block;
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    threads_[i].block = static_cast<unsigned>(i) / in_block;
    threads_[i].index = static_cast<unsigned>(i) % in_block;
    warps_[i / kLanes].ready.push_back(static_cast<unsigned>(i % kLanes));
  }
  for (Warp& warp : warps_) {
    draw(warp);
    warp.elected = static_cast<unsigned>(below(kLanes));
  }
}

void Machine::fail(const std::string& what) {
  if (!inside_) throw Error(what);
  failure_ = fmt::format("block {}, thread {}: {}", first_block_ + static_cast<int>(self().block),
                         self().index, what);
  fibers_.suspend();
  throw Error("a fiber went on after a failure");
}

void Machine::draw(Warp& warp) {
  warp.priority = static_cast<double>(random_());
  warp.lane_order = random_() % kLanes;
}

bool Machine::pick(std::size_t& thread) {
  std::size_t best = warps_.size();
  std::size_t seen = 0;
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    if (warps_[i].ready.empty()) continue;
    const bool better =
        best == warps_.size() ||
        (style_.uniform ? below(++seen) == 0 : warps_[i].priority > warps_[best].priority);
    if (best == warps_.size()) seen = 1;
    if (better) best = i;
  }
  if (best == warps_.size()) return false;
  Warp& warp = warps_[best];
  if (chance(style_.new_priority)) draw(warp);
  auto lane = warp.ready.begin() + static_cast<std::ptrdiff_t>(below(warp.ready.size()));
  if (!style_.any_lane) {
    lane = std::min_element(warp.ready.begin(), warp.ready.end(), [&](unsigned a, unsigned b) {
      return (a ^ warp.lane_order) < (b ^ warp.lane_order);
    });
  }
  std::swap(*lane, warp.ready.back());
  thread = best * kLanes + warp.ready.back();
  warp.ready.pop_back();
  return true;
}

void Machine::run() {
  gridDim = {static_cast<unsigned>(launch.blocks), 1, 1};
  while (running_ > 0) {
    std::size_t next = 0;
    const bool found = pick(next);
    if (!pending_.empty() && (!found || chance(style_.pending))) {
      happen(below(pending_.size()));
    }
    if (!found) {
      if (std::all_of(warps_.begin(), warps_.end(),
                      [](const Warp& w) { return w.ready.empty(); }) &&
          pending_.empty()) {
        fail("nothing can run: " + who_waits());
      }
      continue;
    }
    current_ = next;
    threadIdx = {self().index, 0, 0};
    blockIdx = {static_cast<unsigned>(first_block_) + self().block, 0, 0};
    inside_ = true;
    const bool returned = fibers_.resume(next);
    inside_ = false;
    if (!failure_.empty()) throw Error(failure_);
    if (returned) {
      self().done = true;
      --running_;
      --block().running;
    }
  }
  if (!pending_.empty()) fail("the blocks have ended before their copies");
}

void Machine::wait(const char* what) {
  self().waits_for = what;
  fibers_.suspend();
}

void Machine::wake(std::size_t thread) {
  threads_[thread].waits_for = nullptr;
  warps_[thread / kLanes].ready.push_back(static_cast<unsigned>(thread % kLanes));
}

void Machine::wake(std::size_t first, std::size_t count, const char* waiting_for) {
  for (std::size_t i = first; i < first + count; ++i) {
    if (i != current_ && threads_[i].waits_for == waiting_for) wake(i);
  }
}

Block& Machine::live_block(unsigned rank) {
  if (rank >= blocks_.size()) fail(fmt::format("the cluster has no block {}", rank));
  if (blocks_[rank].running == 0) fail(fmt::format("block {} of the cluster has ended", rank));
  return blocks_[rank];
}

void Machine::count_in(unsigned rank, std::uint32_t address, unsigned arrivals, std::int64_t bytes,
                       bool remote) {
  Mbarrier& barrier = live_block(rank).shared.barrier(address);
  if (arrivals > barrier.pending) {
    fail(fmt::format("more arrivals than the {} of a phase at the barrier of shared offset {}",
                     barrier.arrivals, address - SharedMemory::kBegin));
  }
  barrier.pending -= arrivals;
  barrier.bytes += bytes;
  barrier.remote = barrier.remote || remote;
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  barrier.pending = barrier.arrivals;
  barrier.phase ^= 1;
  barrier.remote_before = std::exchange(barrier.remote, false);
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const Thread& thread = threads_[i];
    if (thread.waits_for != nullptr && thread.barrier == address && thread.block == rank &&
        thread.parity != barrier.phase) {
      wake(i);
    }
  }
}

void Machine::finish_arrivals() {
  for (std::size_t i = pending_.size(); i-- > 0;) {
    if (pending_[i].bytes == 0 && pending_[i].thread == current_) happen(i);
  }
}

void Machine::happen(std::size_t which) {
  std::swap(pending_[which], pending_.back());
  const Pending it = pending_.back();
  pending_.pop_back();
  if (it.bytes == 0) return count_in(it.block, it.barrier, 1, 0, true);
  const void* from = it.from != nullptr ? it.from : it.data;
  live_block(it.block).shared.end_copy(it.address, from, it.bytes);
  count_in(it.block, it.barrier, 0, -static_cast<std::int64_t>(it.bytes), it.from == nullptr);
}

std::string Machine::who_waits() const {
  std::string text;
  for (std::size_t i = 0; i < threads_.size(); i += kLanes) {
    std::map<std::string, int> waits;
    for (std::size_t t = i; t < i + kLanes; ++t) {
      const Thread& thread = threads_[t];
      if (thread.done) continue;
      ++waits[thread.barrier != 0
                  ? fmt::format("{} of shared offset {} parity {}", thread.waits_for,
                                thread.barrier - SharedMemory::kBegin, thread.parity)
                  : thread.waits_for];
    }
    for (const auto& [what, count] : waits) {
      text += fmt::format("\n  block {} warp {}: {} lanes wait for {}", threads_[i].block,
                          threads_[i].index / kLanes, count, what);
    }
  }
  return text;
}

}  // namespace

void fail(const std::string& what) { machine->fail(what); }

std::uint32_t shared_begin() { return SharedMemory::kBegin; }
void load_shared(std::uint32_t address, void* to, unsigned bytes) {
  machine->block().shared.load(address, to, bytes);
}
void store_shared(std::uint32_t address, const void* from, unsigned bytes) {
  machine->block().shared.store(address, from, bytes);
}

void check_global(const void* pointer, unsigned bytes, bool write) {
  const Access* access = machine->memory.access(pointer, bytes);
  if (access == nullptr) fail(fmt::format("{} bytes of global memory are in no buffer", bytes));
  if (reinterpret_cast<std::uintptr_t>(pointer) % std::min(bytes, 16U) != 0) {
    fail(fmt::format("{} bytes of global memory are not aligned", bytes));
  }
  if (write && *access != Access::kWrite) fail("a buffer is written that is only read");
  if (*access != Access::kReadEarly && !machine->self().predecessor_has_ended) {
    fail("global memory is used before the kernel ahead has ended");
  }
}
void predecessor_has_ended() { machine->self().predecessor_has_ended = true; }

void warp_together(const char* name, void* argument, void (*act)(const WarpArguments& arguments)) {
  Warp& warp = machine->warp();
  if (warp.arrived != 0 && std::strcmp(warp.together, name) != 0) {
    fail(fmt::format("at {} while other lanes of the warp wait for {}", name, warp.together));
  }
  warp.together = name;
  warp.arguments[lane()] = argument;
  if (++warp.arrived < kLanes) return machine->wait(name);
  if (act != nullptr) act(warp.arguments);
  warp.arrived = 0;
  const Thread& self = machine->self();
  const std::size_t thread =
      std::size_t{self.block} * static_cast<unsigned>(machine->launch.threads) + self.index;
  machine->wake(thread / kLanes * kLanes, kLanes, name);
}
void warp_together(const char* name) { warp_together(name, nullptr, nullptr); }
unsigned lane() { return machine->self().index % kLanes; }
unsigned elected_lane() { return machine->warp().elected; }

void block_barrier() {
  const char* const name = "the block's barrier";
  const auto threads = static_cast<unsigned>(machine->launch.threads);
  Block& block = machine->block();
  if (++block.at_barrier < threads) return machine->wait(name);
  block.at_barrier = 0;
  machine->wake(std::size_t{machine->self().block} * threads, threads, name);
}
void cluster_barrier() {
  const char* const name = "the cluster's barrier";
  const auto threads = static_cast<unsigned>(machine->launch.threads * machine->launch.cluster);
  machine->finish_arrivals();
  if (++machine->at_cluster_barrier < threads) return machine->wait(name);
  machine->at_cluster_barrier = 0;
  machine->wake(0, threads, name);
}
unsigned cluster_rank() { return machine->self().block; }
std::uint32_t remote_address(std::uint32_t address, unsigned rank) {
  machine->live_block(rank);
  return address + ((rank + 1) << kRankShift);
}

namespace {

struct RemotePlace {
  unsigned block;
  std::uint32_t address;
};
RemotePlace remote_place(std::uint32_t remote) {
  if (remote >> kRankShift == 0) fail("an address of the block where a remote one must be");
  return {(remote >> kRankShift) - 1, remote & ((1U << kRankShift) - 1)};
}

}  // namespace

void mbarrier_init(std::uint32_t barrier, unsigned arrivals) {
  machine->block().shared.make_barrier(barrier, arrivals);
}
void mbarrier_arrive(std::uint32_t barrier, std::uint32_t expected_bytes) {
  machine->count_in(cluster_rank(), barrier, 1, expected_bytes, false);
}
void mbarrier_wait(std::uint32_t address, unsigned parity, bool cluster) {
  Thread& self = machine->self();
  if (machine->block().shared.barrier(address).phase == parity) {
    self.barrier = address;
    self.parity = parity;
    machine->wait("an mbarrier");
    self.barrier = 0;
  }
  const Mbarrier& barrier = machine->block().shared.barrier(address);
  if (barrier.remote_before && !cluster) {
    fail("what other blocks did is waited for as if the own block had");
  }
}

void arrive_remote(std::uint32_t remote_barrier) {
  const RemotePlace barrier = remote_place(remote_barrier);
  machine->live_block(barrier.block);
  machine->later({barrier.block, 0, nullptr, {}, 0, barrier.address, 0});
}
void store_remote(std::uint32_t remote, const void* from, unsigned bytes,
                  std::uint32_t remote_barrier) {
  const RemotePlace to = remote_place(remote);
  const RemotePlace barrier = remote_place(remote_barrier);
  if (to.block != barrier.block) fail("a store to one block, counted in by another");
  machine->live_block(to.block).shared.begin_copy(to.address, bytes);
  Pending pending{to.block, to.address, nullptr, {}, bytes, barrier.address, 0};
  std::memcpy(pending.data, from, bytes);
  machine->later(pending);
}
void bulk_copy(std::uint32_t address, const void* global, unsigned bytes, std::uint32_t barrier,
               unsigned blocks) {
  check_global(global, bytes, false);
  if (blocks == 0) blocks = 1U << cluster_rank();
  for (unsigned rank = 0; blocks >> rank != 0; ++rank) {
    if ((blocks >> rank & 1) == 0) continue;
    machine->live_block(rank).shared.begin_copy(address, bytes);
    machine->later({rank, address, global, {}, bytes, barrier, 0});
  }
}

void run(const Launch& launch, const GlobalMemory& memory, const std::function<void()>& kernel) {
  for (int first = 0; first < launch.blocks; first += launch.cluster) {
    Machine cluster(launch, memory, first, kernel);
    machine = &cluster;
    cluster.run();
  }
}

}  // namespace emulator
