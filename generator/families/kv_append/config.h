// From a spec of kv_append to the configuration of its kernel.
#ifndef HEDDLE_GENERATOR_FAMILIES_KV_APPEND_CONFIG_H_
#define HEDDLE_GENERATOR_FAMILIES_KV_APPEND_CONFIG_H_

#include "heddle/kv_spec.h"
#include "heddle/target.h"
#include "kv_append/config.h"

namespace heddle {

// Precondition: check_meaning() and refuse_channels() find nothing.
device::KvAppendConfig kv_append_config(const KvAppendSpec& spec, const Target& target);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_KV_APPEND_CONFIG_H_
