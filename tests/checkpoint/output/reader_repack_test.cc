// CheckpointReader hands out the bytes that repack writes.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "cache/bytes.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/convert.h"
#include "heddle/checkpoint.h"
#include "heddle/weights.h"
#include "tests/checkpoint/reader_cases.h"

namespace heddle {
namespace {

Bytes read_into_memory(const CheckpointReader& reader, const CheckpointTensor& tensor) {
  Bytes bytes(tensor.bytes + 3, 0xA5);
  reader.read(tensor, bytes.data(), bytes.size());
  // What follows the tensor is not touched.
  EXPECT_EQ(Bytes(bytes.end() - 3, bytes.end()), Bytes(3, 0xA5)) << tensor.name;
  bytes.resize(tensor.bytes);
  return bytes;
}

bool same_tensor(const CheckpointTensor& a, const CheckpointTensor& b) {
  return a.name == b.name && a.type == b.type && a.shape == b.shape && a.bytes == b.bytes;
}

void expect_same_tensor(const std::optional<CheckpointTensor>& a,
                        const std::optional<CheckpointTensor>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  EXPECT_TRUE(!a || same_tensor(*a, *b));
}

// A reader of what repack wrote has the same layers and bytes, whatever it is asked for that the
// file is.
void expect_packed_reads_alike(const CheckpointReader& reader, const std::string& packed,
                               const CheckpointOptions& options) {
  CheckpointOptions own;
  own.parallel = options.parallel;
  own.engine_rotates = options.engine_rotates;
  const CheckpointReader again(packed, own);
  EXPECT_TRUE(again.notes().empty());  // repack has told them
  ASSERT_EQ(again.layers().size(), reader.layers().size());
  for (std::size_t i = 0; i < reader.layers().size(); ++i) {
    const CheckpointLayer& a = reader.layers()[i];
    const CheckpointLayer& b = again.layers()[i];
    SCOPED_TRACE(a.name);
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.spec.canonical_json(), b.spec.canonical_json());
    EXPECT_EQ(a.spec.name(), b.spec.name());
    EXPECT_EQ(a.matrices, b.matrices);
    EXPECT_EQ(a.layout_version, b.layout_version);
    EXPECT_EQ(b.source_bytes, b.packed.bytes);
    EXPECT_TRUE(same_tensor(a.packed, b.packed));
    expect_same_tensor(a.permutation, b.permutation);
    expect_same_tensor(a.bias, b.bias);
    expect_same_tensor(a.pre_scale, b.pre_scale);
    expect_same_tensor(a.input_scale, b.input_scale);
    ASSERT_EQ(a.parts.size(), b.parts.size());
    for (std::size_t part = 0; part < a.parts.size(); ++part) {
      EXPECT_EQ(a.parts[part].name, b.parts[part].name);
      EXPECT_EQ(a.parts[part].rows, b.parts[part].rows);
    }
  }
  ASSERT_EQ(again.unserved().size(), reader.unserved().size());
  for (std::size_t i = 0; i < reader.unserved().size(); ++i) {
    EXPECT_EQ(again.unserved()[i].name, reader.unserved()[i].name);
    EXPECT_EQ(again.unserved()[i].reason, reader.unserved()[i].reason);
    EXPECT_EQ(again.unserved()[i].tensors, reader.unserved()[i].tensors);
  }
  const std::map<std::string, CheckpointTensor> all = all_tensors(reader);
  const std::map<std::string, CheckpointTensor> packed_all = all_tensors(again);
  ASSERT_EQ(all.size(), packed_all.size());
  for (const auto& [name, tensor] : all) {
    EXPECT_EQ(read_into_memory(again, packed_all.at(name)), read_into_memory(reader, tensor));
  }
}

// Every tensor of the file that repack writes, and no other.
void expect_what_repack_writes(const std::string& path, const CheckpointOptions& options = {}) {
  const TemporaryFolder folder;
  const std::string output = folder / "packed.safetensors";
  ConvertOptions convert;
  convert.pack = {options.fuse,  options.choice, options.parallel,
                  options.gated, options.dense,  options.lm_head_bits};
  const ConvertReport report = repack_checkpoint(
      Checkpoint(path),
      read_checkpoint_config(read_config_files(config_beside(path)),
                             {options.engine_rotates, options.activation_bits, options.arch}),
      output, convert);
  const CheckpointReader reader(path, options);
  EXPECT_EQ(reader.layers().size(), report.layers);
  EXPECT_EQ(reader.notes(), report.notes);
  EXPECT_EQ(reader.unserved().size(), report.unserved.size());
  const SafetensorsFile file(output);
  for (const CheckpointLayer& layer : reader.layers()) {
    EXPECT_EQ(layer.spec.canonical_json(), file.header().metadata.at(layer.name + ".heddle"));
    EXPECT_EQ(layer.packed.bytes, static_cast<std::size_t>(layer.matrices) *
                                      weight_layout(layer.spec.gemm()).total_bytes);
    EXPECT_EQ(layer.spec.gemm().epilogue.bias, layer.bias.has_value());
    EXPECT_EQ(layer.spec.gemm().pre_scale, layer.pre_scale.has_value());
    EXPECT_EQ(layer.spec.gemm().act_order, layer.permutation.has_value());
    EXPECT_NO_THROW(check_layout_version(layer.spec.weight(), layer.layout_version));
    std::int64_t rows = 0;
    for (const CheckpointPart& part : layer.parts) rows += part.rows;
    EXPECT_EQ(rows, layer.spec.gemm().shape.n);
  }
  const Checkpoint packed(output);
  const std::map<std::string, CheckpointTensor> all = all_tensors(reader);
  EXPECT_EQ(all.size(), packed.tensors().size());
  for (const auto& [name, tensor] : all) {
    SCOPED_TRACE(name);
    const TensorInfo* want = packed.find(name);
    ASSERT_NE(want, nullptr);
    EXPECT_EQ(tensor.type, want->type);
    EXPECT_EQ(tensor.shape, want->shape);
    EXPECT_EQ(tensor.bytes, want->bytes);
    const Bytes bytes = packed.read(name);
    EXPECT_EQ(read_into_memory(reader, tensor), bytes);
    EXPECT_EQ(read_in_pieces(reader, tensor), bytes);
    EXPECT_EQ(read_into_memory(reader, tensor), bytes);  // once more
  }
  expect_packed_reads_alike(reader, output, options);
}

class ReaderCaseTest : public ::testing::TestWithParam<ReaderCase> {};

TEST_P(ReaderCaseTest, GivesWhatRepackWrites) {
  const TemporaryFolder folder;
  write_case(GetParam(), folder);
  expect_what_repack_writes(folder.path(), GetParam().options());
  CheckpointOptions apart = GetParam().options();
  apart.fuse = false;
  expect_what_repack_writes(folder.path(), apart);
  CheckpointOptions gated = GetParam().options();
  gated.gated = true;
  expect_what_repack_writes(folder.path(), gated);
}

INSTANTIATE_TEST_SUITE_P(Forms, ReaderCaseTest, ::testing::ValuesIn(reader_cases()),
                         [](const auto& info) { return info.param.name; });

class ReaderGoldenTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ReaderGoldenTest, GivesWhatRepackWrites) {
  expect_what_repack_writes(std::string(HEDDLE_GOLDEN "/") + GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, ReaderGoldenTest,
                         ::testing::Values("awq_k128_n64_g32", "awq_k256_n32_g128",
                                           "gptq2_k128_n32_g64", "gptq3_k128_n32_g128",
                                           "gptq4_k128_n32_g32", "gptq4_k256_n32_g128_actorder",
                                           "gptq4_sym_k128_n64_g128", "gptq4v2_k128_n32_g64",
                                           "gptq8_k128_n32_g128"),
                         [](const auto& info) { return std::string(info.param); });

using ReaderRepackTest = ReaderTest;

TEST_F(ReaderRepackTest, EachRankHasWhatRepackWritesForIt) {
  for (const std::int64_t rank : {0, 1}) {
    CheckpointOptions options;
    options.parallel = {rank, 2};
    expect_what_repack_writes(folder_.path(), options);
    const std::vector<CheckpointLayer> layers = open(options).layers();
    ASSERT_EQ(layers.size(), 2U);
    EXPECT_EQ(layers[1].name, "model.layers.0.self_attn.qkv_proj");
    EXPECT_EQ(layers[1].spec.gemm().shape.n, 64);
    EXPECT_EQ(layers[0].spec.gemm().shape.k, 256);  // down_proj
    EXPECT_EQ(layers[0].bias.has_value(), rank == 0);
  }
}

TEST_F(ReaderRepackTest, KeptAndSkippedTensors) {
  CheckpointOptions options;
  options.choice.keep = {"*.down_proj"};
  options.choice.skip = {"model.norm.*"};
  expect_what_repack_writes(folder_.path(), options);
  const CheckpointReader reader = open(options);
  EXPECT_EQ(reader.layers().size(), 1U);
  EXPECT_EQ(reader.tensors().front().name, "model.layers.0.mlp.down_proj.bias");
  options.choice.keep = {"nothing"};
  EXPECT_EQ(code_of([&] { open(options); }), "checkpoint.choice");
}

}  // namespace
}  // namespace heddle
