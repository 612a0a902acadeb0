// For the tests of launches: arguments that are never followed, and what is refused of them.
#ifndef HEDDLE_TESTS_RUNTIME_LAUNCH_LAUNCH_REFUSALS_H_
#define HEDDLE_TESTS_RUNTIME_LAUNCH_LAUNCH_REFUSALS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "heddle/device_memory.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// Enough for anything unless it says otherwise.
inline DeviceOutput memory(std::uintptr_t address, std::size_t bytes = PTRDIFF_MAX) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): only the values matter.
  return {reinterpret_cast<void*>(address), bytes};
}

// The code of the error that `validate` throws, "" if it throws none.
template <class Validate>
std::string code_thrown_by(const Validate& validate) {
  try {
    validate();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kUsage);
    return error.code();
  }
  return {};
}

// What a launch of the plan with these arguments is refused for.
template <class Args>
std::string refusal(const Plan& plan, const Args& args) {
  return code_thrown_by([&] { validate(plan, args); });
}

// As above, after a change of the arguments.
template <class Args, class Change>
std::string refusal_after(const Plan& plan, Args args, const Change& change) {
  change(args);
  return refusal(plan, args);
}

// A paged cache with stored scales, and four sequences in it.
template <class Args>
Args args_with_cache() {
  Args args;
  args.sequences = 4;
  args.lengths = memory(0x3004);
  args.cache.k = {memory(0x4000), memory(0x5000), {}, {}};
  args.cache.v = {memory(0x6000), memory(0x7000), {}, {}};
  args.cache.pages = 16;
  args.cache.block_table = memory(0x8004);
  args.cache.table_stride = 4;
  return args;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_RUNTIME_LAUNCH_LAUNCH_REFUSALS_H_
