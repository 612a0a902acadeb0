#include "tests/decoder/two_ranks.h"

#include <algorithm>
#include <exception>
#include <thread>

namespace heddle::testing {

TwoRanks::TwoRanks(const std::string& folder, const std::string& kv, std::int64_t sequences,
                   int arch) {
  for (int rank = 0; rank < 2; ++rank) {
    models_.at(static_cast<std::size_t>(rank)) =
        std::make_unique<::Model>(folder, kv, sequences, arch, 0, TensorParallel{rank, 2});
  }
}

void TwoRanks::load(Runtime& runtime, std::int64_t capacity,
                    const std::function<::Decoder::SumOfRanks(int rank)>& sum_of) {
  for (int rank = 0; rank < 2; ++rank) {
    cuda::check(cuda::driver().cuDevicePrimaryCtxRetain(
                    &contexts_.at(static_cast<std::size_t>(rank)), rank),
                "cuDevicePrimaryCtxRetain");
  }
  on_both([&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    streams_.at(r) = std::make_unique<EngineStream>();
    decoders_.at(r) = std::make_unique<::Decoder>(runtime, model(rank), capacity,
                                                  streams_.at(r)->get(), sum_of(rank));
  });
}

TwoRanks::~TwoRanks() {
  if (contexts_[1] == nullptr) return;
  on_both([this](int rank) {
    decoders_.at(static_cast<std::size_t>(rank)).reset();
    streams_.at(static_cast<std::size_t>(rank)).reset();
  });
  for (int rank = 0; rank < 2; ++rank) cuda::driver().cuDevicePrimaryCtxRelease(rank);
}

void TwoRanks::read_prompts(const std::vector<std::vector<int>>& prompts) {
  on_both([&](int rank) { decoders_.at(static_cast<std::size_t>(rank))->read_prompts(prompts); });
}

std::vector<float> TwoRanks::step(const std::vector<int>& tokens) {
  std::array<std::vector<float>, 2> parts;
  on_both([&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    parts.at(r) = decoders_.at(r)->step(tokens);
  });
  std::vector<float> logits;
  const std::int64_t part = model(0).vocabulary_part;
  for (std::size_t s = 0; s < tokens.size(); ++s) {
    for (const std::vector<float>& of_rank : parts) {
      const auto begin = of_rank.begin() + static_cast<std::ptrdiff_t>(s) * part;
      logits.insert(logits.end(), begin, begin + part);
    }
  }
  return logits;
}

void TwoRanks::on_both(const std::function<void(int rank)>& work) {
  std::array<std::exception_ptr, 2> failed;
  std::array<std::thread, 2> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.at(static_cast<std::size_t>(rank)) = std::thread([&, rank] {
      try {
        cuda::check(cuda::driver().cuCtxSetCurrent(contexts_.at(static_cast<std::size_t>(rank))),
                    "cuCtxSetCurrent");
        work(rank);
      } catch (...) {
        failed.at(static_cast<std::size_t>(rank)) = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : failed) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace heddle::testing
