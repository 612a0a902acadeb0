// What the threads of a cluster wait for: each other, mbarriers, and what is on its way.
#include <fmt/core.h>

#include <numeric>
#include <utility>

#include "tests/emulator/cluster.h"

namespace emulator {
namespace {

constexpr const char* kClusterBarrier = "the cluster's barrier";

}  // namespace

Cluster::Range Cluster::block_threads() {
  const auto threads = static_cast<std::size_t>(launch_.threads);
  return {self().block * threads, threads};
}

void Cluster::meet(const char* what, unsigned& arrived, Range range, bool orders,
                   const std::function<void()>& act) {
  if (++arrived < range.count) return wait(what);
  arrived = 0;
  if (act) act();
  if (orders) {
    std::vector<std::size_t> threads(range.count);
    std::iota(threads.begin(), threads.end(), range.first);
    return end_meeting(threads);
  }
  for (std::size_t i = range.first; i < range.first + range.count; ++i) {
    if (i != current_) wake(i);
  }
}

void Cluster::end_meeting(const std::vector<std::size_t>& threads) {
  Clock all, released;
  for (const std::size_t i : threads) {
    all.join(threads_[i].actor.clock);
    released.join(threads_[i].released);
  }
  for (const std::size_t i : threads) {
    threads_[i].actor.clock = all;
    threads_[i].actor.advance();
    threads_[i].released = released;
    if (threads_[i].waits_for != nullptr) wake(i);
  }
}

void Cluster::meet_at(int barrier, unsigned threads) {
  static const char* const kNames[] = {"barrier 0",  "barrier 1",  "barrier 2",  "barrier 3",
                                       "barrier 4",  "barrier 5",  "barrier 6",  "barrier 7",
                                       "barrier 8",  "barrier 9",  "barrier 10", "barrier 11",
                                       "barrier 12", "barrier 13", "barrier 14", "barrier 15"};
  if (barrier < 1 || barrier > 15) fail(fmt::format("there is no barrier {}", barrier));
  std::vector<std::size_t>& here = block().at_numbered[barrier];
  here.push_back(current_);
  if (here.size() < threads) return wait(kNames[barrier]);
  end_meeting(std::exchange(here, {}));
}

ClusterBarrier& Cluster::cluster_barrier() {
  return cluster_barriers_[first_of_cluster() / static_cast<unsigned>(launch_.cluster)];
}

void Cluster::arrive_at_cluster() {
  ClusterBarrier& barrier = cluster_barrier();
  if (barrier.has(self())) fail("a thread arrives twice at the cluster's barrier");
  self().cluster_phases = barrier.phases + 1;
  barrier.arrived.join(self().actor.clock);
  barrier.arrived_released.join(self().released);
  self().actor.advance();
  arrive(barrier);
}

// One that was missing; the last ends the phase.
void Cluster::arrive(ClusterBarrier& barrier) {
  if (--barrier.missing != 0) return;
  barrier.missing = barrier.running;
  ++barrier.phases;
  barrier.ended = barrier.arrived;
  barrier.ended_released = barrier.arrived_released;
  const auto of_cluster = static_cast<unsigned>(launch_.cluster);
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const bool is_of_cluster = threads_[i].block / of_cluster == self().block / of_cluster;
    if (is_of_cluster && threads_[i].waits_for == kClusterBarrier) wake(i);
  }
}

void Cluster::wait_for_cluster() {
  const ClusterBarrier& barrier = cluster_barrier();
  if (self().cluster_phases == 0) fail("a thread waits for a cluster where it has not arrived");
  if (barrier.has(self())) wait(kClusterBarrier);
  self().actor.clock.join(barrier.ended);
  self().actor.advance();
  self().released.join(barrier.ended_released);
}

void Cluster::wait_for_phase(std::uint32_t address, unsigned parity) {
  Mbarrier& barrier = block().shared.barrier(address, self().actor);
  if (barrier.parity() == parity) {
    self().barrier = address;
    self().parity = parity;
    wait("an mbarrier");
    self().barrier = 0;
  }
  self().actor.clock.join(barrier.ended);
}

void Cluster::count_in(unsigned rank, Mbarrier& barrier, std::uint32_t address, unsigned arrivals,
                       std::int64_t bytes, bool remote, const Clock* clock) {
  if (arrivals > barrier.pending) {
    fail(fmt::format("more arrivals than the {} of a phase at the barrier of shared offset {}",
                     barrier.arrivals, address - SharedMemory::kBegin));
  }
  barrier.pending -= arrivals;
  barrier.bytes += bytes;
  barrier.remote = barrier.remote || remote;
  if (clock != nullptr) barrier.arrived.join(*clock);
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  barrier.pending = barrier.arrivals;
  ++barrier.phases;
  barrier.remote_before = std::exchange(barrier.remote, false);
  barrier.ended = barrier.arrived;
  barrier.ended.set(barrier.agent, barrier.phases);
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const Thread& thread = threads_[i];
    if (thread.waits_for != nullptr && thread.barrier == address && thread.block == rank &&
        thread.parity != barrier.parity()) {
      wake(i);
    }
  }
}

void Cluster::later(Pending pending) {
  pending.thread = current_;
  pending_.push_back(std::move(pending));
}

void Cluster::finish_arrivals() {
  for (std::size_t i = pending_.size(); i-- > 0;) {
    if (pending_[i].bytes == 0 && pending_[i].thread == current_) happen(i);
  }
}

void Cluster::happen(std::size_t which) {
  std::swap(pending_[which], pending_.back());
  const Pending it = std::move(pending_.back());
  pending_.pop_back();
  SharedMemory& shared = block(it.block).shared;
  Mbarrier& barrier = shared.barrier(it.barrier);
  if (it.bytes == 0) {
    return count_in(it.block, barrier, it.barrier, 1, 0, !it.relaxed, &it.clock);
  }
  const bool stored = it.from == nullptr && it.box.empty();
  const void* from = !it.box.empty() ? it.box.data() : it.from;
  shared.end_copy(it.address, stored ? it.data : from, it.bytes, barrier);
  count_in(it.block, barrier, it.barrier, 0, -static_cast<std::int64_t>(it.bytes), stored, nullptr);
}

}  // namespace emulator
