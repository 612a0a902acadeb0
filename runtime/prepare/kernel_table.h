// KernelTable: the kernels that a Runtime keeps, and those that it is making in the background.
//
// Every spec is, on each device, in one of four states. Its final kernel serves every M as well as
// can be; a stand-in, if there is one, serves them until then:
//
//   state  | final kernel | in the background | what launches get
//   -------+--------------+-------------------+----------------------------------------------
//   none   | none         | nothing           | nothing
//   making | none         | queued or running | the stand-in
//   failed | none         | has thrown        | the stand-in
//   ready  | there        | nothing           | the final kernel; a capture keeps its stand-in
//
//   event                                                 | from         | to     | told by
//   ------------------------------------------------------+--------------+--------+---------------
//   a call has made all of its kernels                    | any          | ready  | finish()
//   a call has made the urgent ones and leaves the others | none, failed | making | begin()
//   a request() tries again what has failed               | failed       | making | begin()
//   the background has made the others                    | making       | ready  | finish()
//   it throws, is cancelled, or the Runtime is destroyed  | making       | failed | State::result
//
// A request() in the state none is no event: its work is its caller's alone until finish().
// Nothing leaves the state ready, whose kernel is the first that finish() is given. Where a call
// has finished what the background is making, the background finds that and makes nothing.
#ifndef HEDDLE_RUNTIME_PREPARE_KERNEL_TABLE_H_
#define HEDDLE_RUNTIME_PREPARE_KERNEL_TABLE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

#include "heddle/kernel.h"
#include "heddle/spec.h"
#include "runtime/driver/cuda_abi.h"
#include "runtime/prepare/kernel_request.h"
#include "runtime/prepare/spec_meaning.h"

namespace heddle {

// Whether a kernel of `general` computes what one of `wanted` does, for every M of it: they differ
// at most in tile, path, name, and a range of M that is wider. Pure.
bool serves(const Spec& general, const Spec& wanted);

// Thread-safe. Its one mutex, which its requests share, is held over no call of the driver.
class KernelTable {
 public:
  // What there is of a spec on a device.
  struct Entry {
    std::optional<Kernel> kernel;  // the final one
    // The last that was begun. It stays: captures may have its stand-in. Null: none was.
    Request request;
  };

  // Whether any device has an entry of the spec.
  bool has(const Spec& spec) const;
  // Empty in the state none.
  Entry find(cuda::CUdevice device, const Spec& spec) const;
  // Of the device at hand, which the driver is not asked for if no device has an entry.
  Entry find_at_hand(const Spec& spec) const;
  // A final kernel of any spec that serves() this one.
  std::optional<Kernel> find_general(cuda::CUdevice device, const Spec& spec) const;

  // Returns the final kernel, whose workspaces also do for the stand-ins that captures may have.
  Kernel finish(cuda::CUdevice device, const Kernel& kernel);
  // Makes the request that takes the place of a failed one, or of none: then `failed` is null.
  // Calls no function of the table but new_request().
  using Begin = std::function<Request(const KernelRequest::State* failed)>;
  // What request() returns; in the states none and failed first what `begin` makes, so that of
  // several callers only one begins any work.
  Request begin(cuda::CUdevice device, const Spec& spec, const Begin& begin);
  // The request that serves the spec; null in the state none.
  Request request(cuda::CUdevice device, const Spec& spec);

  // With the stand-in and the captures of `failed`, if that is not null.
  Request new_request(std::shared_future<Kernel> result,
                      const KernelRequest::State* failed = nullptr) const;
  Request ready_request(const Kernel& kernel) const;

 private:
  using ByDevice = std::map<cuda::CUdevice, Entry>;

  // What request() does, under the lock.
  Request serving(Entry* entry) const;

  std::shared_ptr<std::shared_mutex> mutex_ = std::make_shared<std::shared_mutex>();
  // Guarded by the mutex. Entries are never removed, and stay where they are.
  std::unordered_map<Spec, ByDevice, MeaningHash, SameMeaning> entries_;
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_PREPARE_KERNEL_TABLE_H_
