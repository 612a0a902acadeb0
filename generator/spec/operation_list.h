// The operations, in the order of Op, each with the families that it is chosen from, in the order
// in which the planner asks them (FAMILY), and those whose kernels run before the chosen one
// (BEFORE). A line here adds one: its folder in generator/operations defines <name>_operation(),
// that of a family in generator/families <name>_family(). byte_stream is in the folder stream; the
// three operations on weights are in weight_ops.
#ifndef HEDDLE_GENERATOR_SPEC_OPERATION_LIST_H_
#define HEDDLE_GENERATOR_SPEC_OPERATION_LIST_H_

// clang-format off
#define HEDDLE_OPERATIONS(OPERATION, FAMILY, BEFORE)                                                \
  OPERATION(gemm)                                                                                   \
    FAMILY(tiles) FAMILY(stream) FAMILY(warpgroup) FAMILY(byte_tiles) FAMILY(gemv)                  \
    FAMILY(byte_stream) BEFORE(gather)                                                              \
  OPERATION(dequantize) FAMILY(dequantize)                                                          \
  OPERATION(repack) FAMILY(repack)                                                                  \
  OPERATION(quantize_weight) FAMILY(quantize_weight)                                                \
  OPERATION(kv_append) FAMILY(kv_append)                                                            \
  OPERATION(decode_attention) FAMILY(decode_attention)                                              \
  OPERATION(row_transform) FAMILY(row_transform)                                                    \
  OPERATION(moe) FAMILY(experts) FAMILY(warpgroup_experts) FAMILY(few_experts) FAMILY(stream_experts)
// clang-format on

#endif  // HEDDLE_GENERATOR_SPEC_OPERATION_LIST_H_
