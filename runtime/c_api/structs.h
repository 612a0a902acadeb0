// Structs of the C API that may grow: how those of another version of the header are read and
// written. include/heddle/c/base.h has the rules.
#ifndef HEDDLE_RUNTIME_C_API_STRUCTS_H_
#define HEDDLE_RUNTIME_C_API_STRUCTS_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "heddle/c/checkpoint.h"
#include "heddle/heddle.h"
#include "runtime/c_api/call.h"

namespace heddle::c_api {

// sizeof of the first version of a struct, given the end of that version's last field. A field that
// is added later must begin at or after the sizeof of the version before, that is, not in its
// padding, whose bytes older callers leave undefined.
template <typename Struct>
constexpr std::size_t size_with_padding(std::size_t end_of_last_field) {
  return (end_of_last_field + alignof(Struct) - 1) / alignof(Struct) * alignof(Struct);
}

// The smallest size that is accepted: that of the struct's first version. Stays as it is when
// fields are added. Structs that lie in others, as heddle_kv_cache does, cannot grow.
template <typename Struct>
inline constexpr std::size_t kFirstSize = 0;

#define HEDDLE_FIRST_SIZE(Struct, last_field)                                               \
  template <>                                                                               \
  inline constexpr std::size_t kFirstSize<Struct> =                                         \
      size_with_padding<Struct>(offsetof(Struct, last_field) + sizeof(Struct::last_field)); \
  static_assert(kFirstSize<Struct> <= sizeof(Struct) && sizeof(Struct) <= HEDDLE_MAX_STRUCT_SIZE)

HEDDLE_FIRST_SIZE(heddle_runtime_options, log_user);
HEDDLE_FIRST_SIZE(heddle_gemm_args, workspace);
HEDDLE_FIRST_SIZE(heddle_kv_append_args, cache);
HEDDLE_FIRST_SIZE(heddle_decode_attention_args, workspace);
HEDDLE_FIRST_SIZE(heddle_row_transform_args, bias);
HEDDLE_FIRST_SIZE(heddle_quantized_weights, tensor_scale);
HEDDLE_FIRST_SIZE(heddle_error_info, reserved);
HEDDLE_FIRST_SIZE(heddle_error_problem_info, hint);

HEDDLE_FIRST_SIZE(heddle_spec_info, canonical);
HEDDLE_FIRST_SIZE(heddle_target_info, launch_us);
HEDDLE_FIRST_SIZE(heddle_tuned_table_info, cost_count);
HEDDLE_FIRST_SIZE(heddle_tuned_entry_info, reserved);
HEDDLE_FIRST_SIZE(heddle_tuned_family_info, cost_version);
HEDDLE_FIRST_SIZE(heddle_plan_info, packed_bytes);
HEDDLE_FIRST_SIZE(heddle_plan_kernel_info, starts_early);
HEDDLE_FIRST_SIZE(heddle_launch_size, reserved);
HEDDLE_FIRST_SIZE(heddle_plan_launch_info, gathered_offset);
HEDDLE_FIRST_SIZE(heddle_plan_argument_info, bytes);
HEDDLE_FIRST_SIZE(heddle_decode_request, reserved);
HEDDLE_FIRST_SIZE(heddle_decode_plan_info, reserved);
HEDDLE_FIRST_SIZE(heddle_kv_tensor_info, block_scale_bytes);
HEDDLE_FIRST_SIZE(heddle_weight_layout_info, channel_zero_offset);
HEDDLE_FIRST_SIZE(heddle_tuned_costs_info, reserved);
HEDDLE_FIRST_SIZE(heddle_checkpoint_unserved_info, tensor_count);
HEDDLE_FIRST_SIZE(heddle_source_info, dynamic_shared_bytes);
HEDDLE_FIRST_SIZE(heddle_build_kernel_info, dynamic_shared_bytes);
HEDDLE_FIRST_SIZE(heddle_compiler_info, arch_count);
HEDDLE_FIRST_SIZE(heddle_preparation_info, reserved);
HEDDLE_FIRST_SIZE(heddle_model_texts, engine_rotates);
HEDDLE_FIRST_SIZE(heddle_model_info, assumption_count);
HEDDLE_FIRST_SIZE(heddle_model_kernel_info, layers);
HEDDLE_FIRST_SIZE(heddle_model_unserved_info, layers);
HEDDLE_FIRST_SIZE(heddle_model_layer_info, reserved);
HEDDLE_FIRST_SIZE(heddle_model_part_info, n);
HEDDLE_FIRST_SIZE(heddle_checkpoint_options, engine_rotates);
HEDDLE_FIRST_SIZE(heddle_checkpoint_layer_info, pre_scale);

#undef HEDDLE_FIRST_SIZE

// Throws Error(kUsage, "api.struct_size") for a size that no version of the struct has.
void need_struct_size(std::size_t given, std::size_t first, const char* name);

// Throws the same unless the caller's bytes from `known` to `given` are zero.
void need_zeros(const void* from, std::size_t known, std::size_t given, const char* name);

// The caller's struct as this library's header has it. Fields that the caller's header lacks are
// those of `defaults`.
template <typename Struct>
Struct read_struct(const Struct* from, const char* name, Struct defaults = {}) {
  static_assert(kFirstSize<Struct> > 0, "the struct's first version is not known");
  need(from, name);
  const std::size_t given = from->struct_size;
  need_struct_size(given, kFirstSize<Struct>, name);
  need_zeros(from, sizeof(Struct), given, name);
  std::memcpy(&defaults, from, std::min(given, sizeof(Struct)));
  defaults.struct_size = sizeof(Struct);
  return defaults;
}

// Writes the bytes that the caller's struct has, and no others: `given` of them. What this library
// does not know is zero.
template <typename Struct>
void write_struct(Struct value, std::size_t given, Struct* to, const char* name) {
  static_assert(kFirstSize<Struct> > 0, "the struct's first version is not known");
  need_struct_size(given, kFirstSize<Struct>, name);
  value.struct_size = given;
  auto* bytes = reinterpret_cast<unsigned char*>(to);
  const std::size_t known = std::min(given, sizeof(Struct));
  std::memcpy(bytes, &value, known);
  std::fill(bytes + known, bytes + given, static_cast<unsigned char>(0));
}

// The same for a struct whose size the caller has set.
template <typename Struct>
void write_struct(const Struct& value, Struct* to, const char* name) {
  need(to, name);
  write_struct(value, to->struct_size, to, name);
}

}  // namespace heddle::c_api

#endif  // HEDDLE_RUNTIME_C_API_STRUCTS_H_
