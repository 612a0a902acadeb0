#include "tests/emulator/cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "tests/emulator/thread_index.h"

Index3 threadIdx, blockIdx, gridDim;

namespace emulator {

Cluster::Style Cluster::draw_style(std::mt19937& random) {
  constexpr double kPending[] = {0, 0.02, 0.3, 1};
  constexpr double kNewPriority[] = {0.001, 0.02, 0.2};
  const double pending = kPending[random() % 4];
  const bool uniform = random() % 3 == 0;
  const bool any_lane = random() % 2 == 0;
  return {pending, uniform, any_lane, kNewPriority[random() % 3]};
}

Cluster::Cluster(const Launch& launch, const GlobalMemory& memory, int first_block,
                 const std::function<void()>& kernel)
    : launch_(launch),
      memory_(memory),
      random_(launch.seed + static_cast<unsigned>(first_block)),
      style_(draw_style(random_)),
      threads_(static_cast<std::size_t>((launch.together ? launch.blocks : launch.cluster) *
                                        launch.threads)),
      warps_(threads_.size() / kLanes),
      running_(threads_.size()),
      next_agent_(static_cast<std::uint32_t>(threads_.size())),
      first_block_(first_block),
      fibers_(threads_.size(), kernel) {
  const auto in_block = static_cast<unsigned>(launch.threads);
  const auto blocks = static_cast<unsigned>(threads_.size()) / in_block;
  const auto of_cluster = static_cast<unsigned>(launch.cluster);
  cluster_barriers_.assign(blocks / of_cluster, ClusterBarrier(of_cluster * in_block));
  for (unsigned i = 0; i < blocks; ++i) {
    blocks_.emplace_back(static_cast<std::size_t>(launch.shared_bytes)).running = in_block;
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    threads_[i].block = static_cast<unsigned>(i) / in_block;
    threads_[i].index = static_cast<unsigned>(i) % in_block;
    threads_[i].actor.agent = static_cast<std::uint32_t>(i);
    threads_[i].actor.advance();
    warps_[i / kLanes].ready.push_back(static_cast<unsigned>(i % kLanes));
  }
  for (Warp& warp : warps_) {
    draw(warp);
    warp.elected = static_cast<unsigned>(below(kLanes));
  }
}

void Cluster::fail(const std::string& what) {
  if (!inside_) throw Error(what);
  failure_ = fmt::format("block {}, thread {}: {}", first_block_ + static_cast<int>(self().block),
                         self().index, what);
  fibers_.suspend();
  throw Error("a fiber went on after a failure");
}

void Cluster::draw(Warp& warp) {
  warp.priority = static_cast<double>(random_());
  warp.lane_order = random_() % kLanes;
}

bool Cluster::pick(std::size_t& thread) {
  ready_.clear();
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    if (!warps_[i].ready.empty()) ready_.push_back(i);
  }
  if (ready_.empty()) return false;
  const std::size_t best =
      style_.uniform ? ready_[below(ready_.size())]
                     : *std::max_element(ready_.begin(), ready_.end(), [&](auto a, auto b) {
                         return warps_[a].priority < warps_[b].priority;
                       });
  Warp& warp = warps_[best];
  if (chance(style_.new_priority)) draw(warp);
  auto lane = warp.ready.begin();
  if (style_.any_lane) {
    lane += static_cast<std::ptrdiff_t>(below(warp.ready.size()));
  } else {
    lane = std::min_element(warp.ready.begin(), warp.ready.end(), [&](unsigned a, unsigned b) {
      return (a ^ warp.lane_order) < (b ^ warp.lane_order);
    });
  }
  thread = best * kLanes + *lane;
  warp.ready.erase(lane);
  return true;
}

void Cluster::run() {
  const auto x = static_cast<unsigned>(launch_.grid_x > 0 ? launch_.grid_x : launch_.blocks);
  const auto y = static_cast<unsigned>(launch_.grid_y);
  gridDim = {x, y, static_cast<unsigned>(launch_.blocks) / (x * y)};
  while (running_ > 0) {
    if (!pending_.empty() && chance(style_.pending)) happen(below(pending_.size()));
    std::size_t next = 0;
    if (pick(next)) {
      resume(next);
    } else if (!pending_.empty()) {
      happen(below(pending_.size()));
    } else {
      fail("nothing can run: " + who_waits());
    }
  }
  if (!pending_.empty()) fail("the blocks have ended before their copies");
}

void Cluster::resume(std::size_t thread) {
  current_ = thread;
  threadIdx = {self().index, 0, 0};
  const unsigned place = static_cast<unsigned>(first_block_) + self().block;
  blockIdx = {place % gridDim.x, place / gridDim.x % gridDim.y, place / (gridDim.x * gridDim.y)};
  inside_ = true;
  const bool returned = fibers_.resume(thread);
  inside_ = false;
  if (!failure_.empty()) throw Error(failure_);
  if (!returned) return;
  if (!warp().multiplications[self().index % kLanes].empty()) {
    fail("a thread has ended before its multiplications");
  }
  if (self().copies.any()) fail("a thread has ended before its copies");
  self().done = true;
  --running_;
  --block().running;
  --cluster_barrier().running;
  if (!cluster_barrier().has(self())) arrive(cluster_barrier());
}

void Cluster::wait(const char* what) {
  self().waits_for = what;
  fibers_.suspend();
}

void Cluster::wake(std::size_t thread) {
  threads_[thread].waits_for = nullptr;
  warps_[thread / kLanes].ready.push_back(static_cast<unsigned>(thread % kLanes));
}

unsigned Cluster::first_of_cluster() const {
  const auto blocks = static_cast<unsigned>(launch_.cluster);
  return threads_[current_].block / blocks * blocks;
}

Block& Cluster::block(unsigned rank) {
  if (rank >= blocks_.size()) fail(fmt::format("the cluster has no block {}", rank));
  if (blocks_[rank].running == 0) fail(fmt::format("block {} of the cluster has ended", rank));
  return blocks_[rank];
}

void Cluster::give_way() {
  wake(current_);
  fibers_.suspend();
}

std::string Cluster::who_waits() const {
  std::string text;
  for (std::size_t i = 0; i < threads_.size(); i += kLanes) {
    std::map<std::string, int> waits;
    for (std::size_t t = i; t < i + kLanes; ++t) {
      const Thread& thread = threads_[t];
      if (thread.done) continue;
      ++waits[thread.barrier != 0
                  ? fmt::format("{} of shared offset {}, parity {}", thread.waits_for,
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

}  // namespace emulator
