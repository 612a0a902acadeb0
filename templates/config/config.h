// The language of configuration structs: plain aggregates that the library and the device compiler
// both compile, so that every size of a kernel is written once.
//
// A struct lists its members again in HEDDLE_FIELDS, in their order. On the host that gives them
// their names (generator/families/fields.h: rendered text, JSON); in device code it is
// empty, as HEDDLE_BOTH is on the host. An enum of specs is a HEDDLE_SPEC_ENUM: on the host it is
// the spec's own type, and the enumerators must be in its order.
#pragma once

#ifndef HEDDLE_FIELDS
#define HEDDLE_FIELDS(...)
#define HEDDLE_ENUM(name, ...) enum class name { __VA_ARGS__ }
#define HEDDLE_SPEC_ENUM HEDDLE_ENUM
#endif

#ifdef __CUDACC__
#define HEDDLE_BOTH __host__ __device__
#else
#define HEDDLE_BOTH
#endif

namespace heddle::device {

using i64 = long long;

HEDDLE_BOTH constexpr i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }
HEDDLE_BOTH constexpr int max_of(int a, int b) { return a > b ? a : b; }
HEDDLE_BOTH constexpr int min_of(int a, int b) { return a < b ? a : b; }

}  // namespace heddle::device

// Device code names these types without their namespace; on the host some share their names with
// the types of specs.
#ifndef HEDDLE_HOST_FIELDS
namespace heddle {
using namespace device;
}
#endif
