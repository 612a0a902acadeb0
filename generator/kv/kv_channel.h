// Scales per channel: which of them have kernels.
#ifndef HEDDLE_GENERATOR_KV_KV_CHANNEL_H_
#define HEDDLE_GENERATOR_KV_KV_CHANNEL_H_

#include <vector>

#include "heddle/error.h"
#include "heddle/kv_spec.h"

namespace heddle {

inline constexpr int kChannelStep = 32;         // tokens; a tile of attention lies in one block
inline constexpr int kMostChannelTokens = 256;  // of a block

// Why a cache with scales per channel, if it has any, is not served.
std::vector<Problem> refuse_channels(const KvSpec& kv);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_KV_KV_CHANNEL_H_
