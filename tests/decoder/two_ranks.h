// examples/decoder as two ranks of one process, each on a device of its own.
#ifndef HEDDLE_TESTS_DECODER_TWO_RANKS_H_
#define HEDDLE_TESTS_DECODER_TWO_RANKS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "examples/decoder/decoder.h"
#include "tests/runtime/fake_engine.h"

namespace heddle::testing {

class TwoRanks {
 public:
  // Opens each rank's part of a checkpoint. arch: as Model takes it.
  TwoRanks(const std::string& folder, const std::string& kv, std::int64_t sequences, int arch = 0);
  ~TwoRanks();
  TwoRanks(const TwoRanks&) = delete;
  TwoRanks& operator=(const TwoRanks&) = delete;

  // Decoders of the parts, which share the runtime.
  void load(Runtime& runtime, std::int64_t capacity,
            const std::function<::Decoder::SumOfRanks(int rank)>& sum_of);
  void read_prompts(const std::vector<std::vector<int>>& prompts);
  // [sequences][vocabulary], as of a whole model.
  std::vector<float> step(const std::vector<int>& tokens);

  const ::Model& model(int rank) const { return *models_.at(static_cast<std::size_t>(rank)); }

 private:
  // On a thread of each rank, with its context; throws what one of them throws.
  void on_both(const std::function<void(int rank)>& work);

  std::array<std::unique_ptr<::Model>, 2> models_;
  std::array<cuda::CUcontext, 2> contexts_{};
  std::array<std::unique_ptr<EngineStream>, 2> streams_;
  std::array<std::unique_ptr<::Decoder>, 2> decoders_;
};

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_DECODER_TWO_RANKS_H_
