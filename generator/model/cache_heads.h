// What kv_append does to heads of queries and keys of a model: their norm and scaled rotations.
#ifndef HEDDLE_GENERATOR_MODEL_CACHE_HEADS_H_
#define HEDDLE_GENERATOR_MODEL_CACHE_HEADS_H_

#include <optional>
#include <string>
#include <string_view>

#include "generator/model/config_values.h"
#include "generator/model/family.h"
#include "generator/model/model_block.h"
#include "heddle/kv_spec.h"

namespace heddle {

// Nothing where a spec has no such scaling, or the config lacks a number of it or has one that no
// spec takes; `faults` then says which, and is empty where no spec has the type.
std::optional<RopeScaling> scaling_of(const ModelRope& rope, std::string* faults);

// The norm of the family's layers of this mixer, for what `attention` has; without an epsilon where
// kv_append does not do it.
HeadNorm head_norm_of(const FamilyRow& family, std::string_view mixer,
                      const ModelAttention& attention, ConfigValues& values);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_CACHE_HEADS_H_
