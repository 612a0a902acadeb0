// What the example refuses of a model before it makes anything: files that it cannot take, choices
// of experts that it does not know.
#include "checkpoint/modules/config.h"
#include "checkpoint/output/convert.h"
#include "tests/decoder/fake_decoder.h"

namespace heddle::testing {
namespace {

// What the moe would not do is refused, from tensors and from the config alone.
TEST_F(FakeDecoder, RefusesAChoiceOfExpertsThatIsNotKnown) {
  for (const char* field : {"\"norm_topk_prob\": false", "\"n_group\": 4",
                            "\"scoring_func\": \"sigmoid\"", "\"routed_scaling_factor\": 2.5"}) {
    SmallModel small = small_mixtral();
    small.config.insert(1, std::string(field) + ", ");
    const std::string name = std::string(field).substr(1, std::string(field).find('"', 1) - 1);
    const TemporaryFolder config;
    write_file(config / "config.json", small.config);
    small.write(folder_);
    for (const std::string& place : {folder_.path().string(), config.path().string()}) {
      try {
        static_cast<void>(::Model(place, "int8:head", 1).specs());
        ADD_FAILURE() << field << " was accepted";
      } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find("how experts are chosen"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find('/' + name), std::string::npos) << error.what();
      }
    }
  }
}

// Whatever is wrong with a file, the message names it.
TEST_F(FakeDecoder, NamesTheFileThatItCannotTake) {
  const auto refusal = [](const std::string& place) -> std::string {
    try {
      static_cast<void>(::Model(place, "int8:head", 1));
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "nothing was refused";
  };
  write_file(folder_ / "config.json", "{\"model_type\": ");
  EXPECT_EQ(refusal(folder_.path()).rfind(folder_ / "config.json: the text is not JSON", 0), 0U);
  const std::string file = folder_ / "packed.safetensors";
  write_file(file, "no checkpoint");
  EXPECT_EQ(refusal(file),
            "cannot read " + file + ": it takes a checkpoint's folder or a config.json");
  // Packed without the layers that this engine wants.
  const TemporaryFolder packed;
  const SmallModel small = small_llama();
  small.write(folder_);
  std::filesystem::remove(file);
  write_file(packed / "config.json", small.config);
  repack_checkpoint(Checkpoint(folder_.path()), read_checkpoint_config(small.config),
                    packed / "model.safetensors", {});
  EXPECT_NE(refusal(packed.path()).find("packed with --gated --dense"), std::string::npos)
      << refusal(packed.path());
}

}  // namespace
}  // namespace heddle::testing
