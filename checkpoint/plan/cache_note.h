// What a user should know of a checkpoint's scales for a key-value cache.
#ifndef HEDDLE_CHECKPOINT_PLAN_CACHE_NOTE_H_
#define HEDDLE_CHECKPOINT_PLAN_CACHE_NOTE_H_

#include <string>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"

namespace heddle {

// The notes of the config's quantisation, ahead of them one on scales for a cache where the config
// or the tensors have such. The tensors tell how many there are, the config of which codes.
std::vector<std::string> notes_of_config(const Checkpoint& checkpoint,
                                         const CheckpointConfig& config);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_CACHE_NOTE_H_
