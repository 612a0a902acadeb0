#include "cache/entry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "test_util.h"

namespace heddle {
namespace {

using testing::expect_equal;
using testing::put_u64;
using testing::sample_binary;
using testing::sample_key;

Bytes sample_entry() { return encode_entry(serialize(sample_key()), sample_binary()); }

void seal_entry(Bytes* bytes) {
  const std::size_t body = bytes->size() - sizeof(Digest);
  std::ranges::copy(digest(bytes->data(), body), bytes->begin() + static_cast<long>(body));
}

EntryStatus status_of(ByteView bytes) { return parse_entry(bytes, sample_key().digests()).status; }

TEST(Entry, RoundTrip) {
  const Bytes bytes = sample_entry();
  const EntryView view = parse_entry(bytes, sample_key().digests());
  ASSERT_EQ(view.status, EntryStatus::kOk) << view.why;
  EXPECT_EQ(problem_of_parts(view), "");
  EXPECT_EQ(key_of(view).source + key_of(view).compiler, sample_key().text());
  expect_equal(to_binary(view).value(), sample_binary());
}

TEST(Entry, RoundTripOfNothing) {
  const SerialKey key = serialize(CacheKey{});
  const Bytes bytes = encode_entry(key, Binary{});
  const EntryView view = parse_entry(bytes, key.digests);
  ASSERT_EQ(view.status, EntryStatus::kOk) << view.why;
  expect_equal(to_binary(view).value(), Binary{});
}

// Sizes at which a part is stored as it is, or compressed, or compressed in several blocks.
TEST(Entry, RoundTripOfPartsOfAnySize) {
  for (const std::size_t size : {0, 1, 20, 300, 40'000, 300'000}) {
    CacheKey key = sample_key();
    key.source_text.assign(size, 's');
    Binary binary = sample_binary();
    binary.cubin.assign(size, 5);
    binary.ptx = std::string(size, 'p');
    const Bytes bytes = encode_entry(serialize(key), binary);
    const EntryView view = parse_entry(bytes, key.digests());
    ASSERT_EQ(view.status, EntryStatus::kOk) << view.why;
    EXPECT_EQ(problem_of_parts(view), "") << size;
    EXPECT_EQ(key_of(view).source, serialize(key).source);
    expect_equal(to_binary(view).value(), binary);
    EXPECT_LT(bytes.size(), 1200U) << size;
  }
}

TEST(Entry, WithoutTextsItStillServes) {
  const Bytes bytes = encode_entry(serialize(sample_key()), sample_binary(), EntryTexts::kWithout);
  const EntryView view = parse_entry(bytes, sample_key().digests());
  ASSERT_EQ(view.status, EntryStatus::kOk) << view.why;
  EXPECT_FALSE(view.has_source());
  EXPECT_EQ(problem_of_parts(view), "");
  EXPECT_EQ(key_of(view).source, "");
  Binary expected = sample_binary();
  expected.ptx = {};
  expect_equal(to_binary(view).value(), expected);
  EXPECT_EQ(parse_entry(bytes, sample_key(1).digests()).status, EntryStatus::kMiss);
  // Written again, it is the same: what is not known is not made up.
  EXPECT_EQ(encode_entry(key_of(view), to_binary(view).value()), bytes);
}

TEST(Entry, FixedFieldsAreWhereTheDocumentSays) {
  const Bytes bytes = sample_entry();
  const SerialKey key = serialize(sample_key());
  const auto u64_at = [&](std::size_t at) { return ByteReader(ByteView(bytes).subspan(at)).u64(); };
  EXPECT_EQ(as_text(bytes).substr(0, 8), "\x89HDL\r\n\x1a\n");
  EXPECT_EQ(u64_at(8), 2U);
  EXPECT_EQ(u64_at(16), bytes.size());
  EXPECT_TRUE(std::ranges::equal(key.digests.source, ByteView(bytes).subspan(24, 16)));
  EXPECT_TRUE(std::ranges::equal(key.digests.compiler, ByteView(bytes).subspan(40, 16)));
  EXPECT_EQ(u64_at(56), key.digests.source_second);
  EXPECT_EQ(u64_at(64), key.source.size());
  EXPECT_EQ(u64_at(72), sample_binary().cubin.size());
  EXPECT_EQ(u64_at(80), sample_binary().ptx.size());
  EXPECT_EQ(u64_at(88), key.compiler.size());
  EXPECT_EQ(as_text(bytes).substr(128, key.compiler.size()), key.compiler);
  const std::size_t metadata = 128 + key.compiler.size();
  EXPECT_EQ(bytes[metadata], sample_binary().kernel_name.size());
  EXPECT_EQ(metadata + u64_at(96) + u64_at(104) + u64_at(112) + u64_at(120) + 16, bytes.size());
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

TEST(Entry, ForeignMagic) {
  Bytes bytes = sample_entry();
  bytes[1] = 'X';
  seal_entry(&bytes);
  EXPECT_EQ(status_of(bytes), EntryStatus::kForeign);
}

// With a right checksum, so that only the checks of the lengths themselves are left.
TEST(Entry, LengthsThatLie) {
  for (const std::size_t at : {16, 64, 72, 80, 88, 96, 104, 112, 120}) {
    const std::uint64_t truth = ByteReader(ByteView(sample_entry()).subspan(at)).u64();
    for (const std::uint64_t length :
         {std::uint64_t{0}, truth - 1, truth + 1, kMaxPartBytes, std::uint64_t{1} << 31,
          std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
      Bytes bytes = sample_entry();
      put_u64(&bytes, at, length);
      seal_entry(&bytes);
      // A compressed source that is longer is another source; what is no frame of it is damage.
      EXPECT_NE(status_of(bytes), EntryStatus::kOk) << at << " " << length;
      EXPECT_NE(status_of(bytes), EntryStatus::kForeign) << at << " " << length;
    }
  }
}

// Lengths whose sum wraps around to the right one.
TEST(Entry, LengthsThatWrap) {
  Bytes bytes = sample_entry();
  const std::uint64_t half = std::uint64_t{1} << 63;
  for (const std::size_t at : {112, 120}) {
    put_u64(&bytes, at, ByteReader(ByteView(bytes).subspan(at)).u64() + half);
  }
  seal_entry(&bytes);
  EXPECT_EQ(status_of(bytes), EntryStatus::kDamaged);
}

// A cubin of 40,000 bytes that compresses well, and where its frame begins.
Bytes compressed_entry(std::size_t* frame, std::size_t* frame_bytes) {
  Binary binary = sample_binary();
  binary.cubin.assign(40'000, 7);
  Bytes bytes = encode_entry(serialize(sample_key()), binary);
  ByteReader reader(ByteView(bytes).subspan(88));
  *frame = kEntryHeaderBytes + reader.u64();
  *frame += reader.u64();
  reader.u64();
  *frame_bytes = reader.u64();
  EXPECT_LT(*frame_bytes, 100U);
  return bytes;
}

// Every byte of a frame changed and the checksum made right: what comes out is never used unless it
// has the length that was announced, and nothing larger is ever allocated.
TEST(Entry, FramesThatLie) {
  std::size_t frame = 0;
  std::size_t frame_bytes = 0;
  const Bytes original = compressed_entry(&frame, &frame_bytes);
  int refused = 0;
  for (std::size_t at = frame; at < frame + frame_bytes; ++at) {
    for (int change = 1; change < 256; ++change) {
      Bytes bytes = original;
      bytes[at] ^= static_cast<std::uint8_t>(change);
      seal_entry(&bytes);
      const EntryView view = parse_entry(bytes);
      if (view.status != EntryStatus::kOk) continue;
      const auto binary = to_binary(view);
      refused += binary ? 0 : 1;
      EXPECT_TRUE(!binary || binary->cubin.size() == 40'000U) << at;
      EXPECT_EQ(problem_of_parts(view).empty(), binary.has_value()) << at;
    }
  }
  EXPECT_GT(refused, 0) << "some damage shows in the frame's content only";
}

// A frame that says that it holds more, or less, than the entry does.
TEST(Entry, BombsAreRefused) {
  std::size_t frame = 0;
  std::size_t frame_bytes = 0;
  const Bytes original = compressed_entry(&frame, &frame_bytes);
  for (const std::uint64_t length : {std::uint64_t{39'999}, std::uint64_t{40'001}, kMaxPartBytes,
                                     kMaxPartBytes + 1, std::uint64_t{1} << 40}) {
    Bytes bytes = original;
    put_u64(&bytes, 72, length);
    seal_entry(&bytes);
    EXPECT_EQ(status_of(bytes), EntryStatus::kDamaged) << length;
  }
  EXPECT_EQ(status_of(original), EntryStatus::kOk);
}

TEST(Entry, MetadataLengthsThatLie) {
  const SerialKey key = serialize(sample_key());
  const std::size_t metadata = kEntryHeaderBytes + key.compiler.size();
  for (const std::uint8_t byte : {0x00, 0x03, 0xff}) {
    Bytes bytes = sample_entry();
    std::fill_n(bytes.begin() + static_cast<long>(metadata), 4, byte);
    seal_entry(&bytes);
    EXPECT_EQ(status_of(bytes), EntryStatus::kDamaged);
  }
}

TEST(Entry, AnotherKeyIsAMiss) {
  const Bytes bytes = sample_entry();
  EXPECT_EQ(parse_entry(bytes, sample_key(1).digests()).status, EntryStatus::kMiss);
  CacheKey key = sample_key();
  key.compiler += "c";
  EXPECT_EQ(parse_entry(bytes, key.digests()).status, EntryStatus::kMiss);
}

// Each of the digests and the length decides on its own.
TEST(Entry, DigestCollisionIsAMiss) {
  const KeyDigests wanted = sample_key().digests();
  for (int differs = 0; differs < 4; ++differs) {
    SerialKey other = serialize(sample_key(1));
    const KeyDigests its_own = other.digests;
    other.digests = wanted;
    if (differs == 0) other.digests.source = its_own.source;
    if (differs == 1) other.digests.compiler[0] ^= 1;
    if (differs == 2) other.digests.source_second = its_own.source_second;
    if (differs == 3) other.digests.source_bytes = (other.source += ' ').size();
    const Bytes bytes = encode_entry(other, sample_binary(1));
    const EntryView view = parse_entry(bytes);
    EXPECT_EQ(view.status, EntryStatus::kOk) << differs << view.why;
    EXPECT_EQ(problem_of_parts(view), "its digests are not of its key");
    EXPECT_EQ(parse_entry(bytes, wanted).status, EntryStatus::kMiss) << differs;
  }
}

// No other version is read, and the reason names it.
TEST(Entry, OfAnotherVersion) {
  for (const std::uint8_t version : {0, 1, 3}) {
    Bytes bytes = encode_entry(serialize(sample_key()), sample_binary());
    ASSERT_EQ(bytes.at(8), 2);
    bytes[8] = version;
    const EntryView view = parse_entry(bytes);
    EXPECT_EQ(view.status, EntryStatus::kForeign);
    EXPECT_EQ(view.why, "it is of format version " + std::to_string(version) +
                            ", and this Heddle's is 2: the kernel is compiled again when it is "
                            "needed");
  }
}

}  // namespace
}  // namespace heddle
