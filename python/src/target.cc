#include "heddle/target.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>

#include "bindings.h"
#include "heddle/tuned.h"
#include "record.h"
#include "target_argument.h"

namespace heddle::python {
namespace {

// All members of a Target, in their order.
using Facts = std::tuple<std::string, int, int, int, int, int, int, int, std::int64_t, double,
                         double, double, double>;

Target made_of(const Facts& facts) {
  return std::apply([](const auto&... values) { return Target{values...}; }, facts);
}

}  // namespace

Target target_argument(nb::handle value) {
  if (const Target* target = nullptr; nb::try_cast(value, target) && target != nullptr) {
    return *target;
  }
  if (nb::isinstance<nb::str>(value)) return target_from_name(nb::cast<std::string>(value));
  throw nb::type_error("a target is a heddle.Target or the name of one");
}

void bind_target(nb::module_& m) {
  Record<Target> target(m, "Target",
                        "The GPU that code is made for: by name, or Runtime.device_target().");
  target.field("name", &Target::name, "\"h200\", \"sm_90\" ...")
      .field("major", &Target::major, "Compute capability.")
      .field("minor", &Target::minor, "Compute capability.")
      .field("sm_count", &Target::sm_count, "Streaming multiprocessors.")
      .field("shared_per_block", &Target::shared_per_block, "Bytes that one block may have.")
      .field("shared_per_sm", &Target::shared_per_sm, "Bytes.")
      .field("registers_per_sm", &Target::registers_per_sm, "32-bit registers.")
      .field("threads_per_sm", &Target::threads_per_sm, "Resident threads.")
      .field("l2_bytes", &Target::l2_bytes, "Bytes of L2 cache.")
      .field("memory_gb_per_s", &Target::memory_gb_per_s, "Data sheet, GB/s.")
      .field("sm_mhz", &Target::sm_mhz, "Boost clock, MHz.")
      .field("tensor_tflops", &Target::tensor_tflops,
             "Best that was measured of a 16-bit GEMM; 0: not known.")
      .field("launch_us", &Target::launch_us,
             "Microseconds of a launch inside a graph; 0: not known.")
      .hidden("arch", &Target::arch, "10 * major + minor.")
      .hidden(
          "compiler_arch", [](const Target& self) { return compiler_arch(self); },
          "What NVRTC is given: \"sm_80\", \"sm_90a\".")
      .hidden(
          "tuned_gpu", [](const Target& self) { return tuned_gpu(self); },
          "The name that tuned tables have for the GPU.");
  target.type()
      .def(
          "__init__",
          [](Target* self, const std::string& name) { new (self) Target(target_from_name(name)); },
          nb::arg("name"), "One of Target.known(), by name. Raises UsageError that lists them.")
      .def_static("known", &known_targets, "Every named target: devices first, then architectures.")
      .def("__getstate__",
           [](const Target& self) {
             return std::tuple(self.name, self.major, self.minor, self.sm_count,
                               self.shared_per_block, self.shared_per_sm, self.registers_per_sm,
                               self.threads_per_sm, self.l2_bytes, self.memory_gb_per_s,
                               self.sm_mhz, self.tensor_tflops, self.launch_us);
           })
      .def("__setstate__",
           [](Target* self, const Facts& facts) { new (self) Target(made_of(facts)); })
      .def_static(
          "from_facts",
          [](std::string name, int major, int minor, int sm_count, int shared_per_block,
             int shared_per_sm, int registers_per_sm, int threads_per_sm, std::int64_t l2_bytes,
             double memory_gb_per_s, double sm_mhz, double tensor_tflops, double launch_us) {
            return made_of({std::move(name), major, minor, sm_count, shared_per_block,
                            shared_per_sm, registers_per_sm, threads_per_sm, l2_bytes,
                            memory_gb_per_s, sm_mhz, tensor_tflops, launch_us});
          },
          nb::arg("name"), nb::arg("major"), nb::arg("minor"), nb::arg("sm_count"),
          nb::arg("shared_per_block"), nb::arg("shared_per_sm"), nb::arg("registers_per_sm"),
          nb::arg("threads_per_sm"), nb::arg("l2_bytes"), nb::arg("memory_gb_per_s"),
          nb::arg("sm_mhz"), nb::arg("tensor_tflops") = 0.0, nb::arg("launch_us") = 0.0,
          "A GPU that no table names. resolve() refuses facts that no GPU has.");
}

}  // namespace heddle::python
