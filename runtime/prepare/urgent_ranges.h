// The M that prepare() makes kernels for first.
#ifndef HEDDLE_RUNTIME_PREPARE_URGENT_RANGES_H_
#define HEDDLE_RUNTIME_PREPARE_URGENT_RANGES_H_

#include <cstddef>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

inline bool overlap(const MRange& a, const MRange& b) { return a.min <= b.max && b.min <= a.max; }

// That of a spec, by its number: there is one for each, or one for all.
inline const MRange& urgent_of(const std::vector<MRange>& urgent, std::size_t number) {
  return urgent[urgent.size() == 1 ? 0 : number];
}

// Throws Error(kUsage, "runtime.urgent") for too many or too few ranges, for an empty one, and for
// one without any M of its spec.
void check_urgent(const std::vector<Spec>& specs, const std::vector<MRange>& urgent);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_PREPARE_URGENT_RANGES_H_
