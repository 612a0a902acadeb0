#include "generator/families/kv_append/refusals.h"

#include <fmt/format.h>

#include <bit>
#include <string>

#include "generator/families/kv_append/config.h"
#include "generator/kv/kv_channel.h"
#include "generator/operations/kv_append/kv_append.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

constexpr int kMostThreads = 1024;

bool is_power_of_two(int value) { return std::has_single_bit(static_cast<unsigned>(value)); }

void refuse_tensor(const KvTensor& tensor, const std::string& pointer,
                   std::vector<Problem>& problems) {
  if (tensor.granularity == KvGranularity::kGroup &&
      !is_power_of_two(tensor.group_size / device::kLaneElements)) {
    problems.push_back({pointer + "/group_size", "groups are found by halves of a warp's lanes",
                        fmt::format("{}", tensor.group_size), "16, 32, 64, 128 or 256", ""});
  }
}

// Thread blocks that no GPU, or not this one, can hold.
void refuse_blocks(const KvAppendSpec& append, const Target& target,
                   std::vector<Problem>& problems) {
  const device::KvAppendConfig config = kv_append_config(append, target);
  if (config.threads() > kMostThreads) {
    problems.push_back(
        {"/kv/granularity", "a block finds the scale of all heads of a token, 16 elements a thread",
         "\"token\"",
         fmt::format("heads that take at most {} threads, here {}", kMostThreads, config.threads()),
         ""});
  } else if (config.shared_bytes() > target.shared_per_block) {
    problems.push_back(
        {"/kv/k/group_size",
         fmt::format("a block keeps the tokens that share scales in shared memory,"
                     " of which {} has {} bytes",
                     target.name, target.shared_per_block),
         fmt::format("{}, which takes {} bytes", append.kv.k.group_size, config.shared_bytes()),
         "fewer tokens", ""});
  }
}

bool is_bf16(const KvAppendSpec& spec) {
  return spec.activation == DType::kBf16 || spec.kv.k.dtype == KvDtype::kBf16 ||
         spec.kv.v.dtype == KvDtype::kBf16;
}

}  // namespace

std::vector<Problem> refuse_kv_append(const KvAppendSpec& append, const Target& target) {
  const bool makes_sense = check_meaning(append).empty();
  std::vector<Problem> problems;
  if (makes_sense) problems = refuse_channels(append.kv);
  if (makes_sense && problems.empty()) {
    refuse_tensor(append.kv.k, "/kv/k", problems);
    refuse_tensor(append.kv.v, "/kv/v", problems);
    refuse_blocks(append, target, problems);
  }
  if (!has_tensor_cores(target)) {
    problems.push_back({"", fmt::format("no kernel serves target {}", target.name),
                        fmt::format("sm_{}", target.arch()), "sm_75 and up", ""});
  } else if (is_bf16(append) && !has_bf16(target)) {
    problems.push_back(
        {"/activation/dtype",
         fmt::format("{} (sm_{}) has no bfloat16 arithmetic", target.name, target.arch()),
         "\"bf16\"", "\"fp16\", also in the cache", ""});
  }
  return problems;
}

}  // namespace heddle
