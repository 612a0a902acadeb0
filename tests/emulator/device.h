// What the emulated primitives are made of. Called by fibers of a running Launch only; see
// machine.h. Shared addresses are those of the fiber's block, or remote ones of its cluster.
#ifndef HEDDLE_TESTS_EMULATOR_DEVICE_H_
#define HEDDLE_TESTS_EMULATOR_DEVICE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace emulator {

// Ends the run.
[[noreturn]] void fail(const std::string& what);

// Shared memory of the fiber's block. The address must be a multiple of the bytes.
std::uint32_t shared_begin();
void load_shared(std::uint32_t address, void* to, unsigned bytes);
// Loads as another lane of the fiber's warp.
void load_shared(std::uint32_t address, void* to, unsigned bytes, unsigned lane);
void store_shared(std::uint32_t address, const void* from, unsigned bytes);
void shared_max(std::uint32_t address, std::uint32_t value);
void shared_min(std::uint32_t address, std::uint32_t value);
void shared_add(std::uint32_t address, std::uint32_t value);
void store_shared(std::uint32_t address, const void* from, unsigned bytes, unsigned lane);

// Checks an access to global memory.
void check_global(const void* pointer, unsigned bytes, bool write);
void load_global(const void* pointer, void* to, unsigned bytes);
// Not from the L1 cache: see Access::kReadAsHint.
void load_global_l2(const void* pointer, void* to, unsigned bytes);
void store_global(void* pointer, const void* from, unsigned bytes);
// Changes nothing, but for the check that the byte is in a buffer.
void prefetch_global(const void* pointer);
void predecessor_has_ended();

// Between blocks: what a thread did before a fence is known to those who have seen, before a fence
// of theirs, what its atomics did after it.
void device_fence();
std::uint32_t atomic_add(std::uint32_t* address, std::uint32_t value);
std::uint32_t load_acquire(const std::uint32_t* address);

// Waits until all 32 lanes have called it with the same name; then one of them calls `act` with the
// arguments of all, by lane. It orders no accesses to memory, but for warp_barrier().
using WarpArguments = void* const[32];
void warp_together(const char* name, void* argument, void (*act)(const WarpArguments& arguments));
void warp_together(const char* name);
void warp_barrier();
unsigned lane();
// The lane that elect.sync picks.
unsigned elected_lane();

// The barrier is that of the source line that calls it: all threads must meet at the same
// instruction.
void block_barrier(const char* file = __builtin_FILE(), int line = __builtin_LINE());
// The cluster's barrier: all of its threads arrive or end before one that waits goes on.
void cluster_arrive();
void cluster_wait();
unsigned cluster_rank();
unsigned cluster_size();
// The address of the cluster's block `rank` that corresponds to one of this block's.
std::uint32_t remote_address(std::uint32_t address, unsigned rank);

// One of 15 of the block, for so many of its threads.
void numbered_barrier(int barrier, unsigned threads);
// Lets others run: what this thread does before and after may lie far apart.
void give_way();

// cp.async, of 4, 8 or 16 bytes of which the first `valid_bytes` are read; see async_copies.h.
void async_copy(std::uint32_t address, const void* global, unsigned bytes, unsigned valid_bytes);
void commit_async_copies();
void wait_for_async_copies(unsigned pending);

// mbarriers of the fiber's block.
void mbarrier_init(std::uint32_t barrier, unsigned arrivals);
void mbarrier_init_fence();
void mbarrier_arrive(std::uint32_t barrier, std::uint32_t expected_bytes);
// `cluster`: whether what other blocks have done is seen after it.
void mbarrier_wait(std::uint32_t barrier, unsigned parity, bool cluster);

// Asynchronous: they happen at some time, in any order.
void arrive_remote(std::uint32_t remote_barrier);
// arrive_remote() of a thread all of whose reads that matter to the other block have ended: who
// waits for the barrier need not wait for the cluster.
void arrive_remote_relaxed(std::uint32_t remote_barrier);
void store_remote(std::uint32_t remote, const void* from, unsigned bytes,
                  std::uint32_t remote_barrier);
// Into every block of the cluster whose bit is set in `blocks`; 0: this one.
void bulk_copy(std::uint32_t address, const void* global, unsigned bytes, std::uint32_t barrier,
               unsigned blocks);
// Bytes that a copy has put together; `blocks` as above.
void box_copy(std::uint32_t address, const std::vector<std::uint8_t>& box, std::uint32_t barrier,
              unsigned blocks);

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_DEVICE_H_
