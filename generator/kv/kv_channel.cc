#include "generator/kv/kv_channel.h"

#include <fmt/format.h>

namespace heddle {

std::vector<Problem> refuse_channels(const KvSpec& kv) {
  std::vector<Problem> problems;
  if (kv.v.granularity == KvGranularity::kChannel) {
    problems.push_back({"/kv/v/granularity",
                        "scales of V per channel multiply no P, but each block's part of the "
                        "output: there is no kernel for them",
                        "\"channel\"", "\"tensor\", \"token\", \"head\" or \"group\"", ""});
  }
  if (kv.k.granularity != KvGranularity::kChannel) return problems;
  const int tokens = kv.k.group_size;
  if (tokens % kChannelStep != 0 || tokens > kMostChannelTokens) {
    problems.push_back(
        {"/kv/k/group_size",
         fmt::format("a block of scales per channel is whole runs of {} tokens", kChannelStep),
         fmt::format("{}", tokens),
         fmt::format("multiples of {} up to {}", kChannelStep, kMostChannelTokens), ""});
  } else if (kv.layout == KvLayout::kPaged && kv.page_size % tokens != 0) {
    problems.push_back({"/kv/page_size", "a page holds whole blocks of scales per channel",
                        fmt::format("{}", kv.page_size), fmt::format("multiples of {}", tokens),
                        ""});
  }
  return problems;
}

}  // namespace heddle
