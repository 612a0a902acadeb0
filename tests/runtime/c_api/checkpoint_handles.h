// Checkpoints of the C API, beside what the reader of C++ has.
#ifndef HEDDLE_TESTS_RUNTIME_C_API_CHECKPOINT_HANDLES_H_
#define HEDDLE_TESTS_RUNTIME_C_API_CHECKPOINT_HANDLES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/files/tensor.h"
#include "checkpoint/reader_json.h"
#include "heddle/checkpoint.h"
#include "tests/runtime/c_api/rows.h"

namespace heddle::testing {

// One act-order layer, "model.proj", of 32 rows and 256 columns.
inline const std::string kFolder = HEDDLE_GOLDEN "/gptq4_k256_n32_g128_actorder";

inline auto open(const std::string& path, const heddle_checkpoint_options* options = nullptr) {
  return made(heddle_checkpoint_destroy, heddle_checkpoint_create, path.data(), path.size(),
              options);
}

inline heddle_checkpoint_options default_options() {
  heddle_checkpoint_options options;
  EXPECT_EQ(heddle_checkpoint_options_init(&options, sizeof options), HEDDLE_OK);
  return options;
}

inline nlohmann::json json_of(const heddle_checkpoint_tensor_info& tensor) {
  if (tensor.name.data == nullptr) return nullptr;
  return {{"name", string_of(tensor.name)},
          {"type", std::string(tensor.type.data, tensor.type.length)},
          {"shape", std::vector<std::int64_t>(tensor.shape, tensor.shape + tensor.sides)},
          {"bytes", tensor.bytes}};
}

// The structs of layers and tensors, and the JSON, are what the reader has.
inline void expect_checkpoint(const heddle_checkpoint* handle, const CheckpointReader& reader) {
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
  std::size_t sets = 99;
  ASSERT_EQ(heddle_checkpoint_experts_count(handle, &sets), HEDDLE_OK);
  expect_rows({{"experts", sets, reader.experts().size()},
               {"experts told", told.at("experts").size(), reader.experts().size()}});
  for (std::size_t i = 0; i < sets; ++i) {
    const CheckpointExperts& experts = reader.experts()[i];
    const auto info =
        info_from<heddle_checkpoint_experts_info>(heddle_checkpoint_experts, handle, i);
    expect_rows({
        {"experts", string_of(info.name), experts.name},
        {"spec", string_of(info.spec), experts.spec.canonical_json()},
        {"routed", string_of(info.routed),
         experts.routed ? experts.routed->canonical_json() : std::string()},
        {"told", told.at("experts")[i].at("spec").dump(),
         nlohmann::json::parse(experts.spec.canonical_json()).dump()},
        {"routed told", told.at("experts")[i].contains("routed"), experts.routed.has_value()},
        {"gate_up", reader.layers().at(info.gate_up).name, experts.gate_up},
        {"down", reader.layers().at(info.down).name, experts.down},
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

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_RUNTIME_C_API_CHECKPOINT_HANDLES_H_
