// What a command says of a model beside its kernels.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_MODEL_REMARKS_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_MODEL_REMARKS_H_

#include "heddle/model.h"

namespace heddle {

// What a user should know of the model, one line each: notes, what was assumed, and what no kernel
// can serve. Where there is no table to end with them.
void print_remarks(const Model& model);
void print_unserved(const Model& model);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_MODEL_REMARKS_H_
