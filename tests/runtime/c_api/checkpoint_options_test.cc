// Checkpoints through the C API: the options that they take, and what they refuse.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "heddle/checkpoint.h"
#include "heddle/error.h"
#include "tests/runtime/c_api/checkpoint_handles.h"
#include "tests/temporary_folder.h"

namespace heddle {
namespace {

using testing::default_options;
using testing::expect_checkpoint;
using testing::expect_refusals;
using testing::info_from;
using testing::kFolder;
using testing::open;
using testing::text_from;

class OwnCheckpoint {
 public:
  OwnCheckpoint(const std::string& config, const std::string& header, std::size_t data_bytes) {
    std::string data(data_bytes, '\0');
    for (std::size_t i = 0; i < data_bytes / 2; ++i) {
      const auto value = static_cast<std::uint16_t>(0x3000 + i % 997);
      std::memcpy(data.data() + 2 * i, &value, 2);
    }
    std::string length(8, '\0');
    const std::uint64_t size = header.size();
    std::memcpy(length.data(), &size, 8);
    folder_.write("config.json", config);
    folder_.write("model.safetensors", length + header + data);
  }
  std::string path() const { return folder_.path().string(); }

 private:
  TemporaryFolder folder_;
};

constexpr const char* kHead =
    R"({"lm_head.weight":{"dtype":"F16","shape":[32,128],"data_offsets":[0,8192]})";

// Each option of C is the option of C++.
TEST(CApiCheckpoint, TakesTheReadersOptions) {
  const OwnCheckpoint plain(R"({"model_type":"llama","torch_dtype":"float16"})",
                            std::string(kHead) + "}", 8192);
  const OwnCheckpoint gate(R"({"model_type":"qwen2_moe","torch_dtype":"float16"})",
                           std::string(kHead) +
                               R"(,"model.layers.0.mlp.shared_expert_gate.weight":{"dtype":"F16",)"
                               R"("shape":[1,128],"data_offsets":[8192,8448]}})",
                           8448);
  const OwnCheckpoint bytes(
      R"({"model_type":"llama","torch_dtype":"float16","quantization_config":)"
      R"({"quant_method":"fp8","activation_scheme":"static"}})",
      R"({"l.weight":{"dtype":"F8_E4M3","shape":[32,128],"data_offsets":[0,4096]},)"
      R"("l.weight_scale":{"dtype":"F32","shape":[],"data_offsets":[4096,4100]},)"
      R"("l.input_scale":{"dtype":"F32","shape":[],"data_offsets":[4100,4104]}})",
      4104);
  const heddle_text pattern = testing::text_of("model.proj");
  const std::string config = kFolder + "/config.json";
  struct Case {
    const char* what;
    std::string path;
    void (*change)(heddle_checkpoint_options*);
  };
  const std::vector<Case> cases = {
      {"defaults", kFolder, [](auto*) {}},
      {"dense", plain.path(), [](auto* o) { o->dense = 1; }},
      {"head of 4 bits", plain.path(), [](auto* o) { o->lm_head_bits = 4; }},
      {"unserved", gate.path(), [](auto* o) { o->dense = 1; }},
      {"sm_90", bytes.path(), [](auto* o) { o->arch = 90; }},
      {"sm_80", bytes.path(), [](auto* o) { o->arch = 80; }},
      {"16 bits", bytes.path(), [](auto* o) { o->activation_bits = 16; }},
      {"not fused", kFolder, [](auto* o) { o->fuse = 0; }},
  };
  for (const Case& one : cases) {
    heddle_checkpoint_options options = default_options();
    one.change(&options);
    CheckpointOptions same;
    same.fuse = options.fuse != 0;
    same.dense = options.dense != 0;
    same.lm_head_bits = options.lm_head_bits;
    same.activation_bits = options.activation_bits;
    same.arch = options.arch;
    SCOPED_TRACE(one.what);
    expect_checkpoint(open(one.path, &options).get(), CheckpointReader(one.path, same));
  }
  heddle_checkpoint_options options = default_options();
  CheckpointOptions same;
  for (const int arch : {-1, 91, 12345678}) {
    options.arch = arch;
    heddle_checkpoint* refused = nullptr;
    EXPECT_EQ(heddle_checkpoint_create(kFolder.data(), kFolder.size(), &options, &refused),
              HEDDLE_ERROR_USAGE);
    EXPECT_NE(std::string(heddle_error_message()).find("is that of no target"), std::string::npos);
  }
  options.arch = 0;
  options.config = testing::text_of(config);
  options.keep = &pattern;
  options.keep_count = 1;
  same.config = config;
  same.choice.keep = {"model.proj"};
  expect_checkpoint(open(kFolder, &options).get(), CheckpointReader(kFolder, same));
  options.skip = &pattern;
  options.skip_count = 1;
  options.keep_count = 0;
  same.choice = {};
  same.choice.skip = {"model.proj"};
  heddle_checkpoint* none = nullptr;
  const bool opens =
      heddle_checkpoint_create(kFolder.data(), kFolder.size(), &options, &none) == HEDDLE_OK;
  try {
    const CheckpointReader reader(kFolder, same);
    ASSERT_TRUE(opens);
    expect_checkpoint(none, reader);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), heddle_error_code());
  }
  heddle_checkpoint_destroy(none);
}

// Two experts of 16 bits.
TEST(CApiCheckpoint, HasLayersOfExperts) {
  const std::string at = R"("model.layers.0.mlp.experts.)";
  const OwnCheckpoint experts(
      R"({"model_type":"qwen3_moe","torch_dtype":"float16","hidden_size":32,"vocab_size":32,
          "num_hidden_layers":1,"num_attention_heads":1,"num_key_value_heads":1,"head_dim":32,
          "intermediate_size":32,"moe_intermediate_size":32,"decoder_sparse_step":1,
          "num_experts":2,"num_experts_per_tok":1,"rms_norm_eps":1e-6})",
      "{" + at + R"(gate_up_proj":{"dtype":"F16","shape":[2,64,32],"data_offsets":[0,8192]},)" +
          at + R"(down_proj":{"dtype":"F16","shape":[2,32,32],"data_offsets":[8192,12288]}})",
      12288);
  heddle_checkpoint_options options = default_options();
  options.dense = 1;
  CheckpointOptions same;
  same.dense = true;
  const CheckpointReader reader(experts.path(), same);
  EXPECT_EQ(reader.experts().size(), 1U);
  const auto handle = open(experts.path(), &options);
  expect_checkpoint(handle.get(), reader);
  // The second of two ranks, which has one of them.
  options.expert_rank = 1;
  options.expert_size = 2;
  same.expert_parallel = {1, 2};
  const CheckpointReader rank(experts.path(), same);
  EXPECT_EQ(rank.experts().at(0).spec.moe().shape.first_expert, 1);
  expect_checkpoint(open(experts.path(), &options).get(), rank);
  heddle_checkpoint_experts_info info = {};
  info.struct_size = sizeof info;
  expect_refusals(
      {HEDDLE_REFUSED(heddle_checkpoint_experts(handle.get(), 1, &info), USAGE, "api.index")});
}

TEST(CApiCheckpoint, RefusesWhatItCannotDo) {
  const auto handle = open(kFolder);
  const OwnCheckpoint plain(R"({"model_type":"llama","torch_dtype":"float16"})",
                            std::string(kHead) + "}", 8192);
  const OwnCheckpoint gate(R"({"model_type":"qwen2_moe","torch_dtype":"float16"})",
                           std::string(kHead) +
                               R"(,"model.layers.0.mlp.shared_expert_gate.weight":{"dtype":"F16",)"
                               R"("shape":[1,128],"data_offsets":[8192,8448]}})",
                           8448);
  heddle_checkpoint* none = nullptr;
  const auto with = [&](const std::string& path, auto change) {
    heddle_checkpoint_options options = default_options();
    change(options);
    return heddle_checkpoint_create(path.data(), path.size(), &options, &none);
  };
  std::size_t index = 0;
  heddle_checkpoint_layer_info layer = {};
  layer.struct_size = sizeof layer;
  heddle_checkpoint_layer_info small = {};
  small.struct_size = 1;
  heddle_checkpoint_tensor_info tensor = {};
  std::vector<std::uint8_t> bytes(1 << 16, 0xA5);
  const auto info = info_from<heddle_checkpoint_layer_info>(heddle_checkpoint_layer, handle.get(),
                                                            std::size_t{0});
  expect_refusals({
      HEDDLE_REFUSED(heddle_checkpoint_create("/nowhere", 8, nullptr, &none), FILE,
                     "checkpoint.open"),
      HEDDLE_REFUSED(with(kFolder, [](auto& o) { o.gated = 1, o.fuse = 0; }), USAGE,
                     "checkpoint.gated"),
      HEDDLE_REFUSED(with(kFolder, [](auto& o) { o.rank = 7; }), USAGE, "checkpoint.rank"),
      HEDDLE_REFUSED(with(kFolder, [](auto& o) { o.reserved = 1; }), USAGE, "api.reserved"),
      HEDDLE_REFUSED(with(kFolder, [](auto& o) { o.activation_bits = 4; }), USAGE,
                     "model.activations"),
      HEDDLE_REFUSED(with(plain.path(), [](auto&) {}), UNSUPPORTED, "checkpoint.not_quantised"),
      HEDDLE_REFUSED(with(plain.path(), [](auto& o) { o.lm_head_bits = 5; }), USAGE,
                     "checkpoint.lm_head"),
      HEDDLE_REFUSED(heddle_checkpoint_layer(handle.get(), 1, &layer), USAGE, "api.index"),
      HEDDLE_REFUSED(heddle_checkpoint_layer(handle.get(), 0, &small), USAGE, "api.struct_size"),
      HEDDLE_REFUSED(heddle_checkpoint_tensor(handle.get(), 0, &tensor), USAGE, "api.index"),
      HEDDLE_REFUSED(heddle_checkpoint_pack(handle.get(), SIZE_MAX, bytes.data(), 1), USAGE,
                     "api.index"),
      HEDDLE_REFUSED(heddle_checkpoint_pack(handle.get(), 0, bytes.data(), info.packed.bytes - 1),
                     USAGE, "checkpoint.too_small"),
      HEDDLE_REFUSED(heddle_checkpoint_read(handle.get(), "nothing", 7, bytes.data(), 1), USAGE,
                     "checkpoint.no_tensor"),
      HEDDLE_REFUSED(heddle_checkpoint_find_layer(handle.get(), "model.pro", 9, &index), USAGE,
                     "checkpoint.no_layer"),
      // A part of a layer is no plain tensor.
      HEDDLE_REFUSED(
          heddle_checkpoint_find_tensor(handle.get(), HEDDLE_TEXT("model.proj.heddle"), &index),
          USAGE, "checkpoint.no_tensor"),
  });
  EXPECT_EQ(bytes[0], 0xA5);
  EXPECT_EQ(none, nullptr);
  // A gate of one row, which no kernel takes: the refusal says why.
  heddle_checkpoint_options options = default_options();
  options.dense = 1;
  const auto with_gate = open(gate.path(), &options);
  expect_refusals({HEDDLE_REFUSED(
      heddle_checkpoint_find_layer(with_gate.get(),
                                   HEDDLE_TEXT("model.layers.0.mlp.shared_expert_gate"), &index),
      USAGE, "checkpoint.no_layer")});
  const auto told = nlohmann::json::parse(text_from(heddle_checkpoint_json, with_gate.get()));
  EXPECT_NE(std::string(heddle_error_message())
                .find(told.at("unserved")[0].at("reason").get<std::string>()),
            std::string::npos);
}

}  // namespace
}  // namespace heddle
