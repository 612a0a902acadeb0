// The norms of a model's decoder layers, and the activations that no epilogue computes: the
// row_transform specs that stand between its linear layers.
#ifndef HEDDLE_GENERATOR_MODEL_ROW_KERNELS_H_
#define HEDDLE_GENERATOR_MODEL_ROW_KERNELS_H_

#include "generator/model/decoder.h"
#include "heddle/model.h"

namespace heddle {

// Fills Model::rows. Precondition: the model's linear layers and kernels are complete.
void add_row_kernels(const Decoder& decoder, DType dtype, Model* model);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_ROW_KERNELS_H_
