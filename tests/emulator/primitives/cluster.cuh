// templates/primitives/cluster.cuh in C++.
#pragma once

#include "primitives/types.cuh"
#include "tests/emulator/device.h"

namespace heddle {

inline u32 cluster_rank() { return emulator::cluster_rank(); }
inline u32 cluster_size() { return emulator::cluster_size(); }
inline u32 cluster_index() { return blockIdx.x / cluster_size(); }
inline u32 cluster_count() { return gridDim.x / cluster_size(); }
inline void cluster_arrive_unordered() { emulator::cluster_arrive(); }
inline void cluster_wait() { emulator::cluster_wait(); }
inline void cluster_barrier_unordered() {
  emulator::cluster_arrive();
  emulator::cluster_wait();
}
inline void cluster_barrier() { cluster_barrier_unordered(); }
inline u32 address_in_block(u32 shared, u32 rank) { return emulator::remote_address(shared, rank); }
inline void store_remote_floats(u32 remote, f32x4 v, u32 remote_barrier) {
  emulator::store_remote(remote, &v, 16, remote_barrier);
}
inline void mbarrier_arrive_remote(u32 remote_barrier) { emulator::arrive_remote(remote_barrier); }
inline void mbarrier_arrive_remote_if(bool arrives, u32 remote_barrier) {
  if (arrives) emulator::arrive_remote_relaxed(remote_barrier);
}
inline void mbarrier_wait_cluster(u32 barrier, u32 parity) {
  emulator::mbarrier_wait(barrier, parity, true);
}
inline void bulk_copy_to_all(u32 shared, const void* global, u32 bytes, u32 barrier, u32 mask) {
  emulator::bulk_copy(shared, global, bytes, barrier, mask);
}

}  // namespace heddle
