// Structs of the C API that may grow: how those of another version of the header are read and
// written. include/heddle/c/base.h has the rules.
#ifndef HEDDLE_RUNTIME_C_API_STRUCTS_H_
#define HEDDLE_RUNTIME_C_API_STRUCTS_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "heddle/heddle.h"
#include "runtime/c_api/call.h"

namespace heddle::c_api {

// The smallest size that is accepted. Once a header was released it stays that of its version: a
// struct that grows then has a line of its own here. A new field begins at or after the sizeof of
// the version before, not in its padding, whose bytes older callers leave undefined. Structs that
// lie in others, as heddle_kv_cache does, cannot grow.
template <typename Struct>
inline constexpr std::size_t kFirstSize = sizeof(Struct);

// Throws Error(kUsage, "api.struct_size") for a size that no version of the struct has.
void need_struct_size(std::size_t given, std::size_t first, const char* name);

// Throws the same unless the caller's bytes from `known` to `given` are zero.
void need_zeros(const void* from, std::size_t known, std::size_t given, const char* name);

// The caller's struct as this library's header has it. Fields that the caller's header lacks are
// those of `defaults`.
template <typename Struct>
Struct read_struct(const Struct* from, const char* name, Struct defaults = {}) {
  static_assert(sizeof(Struct) <= HEDDLE_MAX_STRUCT_SIZE);
  need(from, name);
  const std::size_t given = from->struct_size;
  need_struct_size(given, kFirstSize<Struct>, name);
  need_zeros(from, sizeof(Struct), given, name);
  std::memcpy(&defaults, from, std::min(given, sizeof(Struct)));
  defaults.struct_size = sizeof(Struct);
  return defaults;
}

// Writes the bytes that the caller's struct has, and no others: `given` of them. What this library
// does not know is zero.
template <typename Struct>
void write_struct(Struct value, std::size_t given, Struct* to, const char* name) {
  need_struct_size(given, kFirstSize<Struct>, name);
  value.struct_size = given;
  auto* bytes = reinterpret_cast<unsigned char*>(to);
  const std::size_t known = std::min(given, sizeof(Struct));
  std::memcpy(bytes, &value, known);
  std::fill(bytes + known, bytes + given, static_cast<unsigned char>(0));
}

// As above, for a struct whose size the caller has set.
template <typename Struct>
void write_struct(const Struct& value, Struct* to, const char* name) {
  need(to, name);
  write_struct(value, to->struct_size, to, name);
}

}  // namespace heddle::c_api

#endif  // HEDDLE_RUNTIME_C_API_STRUCTS_H_
