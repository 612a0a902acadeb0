// What one call of Runtime::prepare does.
#ifndef HEDDLE_RUNTIME_PREPARE_PREPARE_CALL_H_
#define HEDDLE_RUNTIME_PREPARE_PREPARE_CALL_H_

#include <vector>

#include "runtime/runtime_impl.h"

namespace heddle {

// Returns once the urgent kernels of every spec are there: all of them if `urgent` is null, and
// then no other call is waited for. The requests are in the order of the specs. Throws what
// Runtime::prepare throws. Precondition: check_urgent().
Preparation prepare_kernels(Runtime::Impl* impl, const std::vector<Spec>& specs,
                            const std::vector<MRange>* urgent, const PrepareProgress& progress);

// Whether launches of these M have their final kernels already.
bool is_final(const KernelRequest::State& request, const MRange& urgent);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_PREPARE_PREPARE_CALL_H_
