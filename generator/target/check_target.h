// Which values the facts of a target may have. Targets come from a device, from a record and from
// callers of resolve(); the planner divides by these facts and counts with them.
#ifndef HEDDLE_GENERATOR_TARGET_CHECK_TARGET_H_
#define HEDDLE_GENERATOR_TARGET_CHECK_TARGET_H_

#include <cstdint>
#include <vector>

#include "heddle/error.h"
#include "heddle/target.h"

namespace heddle {

// Both ends are allowed.
struct FactRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

// Calls visit(name, member, range) for the architecture and each fact that the planner uses. The
// ranges are wider than those of any GPU, and narrow enough that no sum of the planner's overflows.
template <class SomeTarget, class Visit>
void for_each_fact(SomeTarget& target, const Visit& visit) {
  constexpr std::int64_t kKib = 1024;
  visit("major", target.major, FactRange{1, 99});
  visit("minor", target.minor, FactRange{0, 9});
  visit("sm_count", target.sm_count, FactRange{1, 4096});
  visit("shared_per_block", target.shared_per_block, FactRange{16 * kKib, kKib * kKib});
  visit("shared_per_sm", target.shared_per_sm, FactRange{16 * kKib, kKib * kKib});
  visit("registers_per_sm", target.registers_per_sm, FactRange{16 * kKib, kKib * kKib});
  visit("threads_per_sm", target.threads_per_sm, FactRange{kKib, 16 * kKib});
  visit("l2_bytes", target.l2_bytes, FactRange{0, std::int64_t{1} << 40});
  visit("memory_gb_per_s", target.memory_gb_per_s, FactRange{0, 1'000'000});
  visit("sm_mhz", target.sm_mhz, FactRange{0, 100'000});
}

// One problem for each fact that no GPU can have, with its name and range; the pointer is that of
// the fact in a record's target: "/sm_count".
std::vector<Problem> target_problems(const Target& target);

// Throws Error(kUsage, "target.invalid") with all of them.
void check_target(const Target& target);

// Throws Error(kUsage, "target.arch") for an architecture, 10 * major + minor, that is neither 0,
// which is any, nor one of a known target, nor one of a GPU that is newer than all of these.
void check_arch(int arch);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_TARGET_CHECK_TARGET_H_
