// The kernels of kv_append, which an architecture of each kind has a part of: they compile, fit the
// register file, and nothing spills. Needs NVRTC, not a GPU.
#include <gtest/gtest.h>

#include "tests/runtime/compile/compile_check.h"

namespace heddle {
namespace {

KvTensor tensor(KvDtype dtype, KvGranularity granularity, bool symmetric, DType scale) {
  KvTensor tensor;
  tensor.dtype = dtype;
  tensor.granularity = granularity;
  tensor.symmetric = symmetric;
  if (granularity == KvGranularity::kGroup && dtype != KvDtype::kNvfp4) tensor.group_size = 32;
  const bool stored = granularity == KvGranularity::kToken || granularity == KvGranularity::kHead ||
                      granularity == KvGranularity::kGroup;
  if (stored && dtype != KvDtype::kNvfp4) tensor.scale_dtype = scale;
  return tensor;
}

// Every type in every granularity, K and V with their own ones; the rest takes turns.
std::vector<KvAppendSpec> every_append_spec() {
  constexpr DType kCacheScales[] = {DType::kFp16, DType::kBf16, DType::kFp32};
  constexpr RopePairing kPairings[] = {RopePairing::kNone, RopePairing::kNeox, RopePairing::kGptj};
  constexpr int kDims[] = {128, 64, 80, 256, 96, 192};
  constexpr int kHeads[] = {8, 32, 1, 5, 40};
  std::vector<KvTensor> tensors = {
      tensor(KvDtype::kFp16, KvGranularity::kNone, true, DType::kFp32),
      tensor(KvDtype::kBf16, KvGranularity::kNone, true, DType::kFp32),
      tensor(KvDtype::kNvfp4, KvGranularity::kGroup, true, DType::kE4m3)};
  for (const auto dtype :
       {KvDtype::kInt8, KvDtype::kInt4, KvDtype::kInt2, KvDtype::kFp8E4m3, KvDtype::kFp8E5m2}) {
    for (const auto granularity : {KvGranularity::kTensor, KvGranularity::kToken,
                                   KvGranularity::kHead, KvGranularity::kGroup}) {
      const DType scale = kCacheScales[tensors.size() % 3];
      tensors.push_back(tensor(dtype, granularity, true, scale));
      if (dtype <= KvDtype::kInt2) tensors.push_back(tensor(dtype, granularity, false, scale));
    }
  }
  // Scales of K per channel, V with its own ones.
  const std::size_t rows = tensors.size();
  std::vector<KvTensor> channels;
  for (const auto dtype :
       {KvDtype::kInt8, KvDtype::kInt4, KvDtype::kInt2, KvDtype::kFp8E4m3, KvDtype::kFp8E5m2}) {
    for (const bool symmetric : {true, false}) {
      if (!symmetric && dtype > KvDtype::kInt2) continue;
      KvTensor channel = tensor(dtype, KvGranularity::kChannel, symmetric, DType::kFp16);
      channel.group_size = symmetric ? 64 : 32;
      channel.scale_dtype = kCacheScales[channels.size() % 3];
      channels.push_back(channel);
    }
  }
  tensors.insert(tensors.end(), channels.begin(), channels.end());
  std::vector<KvAppendSpec> specs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    KvAppendSpec spec;
    spec.kv.k = tensors[i];
    spec.kv.v = tensors[(i * 7 + 3) % rows];
    spec.shape = {kHeads[i % 5], kDims[i % 6]};
    const bool groups = spec.kv.k.granularity == KvGranularity::kGroup ||
                        spec.kv.v.granularity == KvGranularity::kGroup;
    if (groups && spec.shape.head_dim == 80) spec.shape.head_dim = 128;
    spec.activation = i % 2 == 0 ? DType::kFp16 : DType::kBf16;
    spec.kv.layout = i % 3 == 0 ? KvLayout::kContiguous : KvLayout::kPaged;
    spec.kv.order = i % 4 < 2 ? KvOrder::kHnd : KvOrder::kNhd;
    spec.rope.pairing = kPairings[(i / 2) % 3];
    spec.rope.source = i % 5 == 0 ? RopeSource::kTable : RopeSource::kBase;
    if (i % 7 == 0) spec.rope.dim = 32;
    specs.push_back(spec);
  }
  return specs;
}

// Q, norms and scaled rotations with each way that K goes.
std::vector<KvAppendSpec> every_query_spec() {
  std::vector<KvTensor> tensors = {
      tensor(KvDtype::kFp16, KvGranularity::kNone, true, DType::kFp32),
      tensor(KvDtype::kNvfp4, KvGranularity::kGroup, true, DType::kE4m3),
      tensor(KvDtype::kInt8, KvGranularity::kToken, false, DType::kFp16),
      tensor(KvDtype::kFp8E4m3, KvGranularity::kTensor, true, DType::kFp32),
      tensor(KvDtype::kFp8E5m2, KvGranularity::kHead, true, DType::kFp32),
      tensor(KvDtype::kInt4, KvGranularity::kGroup, false, DType::kFp16),
      tensor(KvDtype::kInt4, KvGranularity::kHead, true, DType::kFp16),
      tensor(KvDtype::kInt8, KvGranularity::kChannel, true, DType::kFp16),
      tensor(KvDtype::kInt4, KvGranularity::kChannel, false, DType::kFp16)};
  std::vector<KvAppendSpec> specs;
  for (std::size_t i = 0; i < 2 * tensors.size(); ++i) {
    KvAppendSpec spec;
    spec.kv.k = tensors[i % tensors.size()];
    if (spec.kv.k.granularity == KvGranularity::kChannel) spec.kv.k.group_size = 64;
    spec.kv.v = tensors[i % 7];
    spec.shape = {i % 2 == 0 ? 8 : 3, i % 4 == 3 ? 256 : 128};
    spec.activation = i % 3 == 0 ? DType::kFp16 : DType::kBf16;
    constexpr RopePairing kPairings[] = {RopePairing::kNeox, RopePairing::kGptj, RopePairing::kNeox,
                                         RopePairing::kNone};
    spec.rope.pairing = kPairings[i / 2 % 4];
    // Runs of 40 pairs, which groups of 32 do not divide.
    if (i % 5 == 0) spec.rope.dim = 80;
    if (i % 3 == 0) {
      spec.rope.scaling.type = RopeScalingType::kYarn;
      spec.rope.scaling.factor = 8.0F;
      spec.rope.scaling.original_max_position_embeddings = 4096;
    }
    if (i % 4 != 3) spec.query.heads = 4 * spec.shape.kv_heads;
    if (i % 4 != 2) spec.norm = {1e-6F, static_cast<int>(i % 2)};
    specs.push_back(spec);
  }
  return specs;
}

class CompileKvAppend : public testing::TestWithParam<int> {};

// Compiles the specs whose turn it is on this architecture and expects no spills.
void expect_no_spills_of(const std::vector<KvAppendSpec>& all, int arch) {
  const Target target = target_from_name("sm_" + std::to_string(arch));
  std::vector<Source> sources;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!has_turn(i, target.arch())) continue;
    KvAppendSpec spec = all[i];
    if (target.arch() < 80) {
      spec.activation = DType::kFp16;
      if (spec.kv.k.dtype == KvDtype::kBf16) spec.kv.k.dtype = KvDtype::kFp16;
      if (spec.kv.v.dtype == KvDtype::kBf16) spec.kv.v.dtype = KvDtype::kFp16;
    }
    sources.push_back(render(resolve(Spec::from_kv_append(spec), target), 0));
  }
  expect_no_spills(sources, target);
}

TEST_P(CompileKvAppend, WithoutSpills) { expect_no_spills_of(every_append_spec(), GetParam()); }

TEST_P(CompileKvAppend, QueryAndNormWithoutSpills) {
  expect_no_spills_of(every_query_spec(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Archs, CompileKvAppend, testing::Values(75, 80, 90, 120),
                         [](const auto& info) { return "sm_" + std::to_string(info.param); });

}  // namespace
}  // namespace heddle
