// From a spec of row_transform to the configurations of its kernels.
#ifndef HEDDLE_GENERATOR_FAMILIES_ROW_TRANSFORM_CONFIG_H_
#define HEDDLE_GENERATOR_FAMILIES_ROW_TRANSFORM_CONFIG_H_

#include "heddle/row_spec.h"
#include "heddle/target.h"
#include "row_transform/config.h"

namespace heddle {

// For fewer rows than keep the GPU busy: as many threads for each row as it has vectors.
// Precondition of both: check_meaning() finds nothing.
device::RowTransformConfig few_rows_config(const RowTransformSpec& spec, const Target& target);
// For more: as few threads for each row as can have all of it under way.
device::RowTransformConfig many_rows_config(const RowTransformSpec& spec, const Target& target);

// Registers of a thread: for what it holds of rows and weights, for addresses and for factors.
int registers_of(const device::RowTransformConfig& config, const Target& target);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_ROW_TRANSFORM_CONFIG_H_
