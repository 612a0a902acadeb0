// Checkpoints whose scales are those of blocks of 128 by 128 and whose activations have a scale for
// each 128 columns: specs, packed bytes against the dequantised tensors, and what keeps 16 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "checkpoint/checkpoint_model.h"
#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/convert.h"
#include "heddle/weights.h"
#include "tests/checkpoint/plan/block_cases.h"

namespace heddle {
namespace {

// Two block rows, one, and one that the last part begins and does not fill; so is the last along K.
TEST_F(BlockActivations, FusedPartsFollowEachOtherInBlocks) {
  for (const TensorType type :
       {TensorType::kF32, TensorType::kBf16, TensorType::kF16, TensorType::kF8E8M0}) {
    clear();
    add(kAttention + "q_proj", 256, 320, type);
    add(kAttention + "k_proj", 128, 320, type);
    add(kAttention + "v_proj", 72, 320, type);
    add(kAttention + "o_proj", 320, 256, type);
    const CheckpointReader reader = open();
    EXPECT_EQ(reader.layers().size(), 2U);
    expect_parts(reader, kAttention + "qkv_proj");
    expect_parts(reader, kAttention + "o_proj");
    EXPECT_NE(notes_of(reader).find("fp8_e4m3 per group of 128 columns"), std::string::npos);
    EXPECT_EQ(reader.layers()[0].spec.gemm().activation_scale.scale_dtype, RowScaleDtype::kFp32);
    const GemmSpec powers = open({}, config_with(kPowers)).layers()[0].spec.gemm();
    EXPECT_EQ(powers.activation_scale.scale_dtype, RowScaleDtype::kE8m0);
    EXPECT_EQ(powers.weight.scale_dtype, DType::kFp32);
  }
}

// Eight gates and their ups have different blocks.
TEST_F(BlockActivations, GatesAndUps) {
  for (const std::int64_t rows : {128, 384}) {
    clear();
    add_gate_and_up(rows);
    expect_parts(open(), kMlp + "gate_up_proj");
    const CheckpointReader reader = open(gated());
    EXPECT_TRUE(reader.layers()[0].spec.gemm().epilogue.gated);
    expect_parts(reader, kMlp + "gate_up_proj");
  }
}

TEST_F(BlockActivations, PartsThatEndInsideOfABlockTakeSixteenBits) {
  add_gate_and_up(192);
  add(kMlp + "down_proj", 320, 192);
  for (const CheckpointOptions& options : {CheckpointOptions(), gated()}) {
    const CheckpointReader reader = open(options);
    expect_sixteen(reader, kMlp + "gate_up_proj", "a part ends inside of a block of 128 rows");
    expect_parts(reader, kMlp + "down_proj");
  }
}

// One scale is that of a row, of a tensor or of a block: it is the same for all of them.
TEST_F(BlockActivations, MatricesOfOneBlock) {
  add(kMlp + "down_proj", 64, 96);
  add(kAttention + "o_proj", 256, 96);
  add(kMlp + "up_proj", 64, 256);
  const CheckpointReader reader = open();
  for (const CheckpointLayer& layer : reader.layers()) expect_parts(reader, layer.name);
  EXPECT_EQ(reader.layers().size(), 3U);
  // In a config without blocks it is the tensor's, and activations have a scale for each row.
  clear();
  add(kMlp + "down_proj", 64, 96);
  std::string config = config_with(kDynamic);
  const std::string blocks = R"("weight_block_size": [128, 128], )";
  config.erase(config.find(blocks), blocks.size());
  const GemmSpec gemm = open({}, config).layers()[0].spec.gemm();
  EXPECT_EQ(gemm.activation_scale.granularity, RowGranularity::kToken);
  EXPECT_EQ(gemm.weight.group_size, kPerTensor);
}

TEST_F(BlockActivations, ScalesOfRowsTakeSixteenBits) {
  add(kMlp + "down_proj", 320, 256);
  tensors_.back() = {
      kMlp + "down_proj.weight_scale_inv", TensorType::kF32, {320}, some_floats(320)};
  expect_sixteen(open(), kMlp + "down_proj", "meet blocks of 128 by 128 weights");
}

// Experts of one tensor: each matrix begins its own blocks.
TEST_F(BlockActivations, ExpertsOfOneTensor) {
  const std::string name = "model.layers.0.mlp.experts.down_proj";
  const auto codes = some_bytes(std::size_t{2} * 320 * 256, 120);
  std::vector<float> scales(std::size_t{2} * 3 * 2);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<float>(i + 1) / 32;
  tensors_ = {{name + ".weight", TensorType::kF8E4M3, {2, 320, 256}, codes},
              {name + ".weight_scale_inv", TensorType::kF32, {2, 3, 2}, bytes_of_values(scales)}};
  const CheckpointReader reader = open();
  const CheckpointLayer& layer = reader.layer(name);
  expect_blocks(layer.spec.gemm());
  ASSERT_EQ(layer.matrices, 2);
  const std::vector<std::uint8_t> bytes = packed(reader, layer);
  for (const int matrix : {0, 1}) {
    QuantizedWeights weights;
    weights.codes.assign(codes.begin() + matrix * std::ssize(codes) / 2,
                         codes.begin() + (matrix + 1) * std::ssize(codes) / 2);
    weights.scales = bytes_of_values(
        std::vector<float>(scales.begin() + matrix * 6, scales.begin() + matrix * 6 + 6));
    const std::vector<std::uint8_t> want = pack_weights(layer.spec.gemm(), weights);
    EXPECT_TRUE(std::equal(want.begin(), want.end(), bytes.begin() + matrix * std::ssize(want)));
  }
}

// A layer that one rank cannot take in whole blocks has 16 bits on all of them.
TEST_F(BlockActivations, RanksTakeWholeBlocksOrSixteenBits) {
  add(kAttention + "q_proj", 256, 320);
  add(kAttention + "k_proj", 256, 320);
  add(kAttention + "v_proj", 256, 320);
  add(kMlp + "up_proj", 192, 320);
  add(kMlp + "down_proj", 320, 512);
  add(kAttention + "o_proj", 320, 384);
  for (const int rank : {0, 1}) {
    const CheckpointReader reader = open(of_rank(rank));
    expect_parts(reader, kAttention + "qkv_proj", 0, rank * 128);
    expect_parts(reader, kMlp + "down_proj", rank * 256);
    const std::string where = rank == 0 ? "rank 1 cannot take 8: " : "";
    expect_sixteen(reader, kAttention + "o_proj", where + "W begins with a whole block");
    expect_sixteen(reader, kMlp + "up_proj", where + "scales of 128 columns meet blocks");
  }
}

class RepackedBlocks : public BlockActivations {
 protected:
  void SetUp() override {
    add_gate_and_up(256);
    add(kMlp + "down_proj", 320, 256);
  }
  void repack(const std::string& output, const std::string& fields, int activation_bits = 0,
              int arch = 90) {
    write_case({"", config_with(fields), tensors_}, folder_);
    const ConfigFiles files = read_config_files(folder_ / "config.json");
    ConvertOptions options;
    options.pack.gated = true;
    repack_checkpoint(Checkpoint(folder_.path()),
                      read_checkpoint_config(files, {false, activation_bits, arch}),
                      folder_ / output, options);
  }
};

TEST_F(RepackedBlocks, RepackWritesWhatTheReaderHas) {
  repack("packed.safetensors", kPowers);
  const Checkpoint written(folder_ / "packed.safetensors");
  const CheckpointReader reader = open(gated(), config_with(kPowers));
  EXPECT_EQ(all_tensors(reader).size(), written.tensors().size());
  for (const auto& [name, tensor] : all_tensors(reader)) {
    EXPECT_EQ(read_in_pieces(reader, tensor), written.read(name)) << name;
  }
  const SafetensorsFile file(folder_ / "packed.safetensors");
  EXPECT_EQ(file.header().metadata.at("heddle.activations"), "8");
  EXPECT_EQ(file.header().metadata.at("heddle.layout"), "6");
  for (const CheckpointLayer& layer : reader.layers()) {
    EXPECT_EQ(file.header().metadata.at(layer.packed.name), layer.spec.canonical_json());
  }
}

TEST_F(RepackedBlocks, SixteenBitsAreWhatTheyWere) {
  repack("asked.safetensors", kDynamic, 16);
  repack("other.safetensors", kDynamic, 0, 80);
  repack("none.safetensors", "");
  const std::string none = read_file(folder_ / "none.safetensors");
  EXPECT_EQ(read_file(folder_ / "asked.safetensors"), none);
  EXPECT_EQ(read_file(folder_ / "other.safetensors"), none);
  const SafetensorsFile file(folder_ / "none.safetensors");
  EXPECT_EQ(file.header().metadata.count("heddle.activations"), 0U);
  EXPECT_EQ(file.header().metadata.at("heddle.layout"), "6");
}

// What was packed for one kind of activations is not what a kernel of the other reads.
TEST_F(RepackedBlocks, AMismatchIsRefusedByName) {
  CheckpointOptions sixteen = gated();
  sixteen.activation_bits = 16;
  const Spec bytes = open(gated()).layer(kMlp + "gate_up_proj").spec;
  const Spec halves = open(sixteen).layer(kMlp + "gate_up_proj").spec;
  const auto refusal = [](const Spec& kernel, const Spec& packed) {
    try {
      check_packed_weights(kernel, packed);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "weights.mismatch");
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(bytes, bytes), "");
  EXPECT_NE(refusal(bytes, halves).find("/weight/group_rows"), std::string::npos);
  EXPECT_NE(refusal(halves, bytes).find("/weight/interleave"), std::string::npos);
}

// heddle build of the folder: the specs of repack, and what makes their X.
TEST_F(RepackedBlocks, RowsOfACheckpoint) {
  open(gated());
  const ConfigFiles files = read_config_files(folder_ / "config.json");
  const Checkpoint checkpoint(folder_.path());
  PackOptions options;
  options.gated = true;
  const Model model = model_of_checkpoint(checkpoint, read_checkpoint_config(files, {}), options);
  EXPECT_EQ(model.kernels.size(), 2U);
  EXPECT_EQ(model.layers.at(0).weights, "e4m3, blocks of 128 x 128");
  std::set<std::string> rows;
  for (const ModelKernel& kernel : model.rows) {
    const RowOutputSpec& output = kernel.spec.row_transform().output;
    rows.insert(kernel.spec.name() + ' ' + std::string(to_string(output.granularity)) + ' ' +
                std::string(to_string(output.scale_layout)));
  }
  EXPECT_EQ(rows,
            (std::set<std::string>{"norm none row_major", "add_norm group column_major",
                                   "add_norm none row_major", "quantize group column_major"}));
}

}  // namespace
}  // namespace heddle
