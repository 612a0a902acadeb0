// Checkpoints through the C API: what they tell, and the bytes that C++ makes.
#include "heddle/checkpoint.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/runtime/c_api/checkpoint_handles.h"

namespace heddle {
namespace {

using testing::expect_checkpoint;
using testing::expect_refusals;
using testing::expect_rows;
using testing::kFolder;
using testing::open;

struct Gathered {
  std::vector<std::uint8_t> bytes{};
  int most = 1000;
  int calls = 0;
};
std::int32_t gather(void* user, std::size_t offset, const void* data, std::size_t bytes) {
  auto* const to = static_cast<Gathered*>(user);
  EXPECT_EQ(offset, to->bytes.size());
  const auto* const begin = static_cast<const std::uint8_t*>(data);
  to->bytes.insert(to->bytes.end(), begin, begin + bytes);
  return ++to->calls <= to->most ? 1 : 0;
}

TEST(CApiCheckpoint, HasTheReadersLayersAndBytes) {
  const auto handle = open(kFolder);
  const CheckpointReader reader(kFolder);
  expect_checkpoint(handle.get(), reader);
  const CheckpointLayer& layer = reader.layers().front();
  std::vector<std::uint8_t> wanted(layer.packed.bytes);
  reader.pack(layer, wanted.data(), wanted.size());
  std::vector<std::int32_t> order(256);
  reader.read(*layer.permutation, order.data(), 1024);

  std::vector<std::uint8_t> packed(wanted.size());
  std::vector<std::int32_t> permutation(256);
  Gathered pieces;
  Gathered read;
  EXPECT_EQ(heddle_checkpoint_pack(handle.get(), 0, packed.data(), packed.size()), HEDDLE_OK);
  EXPECT_EQ(heddle_checkpoint_pack_to(handle.get(), 0, gather, &pieces), HEDDLE_OK);
  EXPECT_EQ(heddle_checkpoint_read(handle.get(), HEDDLE_TEXT("model.proj.heddle_perm"),
                                   permutation.data(), 1024),
            HEDDLE_OK);
  EXPECT_EQ(
      heddle_checkpoint_read_to(handle.get(), HEDDLE_TEXT("model.proj.heddle"), gather, &read),
      HEDDLE_OK);
  expect_rows({{"pack", packed, wanted},
               {"pack_to", pieces.bytes, wanted},
               {"read", permutation, order},
               {"read_to", read.bytes, wanted}});
  Gathered stops;
  stops.most = 0;
  expect_refusals({HEDDLE_REFUSED(heddle_checkpoint_pack_to(handle.get(), 0, gather, &stops),
                                  CANCELLED, "checkpoint.cancelled")});
  EXPECT_EQ(stops.calls, 1);
  std::vector<std::thread> threads(3);
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      std::vector<std::uint8_t> own(wanted.size());
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(heddle_checkpoint_pack(handle.get(), 0, own.data(), own.size()), HEDDLE_OK);
      }
      EXPECT_EQ(own, wanted);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The caller's work for each layer, and what is told of it.
struct Work {
  const heddle_checkpoint* checkpoint = nullptr;
  std::vector<std::uint8_t> packed{};
  std::int32_t go_on = 1;
  std::int32_t go_on_after = 1;
  int told = 0;
};
std::int32_t pack_layer(void* user, std::size_t layer) {
  auto* const work = static_cast<Work*>(user);
  EXPECT_EQ(layer, 0U);
  EXPECT_EQ(
      heddle_checkpoint_pack(work->checkpoint, layer, work->packed.data(), work->packed.size()),
      HEDDLE_OK);
  return work->go_on;
}
std::int32_t count_progress(void* user, std::size_t layer, std::size_t done, std::size_t total,
                            std::uint64_t bytes_done, std::uint64_t bytes_total) {
  auto* const work = static_cast<Work*>(user);
  EXPECT_TRUE(layer == 0 && done == 1 && total == 1 && bytes_done == bytes_total);
  EXPECT_EQ(bytes_done, work->packed.size());
  ++work->told;
  return work->go_on_after;
}

TEST(CApiCheckpoint, CallsTheCallersWorkForEachLayer) {
  const auto handle = open(kFolder);
  const CheckpointReader reader(kFolder);
  std::vector<std::uint8_t> wanted(reader.layers().front().packed.bytes);
  reader.pack(reader.layers().front(), wanted.data(), wanted.size());
  Work work;
  work.checkpoint = handle.get();
  work.packed.resize(wanted.size());
  const auto each = [&](std::int32_t jobs) {
    return heddle_checkpoint_for_each_layer(handle.get(), pack_layer, jobs, count_progress, &work);
  };
  EXPECT_EQ(each(0), HEDDLE_OK);
  EXPECT_EQ(work.packed, wanted);
  EXPECT_EQ(each(2), HEDDLE_OK);
  EXPECT_EQ(work.told, 2);
  EXPECT_EQ(heddle_checkpoint_for_each_layer(handle.get(), pack_layer, 1, nullptr, &work),
            HEDDLE_OK);
  expect_refusals({HEDDLE_REFUSED(each(-1), USAGE, "checkpoint.jobs")});
  work.go_on_after = 0;
  expect_refusals({HEDDLE_REFUSED(each(1), CANCELLED, "checkpoint.cancelled")});
  work.go_on = 0;
  expect_refusals({HEDDLE_REFUSED(each(1), CANCELLED, "checkpoint.cancelled")});
}

// A checkpoint of one file.

}  // namespace
}  // namespace heddle
