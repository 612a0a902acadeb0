// Checkpoints through the C API: what they tell, and the bytes that C++ makes.
#include "heddle/checkpoint.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/files/tensor.h"
#include "checkpoint/reader_json.h"
#include "heddle/error.h"
#include "tests/runtime/c_api/rows.h"
#include "tests/temporary_folder.h"

namespace heddle {
namespace {

using testing::expect_refusals;
using testing::expect_rows;
using testing::info_from;
using testing::made;
using testing::number_from;
using testing::string_of;
using testing::text_from;

// One act-order layer, "model.proj", of 32 rows and 256 columns.
const std::string kFolder = HEDDLE_GOLDEN "/gptq4_k256_n32_g128_actorder";

auto open(const std::string& path, const heddle_checkpoint_options* options = nullptr) {
  return made(heddle_checkpoint_destroy, heddle_checkpoint_create, path.data(), path.size(),
              options);
}

heddle_checkpoint_options default_options() {
  heddle_checkpoint_options options;
  EXPECT_EQ(heddle_checkpoint_options_init(&options, sizeof options), HEDDLE_OK);
  return options;
}

nlohmann::json json_of(const heddle_checkpoint_tensor_info& tensor) {
  if (tensor.name.data == nullptr) return nullptr;
  return {{"name", string_of(tensor.name)},
          {"type", std::string(tensor.type.data, tensor.type.length)},
          {"shape", std::vector<std::int64_t>(tensor.shape, tensor.shape + tensor.sides)},
          {"bytes", tensor.bytes}};
}

// The structs of layers and tensors, and the JSON, are what the reader has.
void expect_checkpoint(const heddle_checkpoint* handle, const CheckpointReader& reader) {
  const std::string text = text_from(heddle_checkpoint_json, handle);
  EXPECT_EQ(text, checkpoint_to_json(reader));
  const auto told = nlohmann::json::parse(text);
  std::size_t layers = 99;
  std::size_t tensors = 99;
  ASSERT_EQ(heddle_checkpoint_counts(handle, &layers, &tensors), HEDDLE_OK);
  expect_rows({{"layers", layers, reader.layers().size()},
               {"tensors", tensors, reader.tensors().size()},
               {"notes", told.at("notes"), reader.notes()},
               {"unserved", told.at("unserved").size(), reader.unserved().size()}});
  for (std::size_t i = 0; i < layers; ++i) {
    const CheckpointLayer& layer = reader.layers()[i];
    const auto info = info_from<heddle_checkpoint_layer_info>(heddle_checkpoint_layer, handle, i);
    const nlohmann::json& one = told.at("layers")[i];
    const auto other = [&](const char* name) { return one.value(name, nlohmann::json(nullptr)); };
    expect_rows({
        {"name", string_of(info.name), layer.name},
        {"spec", string_of(info.spec), layer.spec.canonical_json()},
        {"matrices", info.matrices, layer.matrices},
        {"layout_version", info.layout_version, layer.layout_version},
        {"packed", json_of(info.packed), one.at("packed")},
        {"packed bytes", info.packed.bytes, layer.packed.bytes},
        {"permutation", json_of(info.permutation), other("permutation")},
        {"bias", json_of(info.bias), other("bias")},
        {"pre_scale", json_of(info.pre_scale), other("pre_scale")},
        {"input_scale", json_of(info.input_scale), other("input_scale")},
        {"source_bytes", one.at("source_bytes"), layer.source_bytes},
        {"parts", one.at("parts").size(), layer.parts.size()},
        {"rows", one.at("parts")[0].at("rows"), layer.parts[0].rows},
        {"find",
         number_from<std::size_t>(heddle_checkpoint_find_layer, handle, layer.name.data(),
                                  layer.name.size()),
         i},
    });
  }
  for (std::size_t i = 0; i < tensors; ++i) {
    const CheckpointTensor& tensor = reader.tensors()[i];
    const auto info =
        number_from<heddle_checkpoint_tensor_info>(heddle_checkpoint_tensor, handle, i);
    expect_rows({
        {"tensor", json_of(info), told.at("tensors")[i]},
        {"type", std::string(info.type.data, info.type.length), to_string(tensor.type)},
        {"find",
         number_from<std::size_t>(heddle_checkpoint_find_tensor, handle, tensor.name.data(),
                                  tensor.name.size()),
         i},
    });
  }
  for (std::size_t i = 0; i < reader.unserved().size(); ++i) {
    const UnservedLayer& layer = reader.unserved()[i];
    const nlohmann::json wanted = {{"name", layer.name},
                                   {"reason", layer.reason},
                                   {"n", layer.n},
                                   {"k", layer.k},
                                   {"tensors", layer.tensors}};
    expect_rows({{"unserved", told.at("unserved")[i], wanted}});
  }
}

// A sink that gathers what it is given, up to `most` calls.
struct Gathered {
  std::vector<std::uint8_t> bytes{};
  int most = 1000;
  int calls = 0;
};
std::int32_t gather(void* user, std::size_t offset, const void* data, std::size_t bytes) {
  auto* const to = static_cast<Gathered*>(user);
  EXPECT_EQ(offset, to->bytes.size());
  const auto* const begin = static_cast<const std::uint8_t*>(data);
  to->bytes.insert(to->bytes.end(), begin, begin + bytes);
  return ++to->calls <= to->most ? 1 : 0;
}

TEST(CApiCheckpoint, HasTheReadersLayersAndBytes) {
  const auto handle = open(kFolder);
  const CheckpointReader reader(kFolder);
  expect_checkpoint(handle.get(), reader);
  const CheckpointLayer& layer = reader.layers().front();
  std::vector<std::uint8_t> wanted(layer.packed.bytes);
  reader.pack(layer, wanted.data(), wanted.size());
  std::vector<std::int32_t> order(256);
  reader.read(*layer.permutation, order.data(), 1024);

  std::vector<std::uint8_t> packed(wanted.size());
  std::vector<std::int32_t> permutation(256);
  Gathered pieces;
  Gathered read;
  EXPECT_EQ(heddle_checkpoint_pack(handle.get(), 0, packed.data(), packed.size()), HEDDLE_OK);
  EXPECT_EQ(heddle_checkpoint_pack_to(handle.get(), 0, gather, &pieces), HEDDLE_OK);
  EXPECT_EQ(heddle_checkpoint_read(handle.get(), HEDDLE_TEXT("model.proj.heddle_perm"),
                                   permutation.data(), 1024),
            HEDDLE_OK);
  EXPECT_EQ(
      heddle_checkpoint_read_to(handle.get(), HEDDLE_TEXT("model.proj.heddle"), gather, &read),
      HEDDLE_OK);
  expect_rows({{"pack", packed, wanted},
               {"pack_to", pieces.bytes, wanted},
               {"read", permutation, order},
               {"read_to", read.bytes, wanted}});
  Gathered stops;
  stops.most = 0;
  expect_refusals({HEDDLE_REFUSED(heddle_checkpoint_pack_to(handle.get(), 0, gather, &stops),
                                  CANCELLED, "checkpoint.cancelled")});
  EXPECT_EQ(stops.calls, 1);
  std::vector<std::thread> threads(3);
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      std::vector<std::uint8_t> own(wanted.size());
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(heddle_checkpoint_pack(handle.get(), 0, own.data(), own.size()), HEDDLE_OK);
      }
      EXPECT_EQ(own, wanted);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The caller's work for each layer, and what is told of it.
struct Work {
  const heddle_checkpoint* checkpoint = nullptr;
  std::vector<std::uint8_t> packed{};
  std::int32_t go_on = 1;
  std::int32_t go_on_after = 1;
  int told = 0;
};
std::int32_t pack_layer(void* user, std::size_t layer) {
  auto* const work = static_cast<Work*>(user);
  EXPECT_EQ(layer, 0U);
  EXPECT_EQ(
      heddle_checkpoint_pack(work->checkpoint, layer, work->packed.data(), work->packed.size()),
      HEDDLE_OK);
  return work->go_on;
}
std::int32_t count_progress(void* user, std::size_t layer, std::size_t done, std::size_t total,
                            std::uint64_t bytes_done, std::uint64_t bytes_total) {
  auto* const work = static_cast<Work*>(user);
  EXPECT_TRUE(layer == 0 && done == 1 && total == 1 && bytes_done == bytes_total);
  EXPECT_EQ(bytes_done, work->packed.size());
  ++work->told;
  return work->go_on_after;
}

TEST(CApiCheckpoint, CallsTheCallersWorkForEachLayer) {
  const auto handle = open(kFolder);
  const CheckpointReader reader(kFolder);
  std::vector<std::uint8_t> wanted(reader.layers().front().packed.bytes);
  reader.pack(reader.layers().front(), wanted.data(), wanted.size());
  Work work;
  work.checkpoint = handle.get();
  work.packed.resize(wanted.size());
  const auto each = [&](std::int32_t jobs) {
    return heddle_checkpoint_for_each_layer(handle.get(), pack_layer, jobs, count_progress, &work);
  };
  EXPECT_EQ(each(0), HEDDLE_OK);
  EXPECT_EQ(work.packed, wanted);
  EXPECT_EQ(each(2), HEDDLE_OK);
  EXPECT_EQ(work.told, 2);
  EXPECT_EQ(heddle_checkpoint_for_each_layer(handle.get(), pack_layer, 1, nullptr, &work),
            HEDDLE_OK);
  expect_refusals({HEDDLE_REFUSED(each(-1), USAGE, "checkpoint.jobs")});
  work.go_on_after = 0;
  expect_refusals({HEDDLE_REFUSED(each(1), CANCELLED, "checkpoint.cancelled")});
  work.go_on = 0;
  expect_refusals({HEDDLE_REFUSED(each(1), CANCELLED, "checkpoint.cancelled")});
}

// A checkpoint of one file.
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
