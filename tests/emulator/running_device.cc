// device.h for the cluster that runs.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/emulator/cluster.h"
#include "tests/emulator/device.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/warp_lanes.h"

namespace emulator {
namespace {

// A remote address is an address of a block plus (its rank + 1) of these.
constexpr unsigned kRankShift = 24;
constexpr unsigned kLineBytes = 128;

Cluster* cluster = nullptr;

struct Place {
  unsigned block;
  std::uint32_t address;
};
Place place_of(std::uint32_t remote) {
  if (remote >> kRankShift == 0) fail("an address of the own block where a remote one must be");
  return {cluster->first_of_cluster() + (remote >> kRankShift) - 1,
          remote & ((1U << kRankShift) - 1)};
}

}  // namespace

void run(const Launch& launch, const GlobalMemory& memory, const std::function<void()>& kernel) {
  const int blocks = launch.together ? launch.blocks : launch.cluster;
  for (int first = 0; first < launch.blocks; first += blocks) {
    Cluster running(launch, memory, first, kernel);
    cluster = &running;
    running.run();
  }
}

void fail(const std::string& what) { cluster->fail(what); }

std::uint32_t shared_begin() { return SharedMemory::kBegin; }
void load_shared(std::uint32_t address, void* to, unsigned bytes) {
  load_shared(address, to, bytes, lane());
}
void load_shared(std::uint32_t address, void* to, unsigned bytes, unsigned lane) {
  cluster->block().shared.load(address, to, bytes, cluster->thread_of_lane(lane).actor);
}
void store_shared(std::uint32_t address, const void* from, unsigned bytes) {
  store_shared(address, from, bytes, lane());
}
void store_shared(std::uint32_t address, const void* from, unsigned bytes, unsigned lane) {
  cluster->block().shared.store(address, from, bytes, cluster->thread_of_lane(lane).actor);
}
void shared_min(std::uint32_t address, std::uint32_t value) {
  cluster->block().shared.min(address, value, cluster->self().actor);
}
void shared_max(std::uint32_t address, std::uint32_t value) {
  cluster->block().shared.max(address, value, cluster->self().actor);
}
void shared_add(std::uint32_t address, std::uint32_t value) {
  cluster->block().shared.add(address, value, cluster->self().actor);
}

namespace {
void check_aligned(const void* pointer, unsigned bytes) {
  if (reinterpret_cast<std::uintptr_t>(pointer) % std::min(bytes, 16U) != 0) {
    fail(fmt::format("{} bytes of global memory are not aligned", bytes));
  }
}
Access access_of(const void* pointer, unsigned bytes) {
  const Access* access = cluster->memory().access(pointer, bytes);
  if (access == nullptr) fail(fmt::format("{} bytes of global memory are in no buffer", bytes));
  check_aligned(pointer, bytes);
  return *access;
}
}  // namespace
void check_global(const void* pointer, unsigned bytes, bool write) {
  const Access access = access_of(pointer, bytes);
  const bool is_settled = cluster->memory().is_settled(pointer, bytes);
  if (write && (access != Access::kWrite || is_settled)) {
    fail("a buffer is written that is only read");
  }
  const bool is_there = access == Access::kReadEarly || is_settled;
  if (!is_there && !cluster->self().predecessor_has_ended) {
    fail("global memory is used before the kernel ahead has ended");
  }
  if (access != Access::kWrite) return;
  GlobalRaces& races = cluster->global_races();
  write ? races.store(pointer, bytes, cluster->self().actor)
        : races.load(pointer, bytes, cluster->self().actor);
}
void load_global(const void* pointer, void* to, unsigned bytes) {
  check_global(pointer, bytes, false);
  std::memcpy(to, pointer, bytes);
}
void load_global_l2(const void* pointer, void* to, unsigned bytes) {
  const bool early = !cluster->self().predecessor_has_ended;
  if (!early || access_of(pointer, bytes) != Access::kReadAsHint) {
    return load_global(pointer, to, bytes);
  }
  std::memcpy(to, cluster->memory().before(pointer), bytes);
}
void store_global(void* pointer, const void* from, unsigned bytes) {
  check_global(pointer, bytes, true);
  std::memcpy(pointer, from, bytes);
}
void prefetch_global(const void* pointer) { access_of(pointer, 1); }

// Other threads may come before and after all of these.
void device_fence() {
  Thread& thread = cluster->self();
  thread.actor.clock.join(thread.seen);
  thread.released = thread.actor.clock;
  thread.actor.advance();
  cluster->give_way();
}
namespace {
Clock& begin_atomic(const std::uint32_t* address) {
  cluster->give_way();
  if (access_of(address, 4) != Access::kWrite) fail("atomics on a buffer that is only read");
  if (!cluster->self().predecessor_has_ended) {
    fail("global memory is used before the kernel ahead has ended");
  }
  return cluster->global_races().atomic(address, cluster->self().actor);
}
}  // namespace
std::uint32_t atomic_add(std::uint32_t* address, std::uint32_t value) {
  Clock& told = begin_atomic(address);
  cluster->self().seen.join(told);
  told.join(cluster->self().released);
  const std::uint32_t old = *address;
  *address += value;
  cluster->give_way();
  return old;
}
std::uint32_t load_acquire(const std::uint32_t* address) {
  cluster->self().actor.clock.join(begin_atomic(address));
  const std::uint32_t value = *address;
  cluster->give_way();
  return value;
}
void predecessor_has_ended() { cluster->self().predecessor_has_ended = true; }

namespace {
void join_warp(const char* name, void* argument, void (*act)(const WarpArguments& arguments),
               bool orders) {
  Warp& warp = cluster->warp();
  if (warp.arrived != 0 && std::strcmp(warp.together, name) != 0) {
    fail(fmt::format("at {} while other lanes of the warp wait for {}", name, warp.together));
  }
  warp.together = name;
  warp.arguments[lane()] = argument;
  cluster->meet(name, warp.arrived, cluster->warp_threads(), orders, [&] {
    if (act != nullptr) act(warp.arguments);
  });
}
}  // namespace
void warp_together(const char* name, void* argument, void (*act)(const WarpArguments& arguments)) {
  join_warp(name, argument, act, false);
}
void warp_together(const char* name) { join_warp(name, nullptr, nullptr, false); }
void warp_barrier() { join_warp("bar.warp.sync", nullptr, nullptr, true); }
unsigned lane() { return cluster->self().index % kLanes; }
unsigned elected_lane() { return cluster->warp().elected; }

void block_barrier(const char* file, int line) {
  Block& block = cluster->block();
  if (block.at_barrier == 0) {
    block.barrier_file = file;
    block.barrier_line = line;
  } else if (block.barrier_line != line || std::strcmp(block.barrier_file, file) != 0) {
    fail(fmt::format("at the block's barrier of {}:{} while other threads wait at that of {}:{}",
                     file, line, block.barrier_file, block.barrier_line));
  }
  cluster->meet("the block's barrier", cluster->block().at_barrier, cluster->block_threads(), true);
}
void cluster_arrive() {
  cluster->finish_arrivals();
  cluster->arrive_at_cluster();
}
void cluster_wait() { cluster->wait_for_cluster(); }
unsigned cluster_rank() { return cluster->self().block - cluster->first_of_cluster(); }
unsigned cluster_size() { return static_cast<unsigned>(cluster->launch().cluster); }
std::uint32_t remote_address(std::uint32_t address, unsigned rank) {
  if (rank >= cluster_size()) fail(fmt::format("the cluster has no block {}", rank));
  cluster->block(cluster->first_of_cluster() + rank);
  return address + ((rank + 1) << kRankShift);
}

void numbered_barrier(int barrier, unsigned threads) { cluster->meet_at(barrier, threads); }
void give_way() { cluster->give_way(); }

void async_copy(std::uint32_t address, const void* global, unsigned bytes, unsigned valid_bytes) {
  if (valid_bytes > bytes) fail(fmt::format("{} valid bytes of {}", valid_bytes, bytes));
  check_aligned(global, bytes);
  if (valid_bytes > 0) check_global(global, valid_bytes, false);
  cluster->block().shared.begin_copy(address, bytes, cluster->self().actor, false);
  cluster->self().copies.add({address, global, bytes, valid_bytes});
}
void commit_async_copies() { cluster->self().copies.commit(); }
void wait_for_async_copies(unsigned pending) {
  AsyncCopies::Group group;
  while (cluster->self().copies.take(pending, group)) {
    for (const AsyncCopy& copy : group) {
      std::uint8_t data[16] = {};
      if (copy.valid_bytes > 0) std::memcpy(data, copy.from, copy.valid_bytes);
      cluster->block().shared.end_copy(copy.address, data, copy.bytes, cluster->self().actor);
    }
  }
}

void mbarrier_init(std::uint32_t barrier, unsigned arrivals) {
  cluster->block().shared.make_barrier(barrier, arrivals, cluster->new_barrier_agent(),
                                       cluster->self().actor);
}
void mbarrier_init_fence() { cluster->block().shared.fence_barriers(cluster->self().actor); }
void mbarrier_arrive(std::uint32_t address, std::uint32_t expected_bytes) {
  Actor& actor = cluster->self().actor;
  Mbarrier& barrier = cluster->block().shared.barrier(address, actor);
  cluster->count_in(cluster->self().block, barrier, address, 1, expected_bytes, false,
                    &actor.clock);
  actor.advance();
}
void mbarrier_wait(std::uint32_t address, unsigned parity, bool of_cluster) {
  cluster->wait_for_phase(address, parity);
  if (cluster->block().shared.barrier(address).remote_before && !of_cluster) {
    fail("what other blocks did is waited for as if the own block had");
  }
}

namespace {
void send_arrival(std::uint32_t remote_barrier, bool relaxed) {
  const Place to = place_of(remote_barrier);
  Actor& actor = cluster->self().actor;
  cluster->block(to.block).shared.barrier(to.address, actor);
  Pending arrival;
  arrival.block = to.block;
  arrival.barrier = to.address;
  arrival.clock = actor.clock;
  arrival.relaxed = relaxed;
  cluster->later(std::move(arrival));
  actor.advance();
}
}  // namespace
void arrive_remote(std::uint32_t remote_barrier) { send_arrival(remote_barrier, false); }
void arrive_remote_relaxed(std::uint32_t remote_barrier) { send_arrival(remote_barrier, true); }
void store_remote(std::uint32_t remote, const void* from, unsigned bytes,
                  std::uint32_t remote_barrier) {
  const Place to = place_of(remote);
  const Place barrier = place_of(remote_barrier);
  if (to.block != barrier.block) fail("a store to one block, counted in by another");
  SharedMemory& shared = cluster->block(to.block).shared;
  shared.barrier(barrier.address, cluster->self().actor);
  shared.begin_copy(to.address, bytes, cluster->self().actor, false);
  Pending store;
  store.block = to.block;
  store.barrier = barrier.address;
  store.address = to.address;
  store.bytes = bytes;
  std::memcpy(store.data, from, bytes);
  cluster->later(std::move(store));
}
void bulk_copy(std::uint32_t address, const void* global, unsigned bytes, std::uint32_t barrier,
               unsigned blocks) {
  check_global(global, bytes, false);
  const auto from = reinterpret_cast<std::uintptr_t>(global);
  if (cluster->launch().copies_keep_lines && (from - address) % kLineBytes != 0) {
    fail("a bulk copy that begins at another place of a line");
  }
  if (blocks == 0) blocks = 1U << cluster_rank();
  for (unsigned rank = 0; blocks >> rank != 0; ++rank) {
    if ((blocks >> rank & 1) == 0) continue;
    const unsigned block = cluster->first_of_cluster() + rank;
    SharedMemory& shared = cluster->block(block).shared;
    shared.barrier(barrier, cluster->self().actor, true);
    shared.begin_copy(address, bytes, cluster->self().actor, true);
    Pending copy;
    copy.block = block;
    copy.barrier = barrier;
    copy.address = address;
    copy.bytes = bytes;
    copy.from = global;
    cluster->later(std::move(copy));
  }
}

void box_copy(std::uint32_t address, const std::vector<std::uint8_t>& box, std::uint32_t barrier,
              unsigned blocks) {
  if (blocks == 0) blocks = 1U << cluster_rank();
  for (unsigned rank = 0; blocks >> rank != 0; ++rank) {
    if ((blocks >> rank & 1) == 0) continue;
    Pending copy;
    copy.block = cluster->first_of_cluster() + rank;
    copy.barrier = barrier;
    copy.address = address;
    copy.bytes = static_cast<unsigned>(box.size());
    copy.box = box;
    SharedMemory& shared = cluster->block(copy.block).shared;
    shared.barrier(barrier, cluster->self().actor, true);
    shared.begin_copy(address, copy.bytes, cluster->self().actor, true);
    cluster->later(std::move(copy));
  }
}

Multiplications& multiplications_of(unsigned lane) { return cluster->warp().multiplications[lane]; }
Actor& actor_of(unsigned lane) { return cluster->thread_of_lane(lane).actor; }

}  // namespace emulator
