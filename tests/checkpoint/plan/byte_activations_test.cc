// Checkpoints whose activations have eight bits: specs, packed bytes, static scales, and what
// keeps 16 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "checkpoint/checkpoint_model.h"
#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/convert.h"
#include "heddle/weights.h"
#include "tests/checkpoint/reader_cases.h"

namespace heddle {
namespace {

constexpr std::int64_t kRows = 48;
constexpr std::int64_t kColumns = 256;
const char* const kLayers[] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                               "self_attn.o_proj"};

std::string quantized_config(const std::string& quantization) {
  return R"({"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 256,
             "intermediate_size": 256, "num_attention_heads": 4, "num_key_value_heads": 4,
             "num_hidden_layers": 1, "vocab_size": 64, "rms_norm_eps": 1e-5,
             "quantization_config": )" +
         quantization + "}";
}

std::string compressed_config(const std::string& kind, const std::string& weights,
                              const std::string& activations) {
  return quantized_config(R"({"quant_method": "compressed-tensors", "format": ")" + kind +
                          R"(-quantized", "ignore": ["lm_head"], "config_groups": {"group_0": {
                        "targets": ["Linear"],
                        "weights": {"num_bits": 8, "symmetric": true, )" +
                          weights + R"(}, "input_activations": {"num_bits": 8, )" + activations +
                          "}}}}");
}

const std::string kInt8Token =
    compressed_config("int", R"("type": "int", "strategy": "channel")",
                      R"("type": "int", "strategy": "token", "dynamic": true)");
const std::string kStaticInt8 = compressed_config("int", R"("type": "int", "strategy": "tensor")",
                                                  R"("type": "int", "strategy": "tensor")");
const std::string kStaticFp8 =
    quantized_config(R"({"quant_method": "fp8", "activation_scheme": "static"})");

std::string path_of(const std::string& layer) { return "model.layers.0." + layer; }

TestTensor one_float(const std::string& name, float value) {
  return {name, TensorType::kF32, {1}, bytes_of_values(std::vector<float>{value})};
}

// The layers of one attention, each with a scale of its own; input scales are 1, 2, 3 and 4.
std::vector<TestTensor> attention(TensorType type, bool channels, bool input_scales) {
  std::vector<TestTensor> tensors;
  float scale = 0;
  for (const char* layer : kLayers) {
    const std::string name = path_of(layer);
    ++scale;
    tensors.push_back({name + ".weight",
                       type,
                       {kRows, kColumns},
                       some_bytes(static_cast<std::size_t>(kRows * kColumns), 120)});
    if (channels) {
      tensors.push_back({name + ".weight_scale",
                         TensorType::kBf16,
                         {kRows, 1},
                         some_bytes(static_cast<std::size_t>(2 * kRows), 60)});
    } else {
      tensors.push_back(one_float(name + ".weight_scale", scale / 64));
    }
    if (input_scales) tensors.push_back(one_float(name + ".input_scale", scale));
  }
  return tensors;
}

class ByteActivations : public ::testing::Test {
 protected:
  void write(const std::string& config, const std::vector<TestTensor>& tensors) {
    write_file(folder_ / "config.json", config);
    write_tensors(folder_ / "model.safetensors", tensors);
  }
  CheckpointReader open(int activation_bits = 0, int arch = 90) const {
    CheckpointOptions options;
    options.activation_bits = activation_bits;
    options.arch = arch;
    return CheckpointReader(folder_.path(), options);
  }
  ConvertReport repack(const std::string& output, int activation_bits = 0, int arch = 90) {
    const ConfigFiles files = read_config_files(folder_ / "config.json");
    return repack_checkpoint(Checkpoint(folder_.path()),
                             read_checkpoint_config(files, {false, activation_bits, arch}),
                             folder_ / output, {});
  }
  void append_bytes(const std::string& tensor, std::vector<std::uint8_t>* to) const {
    const std::vector<std::uint8_t> bytes = Checkpoint(folder_.path()).read(tensor);
    to->insert(to->end(), bytes.begin(), bytes.end());
  }
  float input_scale(const CheckpointReader& reader, const std::string& layer) const {
    const CheckpointLayer& found = reader.layer(path_of(layer));
    EXPECT_TRUE(found.input_scale.has_value()) << layer;
    if (!found.input_scale) return 0;
    EXPECT_EQ(found.input_scale->name, path_of(layer) + ".input_scale");
    EXPECT_EQ(found.input_scale->type, TensorType::kF32);
    EXPECT_EQ(found.input_scale->shape, std::vector<std::int64_t>{1});
    float value = 0;
    reader.read(*found.input_scale, &value, sizeof value);
    return value;
  }
  std::string refusal(int activation_bits = 0) const {
    try {
      open(activation_bits);
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::kUnsupported);
      return error.what();
    }
    return {};
  }
  static std::string notes_of(const CheckpointReader& reader) {
    std::string text;
    for (const std::string& note : reader.notes()) text += note + '\n';
    return text;
  }

  TemporaryFolder folder_;
};

TEST_F(ByteActivations, SpecsAndPackedWeights) {
  write(kInt8Token, attention(TensorType::kI8, true, false));
  const CheckpointReader reader = open();
  ASSERT_EQ(reader.layers().size(), 2U);
  for (const CheckpointLayer& layer : reader.layers()) {
    const GemmSpec& gemm = layer.spec.gemm();
    EXPECT_EQ(gemm.activation, DType::kInt8);
    EXPECT_EQ(gemm.activation_scale.granularity, RowGranularity::kToken);
    EXPECT_EQ(gemm.output, DType::kBf16);
    EXPECT_EQ(gemm.weight.interleave, Interleave::kSwizzle128b);
    EXPECT_EQ(layer.layout_version, kLayoutVersion);
    EXPECT_FALSE(layer.input_scale.has_value());
    // The packed bytes hold the codes and the scales of the checkpoint.
    std::vector<std::uint8_t> packed(layer.packed.bytes);
    reader.pack(layer, packed.data(), packed.size());
    const QuantizedWeights got = unpack_weights(gemm, packed.data(), packed.size());
    std::vector<std::uint8_t> codes;
    std::vector<std::uint8_t> scales;
    for (const CheckpointPart& part : layer.parts) {
      append_bytes(part.name + ".weight", &codes);
      append_bytes(part.name + ".weight_scale", &scales);
    }
    EXPECT_EQ(got.codes, codes) << layer.name;
    EXPECT_EQ(got.scales, scales) << layer.name;
  }
}

// One scale per tensor and part is one per row of the fused layer; the largest static scale.
TEST_F(ByteActivations, StaticScalesOfFusedLayers) {
  for (const auto& [config, type] :
       {std::pair{kStaticInt8, TensorType::kI8}, std::pair{kStaticFp8, TensorType::kF8E4M3}}) {
    write(config, attention(type, false, true));
    const CheckpointReader reader = open();
    const GemmSpec& qkv = reader.layer(path_of("self_attn.qkv_proj")).spec.gemm();
    EXPECT_EQ(qkv.activation_scale.granularity, RowGranularity::kTensor);
    EXPECT_EQ(qkv.weight.group_size, kPerChannel);
    EXPECT_EQ(reader.layer(path_of("self_attn.o_proj")).spec.gemm().weight.group_size, kPerTensor);
    EXPECT_EQ(input_scale(reader, "self_attn.qkv_proj"), 3.0F);
    EXPECT_EQ(input_scale(reader, "self_attn.o_proj"), 4.0F);
    // The layers have them: they are no plain tensors.
    EXPECT_TRUE(reader.tensors().empty());
  }
}

// Transformers' own name of it.
TEST_F(ByteActivations, ActivationScaleIsAnInputScale) {
  std::vector<TestTensor> tensors = attention(TensorType::kF8E4M3, false, true);
  for (TestTensor& tensor : tensors) {
    const std::size_t at = tensor.name.find("input_scale");
    if (at != std::string::npos) tensor.name.replace(at, 5, "activation");
  }
  write(kStaticFp8, tensors);
  EXPECT_EQ(input_scale(open(), "self_attn.qkv_proj"), 3.0F);
  EXPECT_TRUE(open().tensors().empty());
}

TEST_F(ByteActivations, RepackWritesWhatTheReaderHas) {
  write(kStaticFp8, attention(TensorType::kF8E4M3, false, true));
  repack("packed.safetensors");
  const Checkpoint packed(folder_ / "packed.safetensors");
  const CheckpointReader reader = open();
  EXPECT_EQ(all_tensors(reader).size(), packed.tensors().size());
  for (const auto& [name, tensor] : all_tensors(reader)) {
    EXPECT_EQ(read_in_pieces(reader, tensor), packed.read(name)) << name;
  }
  const SafetensorsFile file(folder_ / "packed.safetensors");
  EXPECT_EQ(file.header().metadata.at("heddle.activations"), "8");
  EXPECT_EQ(file.header().metadata.at("heddle.layout"), "6");
}

TEST_F(ByteActivations, AreTheSameBytesForAllGpusWithKernels) {
  write(kStaticFp8, attention(TensorType::kF8E4M3, false, true));
  repack("hopper.safetensors", 0, 90);
  repack("ada.safetensors", 0, 89);
  EXPECT_EQ(read_file(folder_ / "ada.safetensors"), read_file(folder_ / "hopper.safetensors"));
}

// Asked for, or since the GPU has no such kernel: the same bytes, and those of no activations.
TEST_F(ByteActivations, SixteenBitsAreWhatTheyWere) {
  write(kStaticFp8, attention(TensorType::kF8E4M3, false, true));
  repack("asked.safetensors", 16);
  const ConvertReport other = repack("other.safetensors", 0, 80);
  EXPECT_NE(other.notes.at(0).find("sm_80"), std::string::npos);
  write_file(folder_ / "config.json", quantized_config(R"({"quant_method": "fp8"})"));
  repack("none.safetensors");
  const std::string none = read_file(folder_ / "none.safetensors");
  EXPECT_EQ(read_file(folder_ / "asked.safetensors"), none);
  EXPECT_EQ(read_file(folder_ / "other.safetensors"), none);
  const SafetensorsFile file(folder_ / "none.safetensors");
  EXPECT_EQ(file.header().metadata.count("heddle.activations"), 0U);
  EXPECT_NE(Checkpoint(folder_ / "none.safetensors").find(path_of("self_attn.q_proj.input_scale")),
            nullptr);
}

// The tensors have blocks, of which the config does not tell.
TEST_F(ByteActivations, TensorsTellWhatNoKernelTakes) {
  std::vector<TestTensor> tensors = attention(TensorType::kF8E4M3, false, false);
  for (TestTensor& tensor : tensors) {
    if (!tensor.name.ends_with("o_proj.weight_scale")) continue;
    tensor = {tensor.name, TensorType::kF32, {1, 2}, some_floats(2)};
  }
  write(quantized_config(R"({"quant_method": "fp8", "activation_scheme": "dynamic"})"), tensors);
  const CheckpointReader reader = open();
  EXPECT_EQ(reader.layer(path_of("self_attn.qkv_proj")).spec.gemm().activation, DType::kFp8E4m3);
  EXPECT_EQ(reader.layer(path_of("self_attn.o_proj")).spec.gemm().activation, DType::kBf16);
  EXPECT_NE(notes_of(reader).find("model.layers.0.self_attn.o_proj: the scheme quantises"),
            std::string::npos)
      << notes_of(reader);
}

TEST_F(ByteActivations, StaticScalesThatAreNoneAreRefusedByName) {
  const auto changed = [&](const std::string& suffix, const std::vector<TestTensor>& by) {
    std::vector<TestTensor> tensors = attention(TensorType::kF8E4M3, false, true);
    std::erase_if(tensors, [&](const TestTensor& tensor) { return tensor.name.ends_with(suffix); });
    tensors.insert(tensors.end(), by.begin(), by.end());
    write(kStaticFp8, tensors);
    return refusal();
  };
  const std::string name = path_of("self_attn.k_proj.input_scale");
  EXPECT_NE(changed("k_proj.input_scale", {}).find(name + " is missing"), std::string::npos);
  for (const float wrong :
       {0.0F, -1.0F, 0x1p126F, 0x1p-127F, std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_NE(changed("k_proj.input_scale", {one_float(name, wrong)}).find(name), std::string::npos)
        << wrong;
  }
  const TestTensor two = {name, TensorType::kF32, {2}, some_floats(2)};
  EXPECT_NE(changed("k_proj.input_scale", {two}).find("no scale of all"), std::string::npos);
  const TestTensor zero = {path_of("self_attn.o_proj.input_zero_point"), TensorType::kI8, {1}, {3}};
  EXPECT_NE(changed("none", {zero}).find("is not zero"), std::string::npos);
  EXPECT_EQ(refusal(16), "");  // nobody needs it then
  // A zero point of zero says what the config says, and goes with the scale.
  TestTensor fine = zero;
  fine.bytes = {0};
  EXPECT_EQ(changed("none", {fine}), "");
  EXPECT_TRUE(open().tensors().empty());
}

TEST_F(ByteActivations, PartsWithOtherActivationsStayApart) {
  std::string config = kInt8Token;
  config.insert(config.find("\"group_0\""),
                R"("attention": {"targets": ["re:.*v_proj"], "weights": {"num_bits": 8,
                   "type": "int", "strategy": "channel"}}, )");
  write(config, attention(TensorType::kI8, true, false));
  const CheckpointReader reader = open();
  EXPECT_EQ(reader.layers().size(), 4U);
  EXPECT_EQ(reader.layer(path_of("self_attn.v_proj")).spec.gemm().activation, DType::kBf16);
  EXPECT_NE(notes_of(reader).find("in other ways"), std::string::npos) << notes_of(reader);
  EXPECT_EQ(open(16).layers().size(), 2U);
}

// heddle build of the folder: the specs of repack, and what makes their X.
TEST_F(ByteActivations, RowsOfACheckpoint) {
  write(kInt8Token, attention(TensorType::kI8, true, false));
  const ConfigFiles files = read_config_files(folder_ / "config.json");
  const Checkpoint checkpoint(folder_.path());
  const Model model = model_of_checkpoint(checkpoint, read_checkpoint_config(files, {}));
  EXPECT_EQ(model.kernels.size(), 2U);
  std::set<std::string> rows;
  for (const ModelKernel& kernel : model.rows) {
    rows.insert(kernel.spec.name() + ' ' +
                std::string(to_string(kernel.spec.row_transform().output.dtype)));
  }
  // Only attention is there: the norms of the other half and of the head make 16 bits.
  EXPECT_EQ(rows, (std::set<std::string>{"norm int8", "add_norm bf16", "quantize int8"}));
  EXPECT_TRUE(
      model_of_checkpoint(checkpoint, read_checkpoint_config(files, {false, 16, 0})).rows.empty());
}

// Nobody knows what stands between its layers.
TEST_F(ByteActivations, ModelsOfAnUnknownTypeHaveNoRowsAndANote) {
  std::string config = kInt8Token;
  const std::string known = "\"llama\"";
  config.replace(config.find(known), known.size(), "\"unheard_of\"");
  write(config, attention(TensorType::kI8, true, false));
  const ConfigFiles files = read_config_files(folder_ / "config.json");
  const Checkpoint checkpoint(folder_.path());
  const Model model = model_of_checkpoint(checkpoint, read_checkpoint_config(files, {}));
  EXPECT_TRUE(model.rows.empty());
  EXPECT_TRUE(std::any_of(model.notes.begin(), model.notes.end(), [](const std::string& note) {
    return note.find("no row_transforms are made") != std::string::npos;
  }));
}

TEST_F(ByteActivations, OtherNumbersOfBitsCannotBeAskedFor) {
  write(kInt8Token, attention(TensorType::kI8, true, false));
  EXPECT_EQ(code_of([&] { open(8); }), "model.activations");
}

}  // namespace
}  // namespace heddle
