// What heddle repack wrote is read again, and refused where it is not what it wrote.
#include "checkpoint/output/packed_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_model.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/convert.h"
#include "checkpoint/output/packed_contents.h"
#include "heddle/checkpoint.h"
#include "tests/checkpoint/expert_cases.h"
#include "tests/checkpoint/reader_cases.h"

namespace heddle {
namespace {

const std::string kPackedQkv = "model.layers.0.self_attn.qkv_proj";
const std::string kPackedDown = "model.layers.0.mlp.down_proj";

// A packed file whose parts a test changes.
struct EditedFile {
  std::map<std::string, std::string> metadata;
  std::vector<TestTensor> tensors;

  explicit EditedFile(const std::string& path) : metadata(SafetensorsFile(path).header().metadata) {
    const Checkpoint checkpoint(path);
    for (const auto& [name, entry] : checkpoint.tensors()) {
      tensors.push_back({name, entry.tensor->type, entry.tensor->shape, checkpoint.read(name)});
    }
  }
  TestTensor& at(const std::string& name) {
    for (TestTensor& tensor : tensors) {
      if (tensor.name == name) return tensor;
    }
    throw std::out_of_range(name);
  }
  void remove(const std::string& name) {
    tensors.erase(tensors.begin() + (&at(name) - tensors.data()));
  }
  void replace(const std::string& key, const std::string& from, const std::string& to) {
    std::string& text = metadata.at(key);
    const std::size_t place = text.find(from);
    if (place == text.npos) throw std::out_of_range(from + " in " + text);
    text.replace(place, from.size(), to);
  }
  void write(const std::string& path) const {
    std::vector<TensorInfo> infos;
    for (const TestTensor& tensor : tensors) {
      infos.push_back({tensor.name, tensor.type, tensor.shape, 0, 0});
    }
    SafetensorsWriter writer(path, infos, metadata);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      writer.write(i, 0, tensors[i].bytes.data(), tensors[i].bytes.size());
    }
    writer.commit();
  }
};

// The file that `made` is packed into.
std::string pack_case(const ReaderCase& made, const TemporaryFolder& folder,
                      const PackOptions& options = {}) {
  const std::string source = folder / "source";
  std::filesystem::create_directory(source);
  write_file(source + "/config.json", made.config);
  write_tensors(source + "/model.safetensors", made.tensors);
  std::string output = folder / "packed.safetensors";
  ConvertOptions convert;
  convert.pack = options;
  repack_checkpoint(Checkpoint(source),
                    read_checkpoint_config(read_config_files(source + "/config.json"), {}), output,
                    convert);
  return output;
}

struct PackedRefusal {
  std::string code;
  std::string text;
};

PackedRefusal packed_refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

struct PackedFault {
  const char* name;
  std::function<void(EditedFile*)> edit;
  const char* code;
  std::string text;  // that the message has
};

void PrintTo(const PackedFault& fault, std::ostream* out) { *out << fault.name; }

std::vector<PackedFault> packed_faults() {
  constexpr const char* kFault = "checkpoint.packed";
  constexpr const char* kVersion = "checkpoint.packed_version";
  const std::string weights = kPackedQkv + ".heddle";
  return {
      {"ForeignTensor",
       [](EditedFile* file) {
         file->tensors.push_back(some_halves("lora.weight", {2, 2}));
       },
       kFault, "\"lora.weight\""},
      {"PlainWeightsBesideThePackedOnes",
       [](EditedFile* file) {
         file->tensors.push_back(some_halves(kPackedDown + ".weight", {40, 512}));
       },
       kFault, kPackedDown + ".weight"},
      {"MissingWeights", [=](EditedFile* file) { file->remove(weights); }, kFault, weights},
      {"MissingNorm", [](EditedFile* file) { file->remove("model.norm.weight"); }, kFault,
       "model.norm.weight"},
      {"MissingBias", [](EditedFile* file) { file->remove(kPackedQkv + ".bias"); }, kFault,
       kPackedQkv + ".bias"},
      {"ShorterWeights",
       [=](EditedFile* file) {
         TestTensor& tensor = file->at(weights);
         tensor.bytes.resize(tensor.bytes.size() - 16);
         tensor.shape = {static_cast<std::int64_t>(tensor.bytes.size())};
       },
       kFault, weights},
      {"NoOrder",
       [](EditedFile* file) {
         // Column 3 twice: a kernel would read X there.
         TestTensor& tensor = file->at(kPackedQkv + ".heddle_perm");
         std::memcpy(tensor.bytes.data() + 4, tensor.bytes.data(), 4);
       },
       kFault, kPackedQkv + ".heddle_perm"},
      {"OrderBeyondTheColumns",
       [](EditedFile* file) { file->at(kPackedQkv + ".heddle_perm").bytes[3] = 0x40; }, kFault,
       kPackedQkv + ".heddle_perm"},
      {"NoSpec", [=](EditedFile* file) { file->metadata.erase(weights); }, kFault, kPackedQkv},
      {"SpecOfNoLayer",
       [=](EditedFile* file) { file->metadata["x.heddle"] = file->metadata.at(weights); }, kFault,
       "x.heddle"},
      {"SpecThatIsNone", [=](EditedFile* file) { file->metadata[weights] = "{\"heddle\": 99}"; },
       kFault, kPackedQkv},
      {"SpecOfOtherRows",
       [=](EditedFile* file) { file->replace(weights, "\"n\":128", "\"n\":144"); }, kFault,
       kPackedQkv},
      {"PartsWithOtherRows",
       [](EditedFile* file) {
         file->replace("heddle.contents", "q_proj\",64", "q_proj\",9223372036854775807");
       },
       kFault, kPackedQkv},
      // The rows of the others are those of the spec.
      {"PartWithMoreRowsThanTheSpec",
       [](EditedFile* file) {
         file->replace("heddle.contents", "[[\"", "[[\"ghost\",1000000000000000],[\"");
       },
       kFault, "ghost"},
      {"PartWithoutRows",
       [](EditedFile* file) { file->replace("heddle.contents", "[[\"", "[[\"ghost\",0],[\""); },
       kFault, "ghost"},
      {"NoBiasInTheSpec",
       [=](EditedFile* file) { file->replace(weights, "\"bias\":true", "\"bias\":false"); }, kFault,
       kPackedQkv},
      {"NoContents", [](EditedFile* file) { file->metadata.erase("heddle.contents"); }, kVersion,
       "heddle.contents"},
      {"LaterContents",
       [](EditedFile* file) { file->replace("heddle.contents", "\"version\":1", "\"version\":2"); },
       kVersion, "another version"},
      {"ContentsThatAreNone", [](EditedFile* file) { file->metadata["heddle.contents"] = "[1, 2"; },
       kFault, "heddle.contents"},
      {"ContentsOfAnotherShape",
       [](EditedFile* file) { file->replace("heddle.contents", "\"copied\":[", "\"copied\":[7,"); },
       kFault, "heddle.contents"},
      {"ACopyTwice",
       [](EditedFile* file) {
         file->replace("heddle.contents", "\"copied\":[", "\"copied\":[\"model.norm.weight\",");
       },
       kFault, "model.norm.weight"},
      {"LayoutThatIsNone", [](EditedFile* file) { file->metadata["heddle.layout"] = "new"; },
       kFault, "heddle.layout"},
      {"EarlierLayout", [](EditedFile* file) { file->metadata["heddle.layout"] = "5"; }, kVersion,
       "its heddle.layout is 5, not 6"},
      {"LaterLayout", [](EditedFile* file) { file->metadata["heddle.layout"] = "99"; }, kVersion,
       "pack the checkpoint again"},
      {"RankThatIsNone", [](EditedFile* file) { file->metadata["heddle.tp"] = "2/2"; }, kFault,
       "heddle.tp"},
  };
}

class PackedFaultTest : public ::testing::TestWithParam<PackedFault> {};

TEST_P(PackedFaultTest, IsRefusedByName) {
  const TemporaryFolder folder;
  const std::string path = pack_case(gptq_case(true), folder);
  ASSERT_EQ(CheckpointReader(path).layers().size(), 2U);
  EditedFile file(path);
  GetParam().edit(&file);
  const std::string edited = folder / "edited.safetensors";
  file.write(edited);
  const PackedRefusal refused = packed_refusal([&] { const CheckpointReader reader(edited); });
  EXPECT_EQ(refused.code, GetParam().code);
  EXPECT_NE(refused.text.find(GetParam().text), std::string::npos) << refused.text;
  EXPECT_NE(refused.text.find(edited), std::string::npos) << refused.text;
}

INSTANTIATE_TEST_SUITE_P(Faults, PackedFaultTest, ::testing::ValuesIn(packed_faults()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(PackedFile, ThatIsTruncatedIsRefused) {
  const TemporaryFolder folder;
  const std::string path = pack_case(gptq_case(false), folder);
  const std::string content = read_file(path);
  for (const std::size_t bytes : {content.size() - 1, content.size() / 2, std::size_t{100}}) {
    const std::string cut = folder / "cut.safetensors";
    write_file(cut, content.substr(0, bytes));
    EXPECT_EQ(packed_refusal([&] { const CheckpointReader reader(cut); }).code,
              "checkpoint.header");
  }
}

TEST(PackedFile, NeedsNoConfigBesideIt) {
  const TemporaryFolder folder;
  const std::string path = pack_case(gptq_case(false), folder);
  std::filesystem::create_directory(folder / "alone");
  std::filesystem::rename(path, folder / "alone/any_name.safetensors");
  EXPECT_EQ(CheckpointReader(folder / "alone").layers().size(), 2U);
}

TEST(PackedFile, FilesBesideItAreForeign) {
  const TemporaryFolder folder;
  const std::string path = pack_case(gptq_case(false), folder);
  std::filesystem::create_directory(folder / "both");
  std::filesystem::copy(path, folder / "both/a.safetensors");
  std::filesystem::copy(path, folder / "both/b.safetensors");
  // These tensors twice.
  EXPECT_EQ(code_of([&] { const CheckpointReader reader(folder / "both"); }), "checkpoint.index");
  write_tensors(folder / "both/b.safetensors", {some_halves("lora.weight", {2, 2})});
  const PackedRefusal refused =
      packed_refusal([&] { const CheckpointReader reader(folder / "both"); });
  EXPECT_EQ(refused.code, "checkpoint.packed");
  EXPECT_NE(refused.text.find("lora.weight"), std::string::npos) << refused.text;
}

// Each option may say what the file is, or nothing; what it is not is refused.
TEST(PackedFile, OptionsAskForWhatItIs) {
  const TemporaryFolder folder;
  PackOptions packed;
  const std::string path = pack_case(plain_case(8), folder, {true, {}, {}, true, true, 8});
  CheckpointOptions same;
  same.gated = same.dense = true;
  same.lm_head_bits = 8;
  EXPECT_EQ(CheckpointReader(path).layers().size(), CheckpointReader(path, same).layers().size());
  const TemporaryFolder other;
  const std::string plain = pack_case(gptq_case(false), other);
  struct Case {
    const char* word;
    std::string file;
    std::function<void(CheckpointOptions*)> ask;
  };
  const std::vector<Case> cases = {
      {"--gated", plain, [](auto* options) { options->gated = true; }},
      {"--dense", plain, [](auto* options) { options->dense = true; }},
      {"--lm-head 8", plain, [](auto* options) { options->lm_head_bits = 8; }},
      {"--lm-head 4", path, [](auto* options) { options->lm_head_bits = 4; }},
      {"--no-fuse", plain, [](auto* options) { options->fuse = false; }},
      {"--keep", plain, [](auto* options) { options->choice.keep = {"*"}; }},
      {"--skip", plain, [](auto* options) { options->choice.skip = {"*"}; }},
      {"rank 1 of 2", plain,
       [](auto* options) {
         options->parallel = {1, 2};
       }},
  };
  for (const Case& one : cases) {
    CheckpointOptions options;
    one.ask(&options);
    const PackedRefusal refused =
        packed_refusal([&] { const CheckpointReader reader(one.file, options); });
    EXPECT_EQ(refused.code, "checkpoint.packed_options") << one.word;
    EXPECT_NE(refused.text.find(one.word), std::string::npos) << refused.text;
  }
}

TEST(PackedFile, OfARankIsForThatRank) {
  const TemporaryFolder folder;
  PackOptions rank;
  rank.parallel = {1, 2};
  const std::string path = pack_case(gptq_case(false), folder, rank);
  CheckpointOptions options;
  EXPECT_EQ(code_of([&] { const CheckpointReader reader(path, options); }),
            "checkpoint.packed_options");
  options.parallel = {1, 2};
  EXPECT_EQ(CheckpointReader(path, options).layers().size(), 2U);
  // Kernels are those of the file.
  const Checkpoint checkpoint(path);
  const PackedCheckpoint specs = read_packed_checkpoint(checkpoint, {}, {}, PackedUse::kSpecs);
  EXPECT_EQ(specs.layers.size(), 2U);
  ASSERT_EQ(specs.notes.size(), 1U);
  EXPECT_NE(specs.notes[0].find("rank 1 of 2"), std::string::npos);
}

TEST(PackedFile, IsForGpusThatTakeItsActivations) {
  const TemporaryFolder folder;
  const std::string path =
      pack_case({"Fp8",
                 R"({"model_type": "llama", "torch_dtype": "bfloat16",
           "quantization_config": {"quant_method": "fp8", "activation_scheme": "static"}})",
                 {{"l.weight", TensorType::kF8E4M3, {128, 128}, some_bytes(128 * 128, 0x7F)},
                  {"l.weight_scale", TensorType::kF32, {}, some_floats(1)},
                  {"l.input_scale", TensorType::kF32, {}, some_floats(1)}}},
                folder);
  const CheckpointReader reader(path);
  ASSERT_TRUE(reader.layer("l").spec.gemm().has_byte_activations());
  ASSERT_TRUE(reader.layer("l").input_scale.has_value());
  CheckpointOptions options;
  for (const int arch : {0, 89, 90}) {
    options.arch = arch;
    EXPECT_EQ(CheckpointReader(path, options).layers().size(), 1U) << arch;
  }
  options.arch = 80;
  const PackedRefusal refused = packed_refusal([&] { const CheckpointReader old(path, options); });
  EXPECT_EQ(refused.code, "checkpoint.packed_arch");
  EXPECT_NE(refused.text.find("\"l\""), std::string::npos) << refused.text;
  EXPECT_NE(refused.text.find("sm_80"), std::string::npos) << refused.text;
  options.arch = 0;
  options.activation_bits = 16;
  EXPECT_EQ(code_of([&] { const CheckpointReader sixteen(path, options); }),
            "checkpoint.packed_options");
  EditedFile file(path);
  std::memset(file.at("l.input_scale").bytes.data(), 0, 4);
  file.write(folder / "zero.safetensors");
  EXPECT_EQ(code_of([&] { const CheckpointReader zero(folder / "zero.safetensors"); }),
            "checkpoint.packed");
}

TEST(PackedFile, HasTheModelOfItsCheckpoint) {
  const TemporaryFolder folder;
  const std::string path = pack_case(gptq_case(false), folder);
  const Checkpoint source(folder / "source");
  const CheckpointConfig config =
      read_checkpoint_config(read_config_files(folder / "source/config.json"), {});
  const Model want = model_of_checkpoint(source, config);
  const Checkpoint packed(path);
  const Model made =
      model_of_packed(packed, {}, read_packed_checkpoint(packed, {}, {}, PackedUse::kSpecs));
  ASSERT_EQ(made.kernels.size(), want.kernels.size());
  for (std::size_t i = 0; i < want.kernels.size(); ++i) {
    EXPECT_EQ(made.kernels[i].spec.canonical_json(), want.kernels[i].spec.canonical_json());
    EXPECT_EQ(made.kernels[i].spec.name(), want.kernels[i].spec.name());
    EXPECT_EQ(made.kernels[i].covers, want.kernels[i].covers);
  }
  ASSERT_EQ(made.layers.size(), want.layers.size());
  for (std::size_t i = 0; i < want.layers.size(); ++i) {
    EXPECT_EQ(made.layers[i].name, want.layers[i].name);
    EXPECT_EQ(made.layers[i].layers, want.layers[i].layers);
    EXPECT_EQ(made.layers[i].parts.size(), want.layers[i].parts.size());
  }
}

// Two of its layers are those of a moe, or it is refused.
TEST(PackedFile, ExpertsAreThoseOfItsLayers) {
  const TemporaryFolder folder;
  const ExpertModel model = lone_experts(kQwenNames, ExpertForm::kGptq);
  const std::string path = pack_case({"", model.config, model.tensors}, folder);
  const Checkpoint source(folder / "source");
  const CheckpointConfig config = read_checkpoint_config(model.config);
  const Model want = model_of_checkpoint(source, config, {});
  const Checkpoint packed(path);
  const Model got =
      model_of_packed(packed, config, read_packed_checkpoint(packed, {}, {}, PackedUse::kSpecs));
  ASSERT_EQ(got.kernels.size(), 1U);
  EXPECT_EQ(got.kernels[0].spec.canonical_json(), want.kernels[0].spec.canonical_json());
  EXPECT_EQ(got.kernels[0].covers, want.kernels[0].covers);
  EXPECT_EQ(got.kernels[0].layers, 1);
  const std::string at = kQwenNames.at;
  const struct {
    const char* what;
    std::string from, to;
  } faults[] = {
      {"another layer", R"("down":")" + at + ".down_proj\"", R"("down":")" + at + ".gone\""},
      {"the other product", R"("gate_up":")" + at + ".gate_up_proj\"",
       R"("gate_up":")" + at + ".down_proj\""},
      {"more experts", R"(\"experts\":3)", R"(\"experts\":4)"},
      {"another form", R"(\"bits\":4)", R"(\"bits\":8)"},
      {"no moe", R"(\"op\":\"moe\")", R"(\"op\":\"gemm\")"},
      {"no spec", R"("spec":"{)", R"("spec":"[)"},
  };
  for (const auto& fault : faults) {
    EditedFile file(path);
    file.replace(kContentsKey, fault.from, fault.to);
    const std::string other = folder / "edited.safetensors";
    file.write(other);
    const PackedRefusal refusal = packed_refusal([&] { CheckpointReader{other}; });
    EXPECT_EQ(refusal.code, "checkpoint.packed") << fault.what;
    EXPECT_NE(refusal.text.find(at), std::string::npos) << fault.what << refusal.text;
    EXPECT_EQ(refusal.text.find("another product") != std::string::npos,
              std::string(fault.what) == "the other product")
        << refusal.text;
    std::filesystem::remove(other);
  }
}

// Launches read them in the type of their activations.
TEST(PackedFile, BiasesOfExpertsHaveTheTypeOfTheirActivations) {
  const TemporaryFolder folder;
  ExpertModel model = lone_experts(kQwenNames, ExpertForm::kGptq);
  const std::string at = std::string(kQwenNames.at) + ".";
  for (const char* expert : {"0", "1", "2"}) {
    const std::vector<float> ones(kExpertInner, 1);
    model.tensors.push_back(
        {at + expert + ".up_proj.bias", TensorType::kF32, {kExpertInner}, bytes_of_values(ones)});
  }
  EditedFile file(pack_case({"", model.config, model.tensors}, folder));
  const std::string bias = at + "gate_up_proj.bias";
  ASSERT_EQ(file.at(bias).type, TensorType::kBf16);
  file.at(bias).type = TensorType::kF16;
  const std::string other = folder / "edited.safetensors";
  file.write(other);
  const PackedRefusal refusal = packed_refusal([&] { CheckpointReader{other}; });
  EXPECT_EQ(refusal.code, "checkpoint.packed");
  EXPECT_NE(refusal.text.find("biases of BF16"), std::string::npos) << refusal.text;
  EXPECT_NE(refusal.text.find(bias), std::string::npos) << refusal.text;
}

}  // namespace
}  // namespace heddle
