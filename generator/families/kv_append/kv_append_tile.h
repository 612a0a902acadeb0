// How kv_append shares a cache's rows out: what its planner and its renderer both need.
#ifndef HEDDLE_GENERATOR_PLAN_KV_APPEND_TILE_H_
#define HEDDLE_GENERATOR_PLAN_KV_APPEND_TILE_H_

#include "heddle/kv_spec.h"

namespace heddle {

struct KvAppendTile {
  int lanes = 0;   // of a row, 16 elements each: a power of two
  int slots = 0;   // threads that share the heads of a token at the same lane
  int stages = 0;  // rows of a thread that are under way
  int tokens = 0;  // of a block
  int threads = 0;
  int shared_bytes = 0;
  int channel_tokens = 0;  // of K with scales per channel: what a block takes at a time
};

KvAppendTile kv_append_tile(const KvAppendSpec& spec);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLAN_KV_APPEND_TILE_H_
