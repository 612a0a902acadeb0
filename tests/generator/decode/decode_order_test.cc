#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "generator/decode/decode_plan.h"
#include "generator/decode/requests.h"
#include "heddle/error.h"

namespace heddle {
namespace {

TEST(DecodeOrder, NamedOrdersSayWhereAnElementLies) {
  DecodeRequest request;
  request.order = ElementOrder::kLinear;
  EXPECT_EQ(derive_decode_plan(request).field_of, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  // Nibble i holds column [0,2,4,6,1,3,5,7][i].
  const std::vector<int> awq{0, 4, 1, 5, 2, 6, 3, 7};
  request.order = ElementOrder::kAwq;
  EXPECT_EQ(derive_decode_plan(request).field_of, awq);
  request.order = ElementOrder::kEvenOdd;
  EXPECT_EQ(derive_decode_plan(request).field_of, awq);
  request.order = ElementOrder::kPermutation;
  request.permutation = {0, 2, 4, 6, 1, 3, 5, 7};
  EXPECT_EQ(derive_decode_plan(request).field_of, awq);
}

TEST(DecodeOrder, LinearCodesCrossWords) {
  DecodeRequest request;
  request.bits = 3;
  request.order = ElementOrder::kLinear;
  const DecodePlan plan = derive_decode_plan(request);
  EXPECT_EQ(plan.words, 3);
  EXPECT_EQ(plan.bit_of[10][1].word, 0);  // bit 31
  EXPECT_EQ(plan.bit_of[10][2].word, 1);  // bit 32
}

TEST(DecodeOrder, AnyPermutationIsDerivedAndProven) {
  std::mt19937 random(7);
  for (const int bits : {2, 4, 8}) {
    for (int round = 0; round < 12; ++round) {
      std::vector<int> permutation(32 / bits);
      std::iota(permutation.begin(), permutation.end(), 0);
      std::shuffle(permutation.begin(), permutation.end(), random);
      std::vector<DecodeRequest> requests(2);
      requests[0].bits = bits;
      requests[1].bits = bits;
      requests[1].type = WeightType::kInt;
      if (bits == 8) requests.push_back(float_request(4, 3, DType::kFp16));
      if (bits == 4) requests.push_back(float_request(2, 1, DType::kFp16));
      if (bits == 4) requests.push_back(table_request(nf4_values(), DType::kFp16));
      for (DecodeRequest& request : requests) {
        request.dtype = round % 2 == 0 ? DType::kFp16 : DType::kBf16;
        request.order = ElementOrder::kPermutation;
        request.permutation = permutation;
        const DecodePlan plan = derive_decode_plan(request);
        const DecodeProof proof = prove_decode_plan(plan);
        EXPECT_EQ(proof.mismatches, 0u) << proof.first_mismatch << "\n" << describe(plan);
        DecodeRequest own = request;
        own.order = ElementOrder::kFragment;
        EXPECT_GE(plan.ops.size(), derive_decode_plan(own).ops.size());
      }
    }
  }
}

TEST(DecodeOrder, RefusesWhatIsNoOrder) {
  DecodeRequest request;
  request.order = ElementOrder::kPermutation;
  for (const std::vector<int>& wrong :
       {std::vector<int>{}, {0, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 6}, {0, 1, 2, 3, 4, 5, 6, 8}}) {
    request.permutation = wrong;
    EXPECT_THROW(derive_decode_plan(request), Error);
  }
  request.order = ElementOrder::kAwq;
  request.bits = 8;
  EXPECT_THROW(derive_decode_plan(request), Error);
  request.order = ElementOrder::kEvenOdd;
  request.bits = 3;
  EXPECT_THROW(derive_decode_plan(request), Error);
}

TEST(DecodeOrder, CodesAreReadWhereTheyWereWritten) {
  for (const NamedDecodeRequest& named : every_decode_request()) {
    const DecodePlan plan = derive_decode_plan(named.request);
    std::vector<std::uint32_t> words(plan.words, 0x5a5a5a5a);
    const unsigned mask = (1u << named.request.bits) - 1;
    for (int e = 0; e < plan.elements(); ++e) write_code(plan, e, (e * 41u + 5) & mask, words);
    for (int e = 0; e < plan.elements(); ++e) {
      EXPECT_EQ(read_code(plan, words, e), (e * 41u + 5) & mask) << named.name;
    }
  }
}

}  // namespace
}  // namespace heddle
