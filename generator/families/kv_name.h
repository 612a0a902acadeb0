// What kernels on a key-value cache are called after.
#ifndef HEDDLE_GENERATOR_FAMILIES_KV_NAME_H_
#define HEDDLE_GENERATOR_FAMILIES_KV_NAME_H_

#include <string>

#include "heddle/kv_spec.h"

namespace heddle {

// How K and V are stored: "int8_head", "int4z_g32_int8_token" where they differ.
std::string kv_name(const KvSpec& kv);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_KV_NAME_H_
