// The families, in the order in which the planner asks them. A line here registers one, whose
// folder defines <name>_family(); byte_stream is in the folder stream.
#ifndef HEDDLE_GENERATOR_FAMILIES_ALL_H_
#define HEDDLE_GENERATOR_FAMILIES_ALL_H_

#define HEDDLE_FAMILIES(FAMILY) \
  FAMILY(tiles)                 \
  FAMILY(stream)                \
  FAMILY(warpgroup)             \
  FAMILY(byte_tiles)            \
  FAMILY(gemv)                  \
  FAMILY(byte_stream)           \
  FAMILY(gather)                \
  FAMILY(dequantize)            \
  FAMILY(repack)                \
  FAMILY(quantize_weight)       \
  FAMILY(kv_append)             \
  FAMILY(decode_attention)      \
  FAMILY(row_transform)

namespace heddle {

class Family;

#define HEDDLE_DECLARE_FAMILY(name) const Family* name##_family();
HEDDLE_FAMILIES(HEDDLE_DECLARE_FAMILY)
#undef HEDDLE_DECLARE_FAMILY

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_ALL_H_
