// heddle._heddle: the C++ API for Python. heddle/__init__.py says what of it is public.
#include <nanobind/nanobind.h>

#include "bindings.h"
#include "heddle/version.h"

NB_MODULE(_heddle, m) {
  using namespace heddle::python;
  // What a program keeps in its globals, or torch in a callback, may outlive the module.
  nanobind::set_leak_warnings(false);
  m.doc() = "The C++ API of Heddle; use the package heddle.";
  m.attr("__version__") = HEDDLE_VERSION;
  bind_errors(m);
  bind_callbacks(m);
  bind_spec(m);
  bind_target(m);
  bind_tuned(m);
  bind_decode(m);
  bind_plan(m);
  bind_source(m);
  bind_weights(m);
  bind_kv_cache(m);
  bind_model(m);
  bind_model_size(m);
  bind_statistics(m);
  bind_checkpoint(m);
  bind_memory(m);
  bind_kernels(m);
  bind_gemm(m);
  bind_weight_kernels(m);
  bind_row_transform(m);
  bind_cache_kernels(m);
  bind_moe(m);
  bind_runtime(m);
  bind_bundle(m);
  bind_uploader(m);
}
