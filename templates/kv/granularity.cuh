// Which values of a key-value cache share a scale.
#pragma once

namespace heddle {

// kToken: of all heads of a token; kHead: of one head of a token; kGroup: of a part of these;
// kChannel: one element of a head in a block of tokens. Of kTensor and kNone no scales are stored.
enum class KvGranularity { kNone, kTensor, kToken, kHead, kGroup, kChannel };

}  // namespace heddle
