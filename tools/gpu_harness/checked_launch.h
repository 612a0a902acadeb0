// A problem that a kernel is checked with, and what comes of it.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_CHECKED_LAUNCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_CHECKED_LAUNCH_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tools/gpu_harness/device/guarded_buffer.h"

namespace heddle {

struct Check {
  std::int64_t m = 0;      // of a gemm or row_transform, else 0
  std::size_t kernel = 0;  // of the plan: which ran
  // How far results are from FP64: the relative Frobenius norm, NaN where an output was not
  // written; of row_transform the largest share that an output has used of its tolerance or, of
  // 8 bits, by how many codes one is away.
  double error = 0;
  // What it must stay under.
  double limit = std::numeric_limits<double>::infinity();
  std::uint64_t compared = 0;    // weights or bytes that must be equal
  std::uint64_t mismatches = 0;  // and are not
  std::uint64_t first_mismatch = 0;
  std::string wrong;                   // the first wrong result, in words; empty if there is none
  bool guards_intact = true;           // nothing was written outside of the outputs
  bool repeatable = true;              // a second launch gave the same bits
  std::optional<double> cublas_error;  // on the same weights, rounded to the activation's type

  // The first thing that is wrong, in a few words; empty if the check passed.
  std::string fault() const;
  bool passed() const { return fault().empty(); }
};

// Random data of a spec on the device, a kernel, and what must come of the data by a reference that
// knows nothing of Heddle's layouts and plans. Needs a current context.
class CheckedLaunch {
 public:
  // What a launch writes: the first bytes of a buffer.
  struct Output {
    GuardedBuffer* buffer;
    std::size_t bytes;
  };
  using Written = std::vector<std::vector<std::uint8_t>>;  // by each output

  virtual ~CheckedLaunch() = default;
  virtual std::vector<Output> outputs() = 0;
  // What outputs and guards are full of ahead of each launch.
  virtual std::vector<unsigned char> poisons() const { return {kGuardByte, kGuardByte}; }
  // Writes over the poison what a launch also reads.
  virtual void restore(const OwnedStream&) {}
  virtual void launch(const OwnedStream& stream) = 0;
  // Enters what is wrong with the outputs of the launch that found this poison.
  virtual void compare(const Written& written, unsigned char poison, const OwnedStream& stream,
                       Check* check) = 0;
};

// Launches once for each poison. The first launch with a poison is compared, one with a poison that
// was there must give the same bits. Throws Error(kDriver), and what the problem throws.
void check_launch(CheckedLaunch& launch, const OwnedStream& stream, Check* check);

// Counts the places where `got` differs: compared, mismatches and first_mismatch, which counts from
// `base` on.
void count_mismatches(const std::vector<std::uint8_t>& got,
                      const std::vector<std::uint8_t>& expected, std::size_t base, Check* check);

// The words for bytes that differ.
std::string mismatch_text(const Check& check);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_CHECKED_LAUNCH_H_
