// Comparing specs without their texts must come to what comparing their texts comes to.
#include "runtime/prepare/spec_meaning.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "generator/operations/operation.h"
#include "heddle/error.h"

namespace heddle {
namespace {

std::vector<std::int64_t> values_to_try(const Field& field) {
  std::vector<std::int64_t> values = {field.min, field.max, 0, 1, 2, 16, 32, 64, 128, 256};
  values.insert(values.end(), field.also.begin(), field.also.end());
  if (field.kind == FieldKind::kNumber) {
    for (const double number : {field.least, field.most, 0.5 * field.most}) {
      values.push_back(std::bit_cast<std::int32_t>(static_cast<float>(number)));
    }
  }
  for (std::size_t word = 0; word < field.words.size(); ++word) {
    values.push_back(static_cast<std::int64_t>(word));
  }
  return values;
}

// `first`, and every valid spec that one changed field makes of it.
template <typename Object, typename Make>
void add_variants(Op op, const Object& first, const Make& make, std::vector<Spec>* specs) {
  const auto add = [&](const Object& object) {
    try {
      specs->push_back(make(object));
    } catch (const Error&) {
      return false;
    }
    return true;
  };
  ASSERT_TRUE(add(first));
  for (const Field& field : operation_of(op).fields().fields) {
    if (!field.is_leaf() || field.kind == FieldKind::kLabel) continue;
    Object changed = first;
    if (field.kind == FieldKind::kList) {
      for (const std::vector<int>& order :
           {std::vector<int>{1, 0, 2, 3, 4, 5, 6, 7}, std::vector<int>{0, 1, 2, 3, 4, 5, 7, 6}}) {
        field.list.set(&changed, order);
        add(changed);
      }
      continue;
    }
    for (const std::int64_t value : values_to_try(field)) {
      field.slot.set(&changed, value);
      add(changed);
    }
  }
}

std::vector<Spec> many_specs() {
  std::vector<Spec> specs;
  const auto from_gemm = [](const GemmSpec& gemm) { return Spec::from_gemm(gemm); };
  GemmSpec gemm;
  gemm.shape = {256, 512, 1, 64};
  add_variants(Op::kGemm, gemm, from_gemm, &specs);
  gemm.weight.interleave = Interleave::kPermutation;
  gemm.weight.permutation = {7, 6, 5, 4, 3, 2, 1, 0};
  add_variants(Op::kGemm, gemm, from_gemm, &specs);
  for (const Op op : {Op::kDequantize, Op::kRepack, Op::kQuantizeWeight}) {
    WeightOpSpec weight_op;
    weight_op.shape = {256, 512};
    if (op == Op::kRepack) weight_op.format = CheckpointFormat::kGptq;
    add_variants(
        op, weight_op, [op](const WeightOpSpec& spec) { return Spec::from_weight_op(op, spec); },
        &specs);
  }
  KvAppendSpec append;
  append.shape = {8, 128};
  add_variants(
      Op::kKvAppend, append, [](const KvAppendSpec& spec) { return Spec::from_kv_append(spec); },
      &specs);
  DecodeAttentionSpec attention;
  attention.shape = {32, 8, 128, 1};
  add_variants(
      Op::kDecodeAttention, attention,
      [](const DecodeAttentionSpec& spec) { return Spec::from_decode_attention(spec); }, &specs);
  RowTransformSpec row_transform;
  row_transform.shape.columns = 512;
  row_transform.norm = {NormType::kRms, 1e-5F, 0, false};
  add_variants(
      Op::kRowTransform, row_transform,
      [](const RowTransformSpec& spec) { return Spec::from_row_transform(spec); }, &specs);
  MoeSpec moe;
  moe.shape = {.hidden = 512, .intermediate = 256, .experts = 64, .top_k = 4};
  add_variants(
      Op::kMoe, moe, [](const MoeSpec& spec) { return Spec::from_moe(spec); }, &specs);
  return specs;
}

TEST(SpecMeaning, IsEqualExactlyWhereTheTextsAre) {
  const std::vector<Spec> specs = many_specs();
  std::vector<std::string> texts;
  for (const Spec& spec : specs) texts.push_back(spec.canonical_json());
  const SameMeaning same;
  const MeaningHash hash;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    for (std::size_t j = 0; j < specs.size(); ++j) {
      ASSERT_EQ(same(specs[i], specs[j]), texts[i] == texts[j]) << texts[i] << "\n" << texts[j];
      if (texts[i] != texts[j]) continue;
      ASSERT_EQ(hash(specs[i]), hash(specs[j])) << texts[i];
    }
  }
  const std::set<std::string> different(texts.begin(), texts.end());
  std::set<std::size_t> hashes;
  for (const Spec& spec : specs) hashes.insert(hash(spec));
  EXPECT_EQ(hashes.size(), different.size()) << "of so few, none should collide";
  EXPECT_GT(different.size(), 200U) << "too few to show anything";
}

TEST(SpecMeaning, TheNameIsNoPartOfIt) {
  GemmSpec gemm;
  gemm.shape = {256, 512, 1, 64};
  const Spec first = Spec::from_gemm(gemm, "first");
  const Spec second = Spec::from_gemm(gemm, "second");
  EXPECT_TRUE(SameMeaning()(first, second));
  EXPECT_EQ(MeaningHash()(first), MeaningHash()(second));
}

}  // namespace
}  // namespace heddle
