// Structs of the C API between callers and libraries of different versions.
#include "runtime/c_api/structs.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace heddle {
namespace {

// A struct in three versions: what a caller with an older header has, what this library has, what a
// caller with a newer header has.
struct Older {
  std::size_t struct_size;
  std::int64_t a;
  std::int32_t b;  // four bytes of padding follow
};
struct Current {
  std::size_t struct_size;
  std::int64_t a;
  std::int32_t b;
  std::int32_t padding;
  std::int64_t added;
};
struct Newer {
  std::size_t struct_size;
  std::int64_t a;
  std::int32_t b;
  std::int32_t padding;
  std::int64_t added;
  std::int64_t unknown;
};

}  // namespace

template <>
inline constexpr std::size_t c_api::kFirstSize<Current> = sizeof(Older);

namespace {

template <typename Caller>
Current read(const Caller& caller, const Current& defaults = {}) {
  // As a C caller passes it: the memory of its own struct, by a pointer to the library's.
  alignas(Current) std::array<unsigned char, 8192> memory{};
  std::memcpy(memory.data(), &caller, sizeof caller);
  return c_api::read_struct(reinterpret_cast<const Current*>(memory.data()), "current", defaults);
}

template <typename Work>
std::string thrown_code(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kUsage);
    return error.code();
  }
  return "none";
}

TEST(CApiStructs, WhatAnOlderCallerLacksHasItsDefault) {
  const Current defaults = {0, 1, 2, 3, 77};
  const Current seen = read(Older{sizeof(Older), 10, 20}, defaults);
  EXPECT_EQ(seen.struct_size, sizeof(Current));
  EXPECT_EQ(seen.a, 10);
  EXPECT_EQ(seen.b, 20);
  EXPECT_EQ(seen.added, 77);
}

TEST(CApiStructs, ANewerCallerIsServedIfItAsksForNothingNew) {
  Newer caller = {sizeof(Newer), 10, 20, 0, 30, 0};
  EXPECT_EQ(read(caller).added, 30);
  caller.unknown = std::int64_t{1} << 63;
  EXPECT_EQ(thrown_code([&] { read(caller); }), "api.struct_size");
}

TEST(CApiStructs, SizesThatNoVersionHasAreRefusedBeforeAnythingIsRead) {
  for (const std::size_t size :
       {std::size_t{0}, sizeof(Older) - 1, std::size_t{HEDDLE_MAX_STRUCT_SIZE} + 1, SIZE_MAX}) {
    EXPECT_EQ(thrown_code([&] { read(Older{size, 0, 0}); }), "api.struct_size") << size;
    Current out = {size, -1, -1, -1, -1};
    EXPECT_EQ(thrown_code([&] { c_api::write_struct(Current{}, &out, "current"); }),
              "api.struct_size");
    EXPECT_EQ(out.a, -1) << "written with size " << size;
  }
  EXPECT_EQ(thrown_code([] { c_api::read_struct<Current>(nullptr, "current"); }), "api.null");
}

TEST(CApiStructs, OnlyTheCallersBytesAreWritten) {
  const Current value = {0, 1, 2, 0, 3};
  struct {
    Newer newer;
    std::int64_t behind = -1;
  } memory;
  auto* out = reinterpret_cast<Current*>(&memory.newer);

  memory.newer = {sizeof(Older), -1, -1, -1, -1, -1};
  c_api::write_struct(value, out, "current");
  EXPECT_EQ(memory.newer.struct_size, sizeof(Older));
  EXPECT_EQ(memory.newer.a, 1);
  EXPECT_EQ(memory.newer.b, 2);
  EXPECT_EQ(memory.newer.added, -1);

  memory.newer = {sizeof(Newer), -1, -1, -1, -1, -1};
  c_api::write_struct(value, out, "current");
  EXPECT_EQ(memory.newer.added, 3);
  EXPECT_EQ(memory.newer.unknown, 0);
  EXPECT_EQ(memory.behind, -1);
}

}  // namespace
}  // namespace heddle
