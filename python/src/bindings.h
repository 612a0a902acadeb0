// The parts of the module, one for each file of this folder. Each adds its classes and functions to
// `m`; those of a class come before those that mention it in a signature.
#ifndef HEDDLE_PYTHON_SRC_BINDINGS_H_
#define HEDDLE_PYTHON_SRC_BINDINGS_H_

#include <nanobind/nanobind.h>

namespace heddle::python {

namespace nb = nanobind;

void bind_errors(nb::module_& m);
void bind_callbacks(nb::module_& m);
void bind_spec(nb::module_& m);
void bind_target(nb::module_& m);
void bind_tuned(nb::module_& m);
void bind_decode(nb::module_& m);
void bind_plan(nb::module_& m);
void bind_source(nb::module_& m);
void bind_weights(nb::module_& m);
void bind_kv_cache(nb::module_& m);
void bind_model(nb::module_& m);
void bind_model_size(nb::module_& m);
void bind_statistics(nb::module_& m);
void bind_checkpoint(nb::module_& m);
void bind_memory(nb::module_& m);
void bind_kernels(nb::module_& m);
void bind_gemm(nb::module_& m);
void bind_weight_kernels(nb::module_& m);
void bind_row_transform(nb::module_& m);
void bind_cache_kernels(nb::module_& m);
void bind_moe(nb::module_& m);
void bind_runtime(nb::module_& m);
void bind_bundle(nb::module_& m);
void bind_uploader(nb::module_& m);

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_BINDINGS_H_
