#include "cache/entry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "test_util.h"

namespace heddle {
namespace {

using testing::expect_equal;
using testing::sample_binary;
using testing::sample_key;

Bytes sample_entry() { return encode_entry(serialize(sample_key()), sample_binary()); }

void seal(Bytes* bytes) {
  const std::size_t body = bytes->size() - sizeof(Digest);
  std::ranges::copy(digest(bytes->data(), body), bytes->begin() + static_cast<long>(body));
}

void put_u64(Bytes* bytes, std::size_t at, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) (*bytes)[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

EntryStatus status_of(ByteView bytes) { return parse_entry(bytes, serialize(sample_key())).status; }

TEST(Entry, RoundTrip) {
  const Bytes bytes = sample_entry();
  const EntryView view = parse_entry(bytes, serialize(sample_key()));
  ASSERT_EQ(view.status, EntryStatus::kOk) << view.why;
  expect_equal(to_binary(view), sample_binary());
}

TEST(Entry, RoundTripOfNothing) {
  const SerialKey key = serialize(CacheKey{});
  const Bytes bytes = encode_entry(key, Binary{});
  const EntryView view = parse_entry(bytes, key);
  ASSERT_EQ(view.status, EntryStatus::kOk) << view.why;
  expect_equal(to_binary(view), Binary{});
}

TEST(Entry, FixedFieldsAreWhereTheDocumentSays) {
  const Bytes bytes = sample_entry();
  const SerialKey key = serialize(sample_key());
  EXPECT_EQ(as_text(bytes).substr(0, 8), "\x89HDL\r\n\x1a\n");
  EXPECT_EQ(bytes[8], 1);
  EXPECT_EQ(bytes[16] + 256 * bytes[17], static_cast<int>(bytes.size()));
  EXPECT_TRUE(std::equal(key.source_digest.begin(), key.source_digest.end(), &bytes[24]));
  EXPECT_TRUE(std::equal(key.compiler_digest.begin(), key.compiler_digest.end(), &bytes[40]));
  EXPECT_EQ(as_text(bytes).substr(96, key.source.size()), key.source);
  const std::size_t metadata = 96 + key.source.size() + key.compiler.size();
  EXPECT_EQ(bytes[metadata], sample_binary().kernel_name.size());
}

TEST(Entry, EverySingleBitFlipIsDetected) {
  Bytes bytes = sample_entry();
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    EXPECT_NE(status_of(bytes), EntryStatus::kOk) << "bit " << bit;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
  }
  EXPECT_EQ(status_of(bytes), EntryStatus::kOk);
}

TEST(Entry, EveryTruncationIsDamage) {
  const Bytes bytes = sample_entry();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<long>(length));
    EXPECT_EQ(status_of(cut), EntryStatus::kDamaged) << length;
  }
}

TEST(Entry, AppendedGarbageIsDamage) {
  Bytes bytes = sample_entry();
  bytes.push_back(0);
  EXPECT_EQ(status_of(bytes), EntryStatus::kDamaged);
}

TEST(Entry, ForeignMagicAndVersion) {
  Bytes bytes = sample_entry();
  bytes[1] = 'X';
  seal(&bytes);
  EXPECT_EQ(status_of(bytes), EntryStatus::kForeign);
  bytes = sample_entry();
  bytes[8] = 2;
  seal(&bytes);
  EXPECT_EQ(status_of(bytes), EntryStatus::kForeign);
}

// With a right checksum, so that only the checks of the lengths themselves are left.
TEST(Entry, LengthsThatLie) {
  for (const std::size_t at : {16, 56, 64, 72, 80, 88}) {
    for (const std::uint64_t length :
         {std::uint64_t{0}, std::uint64_t{1} << 31, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
      Bytes bytes = sample_entry();
      put_u64(&bytes, at, length);
      seal(&bytes);
      EXPECT_EQ(status_of(bytes), EntryStatus::kDamaged) << at << " " << length;
    }
  }
}

// Lengths whose sum wraps around to the right one.
TEST(Entry, LengthsThatWrap) {
  Bytes bytes = sample_entry();
  const std::uint64_t half = std::uint64_t{1} << 63;
  put_u64(&bytes, 80, sample_binary().cubin.size() + half);
  put_u64(&bytes, 88, sample_binary().ptx.size() + half);
  seal(&bytes);
  EXPECT_EQ(status_of(bytes), EntryStatus::kDamaged);
}

TEST(Entry, MetadataLengthsThatLie) {
  const SerialKey key = serialize(sample_key());
  const std::size_t metadata = kEntryHeaderBytes + key.source.size() + key.compiler.size();
  for (const std::uint8_t byte : {0x00, 0x03, 0xff}) {
    Bytes bytes = sample_entry();
    std::fill_n(bytes.begin() + static_cast<long>(metadata), 4, byte);
    seal(&bytes);
    EXPECT_EQ(status_of(bytes), EntryStatus::kDamaged);
  }
}

TEST(Entry, AnotherKeyIsAMiss) {
  const Bytes bytes = sample_entry();
  EXPECT_EQ(parse_entry(bytes, serialize(sample_key(1))).status, EntryStatus::kMiss);
  CacheKey key = sample_key();
  key.compiler += "c";
  EXPECT_EQ(parse_entry(bytes, serialize(key)).status, EntryStatus::kMiss);
}

TEST(Entry, DigestCollisionIsAMiss) {
  const SerialKey wanted = serialize(sample_key());
  SerialKey other = serialize(sample_key(1));
  other.source_digest = wanted.source_digest;
  other.compiler_digest = wanted.compiler_digest;
  const Bytes bytes = encode_entry(other, sample_binary(1));
  EXPECT_EQ(parse_entry(bytes).status, EntryStatus::kOk);
  EXPECT_EQ(parse_entry(bytes, wanted).status, EntryStatus::kMiss);
}

}  // namespace
}  // namespace heddle
