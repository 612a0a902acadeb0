// The packer that comes from a decode plan: its moves against write_code(), and its text.
#include <gtest/gtest.h>

#include <random>

#include "generator/decode/decode_plan.h"
#include "generator/decode/encode_moves.h"
#include "generator/decode/encode_text.h"
#include "generator/decode/requests.h"

namespace heddle {
namespace {

// Every order at every width that has it, and random permutations: for packing, the kind of code
// and the destination count only where they change the order.
std::vector<NamedDecodeRequest> requests() {
  std::vector<NamedDecodeRequest> all = every_decode_request();
  // A code of 16 bits has no place in a byte: such weights are packed as they are. What becomes
  // eight bits the host alone packs.
  std::erase_if(all, [](const NamedDecodeRequest& named) {
    return named.request.bits > 8 || named.request.order == ElementOrder::kByteFragment;
  });
  std::mt19937 random(3);
  for (const int bits : {1, 2, 4, 8}) {
    for (int i = 0; i < 20; ++i) {
      DecodeRequest request;
      request.bits = bits;
      request.order = ElementOrder::kPermutation;
      request.permutation.resize(32 / bits);
      for (std::size_t j = 0; j < request.permutation.size(); ++j) {
        request.permutation[j] = static_cast<int>(j);
      }
      std::shuffle(request.permutation.begin(), request.permutation.end(), random);
      all.push_back({"permutation", request});
    }
  }
  return all;
}

TEST(EncodeMoves, GiveTheWordsOfWriteCode) {
  std::mt19937 random(5);
  int plans = 0;
  for (const NamedDecodeRequest& named : requests()) {
    const DecodePlan plan = derive_decode_plan(named.request);
    const unsigned codes = 1u << plan.request.bits;
    for (int round = 0; round < 20; ++round) {
      std::vector<std::uint32_t> registers(plan.elements() / 8 * 2);
      std::vector<std::uint32_t> words(plan.words);
      for (int e = 0; e < plan.elements(); ++e) {
        // Single codes of all ones, too, which show each bit's way.
        const unsigned code = round == 0 ? codes - 1 : random() % codes;
        const CodePlace place = code_place(e);
        registers[place.reg] |= code << place.bit;
        write_code(plan, e, code, words);
      }
      ASSERT_EQ(evaluate_encode(plan, registers), words) << named.name;
    }
    ++plans;
  }
  EXPECT_GT(plans, 100);
}

TEST(EncodeMoves, PlacesAreFourBytesOfARow) {
  std::vector<std::uint32_t> used(8);
  for (int e = 0; e < 32; ++e) {
    const CodePlace place = code_place(e);
    EXPECT_EQ(place.reg / 2, e / 8);
    EXPECT_EQ(place.bit % 8, 0);
    EXPECT_EQ(used[place.reg] >> place.bit & 0xFF, 0u);
    used[place.reg] |= 0xFFu << place.bit;
  }
  for (const std::uint32_t bytes : used) EXPECT_EQ(bytes, 0xFFFFFFFFu);
}

// Four bits in fragment order: the codes of row g as they are, those of row g + 8 four bits higher.
TEST(EncodeText, FourBitsTakeTwoInstructionsForEightWeights) {
  const DecodePlan plan = derive_decode_plan({});
  const std::vector<EncodeMove> moves = encode_moves(plan);
  ASSERT_EQ(moves.size(), 2u);
  EXPECT_EQ(moves[0].shift, 0);
  EXPECT_EQ(moves[1].shift, 4);
  EXPECT_EQ(encode_cost(plan), 0.25);
  const std::string text = encode_text(plan);
  EXPECT_NE(text.find("u32 w0 = c0;"), std::string::npos) << text;
  EXPECT_NE(text.find("w0 |= shl<4>(c1);"), std::string::npos) << text;
  EXPECT_EQ(text.find("lop3"), std::string::npos) << text;
}

TEST(EncodeText, FragmentOrderIsTheCheapestToPackToo) {
  for (int bits = 1; bits <= 8; ++bits) {
    DecodeRequest fragment;
    fragment.bits = bits;
    DecodeRequest linear = fragment;
    linear.order = ElementOrder::kLinear;
    EXPECT_LE(encode_cost(derive_decode_plan(fragment)), encode_cost(derive_decode_plan(linear)))
        << bits;
  }
}

TEST(EncodeText, HasALineForEachMove) {
  DecodeRequest request;
  request.bits = 3;
  const DecodePlan plan = derive_decode_plan(request);
  const std::string text = encode_text(plan);
  for (const EncodeMove& move : encode_moves(plan)) {
    EXPECT_NE(text.find("// " + move.why), std::string::npos) << move.why;
  }
  EXPECT_NE(text.find("words[3 * unit + 2] = w2;"), std::string::npos) << text;
}

}  // namespace
}  // namespace heddle
