// What the process did with kernels.
#include "heddle/statistics.h"

#include <nanobind/stl/map.h>

#include "bindings.h"
#include "record.h"

namespace heddle::python {

void bind_statistics(nb::module_& m) {
  Record<Statistics>(m, "Statistics", "What the process did with kernels since it started.")
      .field("cache_hits", &Statistics::cache_hits, "Kernels that were found.")
      .field("cache_misses", &Statistics::cache_misses, "Kernels that were not.")
      .field("compilations", &Statistics::compilations, "Those that succeeded.")
      .field("compile_seconds", &Statistics::compile_seconds, "Their sum.")
      .field("kernels_loaded", &Statistics::kernels_loaded, "Onto a GPU.")
      .field("launches", &Statistics::launches,
             "Of each kernel that was loaded; a capture into a CUDA graph counts as one.");
  m.def("statistics", &statistics, "Of all runtimes of the process.");
}

}  // namespace heddle::python
