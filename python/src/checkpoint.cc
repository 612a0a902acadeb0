#include "heddle/checkpoint.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "bindings.h"
#include "callbacks.h"
#include "host_array.h"
#include "path_argument.h"
#include "record.h"

namespace heddle::python {
namespace {

CheckpointOptions options_of(nb::handle config, bool fuse, std::vector<std::string> keep,
                             std::vector<std::string> skip, std::int64_t rank, std::int64_t size,
                             bool engine_rotates, bool gated, bool dense, int lm_head_bits,
                             int activation_bits, int arch) {
  CheckpointOptions options;
  if (!config.is_none()) options.config = path_argument(config);
  options.fuse = fuse;
  options.choice = {std::move(keep), std::move(skip)};
  options.parallel = {rank, size};
  options.engine_rotates = engine_rotates;
  options.gated = gated;
  options.dense = dense;
  options.lm_head_bits = lm_head_bits;
  options.activation_bits = activation_bits;
  options.arch = arch;
  return options;
}

// Packs or reads into `out`, or into a new array of uint8 where that is None.
template <class Read>
nb::object fill(nb::handle out, std::size_t bytes, const Read& read) {
  if (!out.is_none()) {
    const HostMemory memory = writable_memory(out, "out");
    const nb::gil_scoped_release release;
    read(memory.data, memory.bytes);
    return nb::borrow(out);
  }
  std::uint8_t* data = nullptr;
  nb::object array = new_numpy_bytes(bytes, &data);
  const nb::gil_scoped_release release;
  read(data, bytes);
  return array;
}

nb::object pack_layer(const CheckpointReader& reader, const CheckpointLayer& layer,
                      nb::handle out) {
  return fill(out, layer.packed.bytes,
              [&](void* to, std::size_t bytes) { reader.pack(layer, to, bytes); });
}

nb::object read_tensor(const CheckpointReader& reader, const CheckpointTensor& tensor,
                       nb::handle out) {
  return fill(out, tensor.bytes,
              [&](void* to, std::size_t bytes) { reader.read(tensor, to, bytes); });
}

// Calls work(layer) for each layer on several threads.
void for_each_layer(nb::handle self, nb::handle work, nb::handle progress, int jobs) {
  const auto& reader = nb::cast<const CheckpointReader&>(self);
  RaisedError raised;
  const auto call = [&](const CheckpointLayer& layer) {
    const PythonCall python;
    if (!python.ok()) return;
    try {
      work(nb::cast(layer, nb::rv_policy::reference_internal, self));
    } catch (...) {
      raised.keep();
      throw;
    }
  };
  const auto tell = [&](const CheckpointProgress& done) {
    const PythonCall python;
    if (!python.ok()) return false;
    try {
      const nb::object answer = progress(
          nb::cast(done.layer, nb::rv_policy::reference_internal, self), done.done, done.total);
      return !answer.is(nb::handle(Py_False));
    } catch (...) {
      raised.keep();
      return false;
    }
  };
  const std::function<bool(const CheckpointProgress&)> told =
      progress.is_none() ? std::function<bool(const CheckpointProgress&)>() : tell;
  without_gil(&raised, [&] { reader.for_each_layer(call, told, jobs); });
}

void bind_checkpoint_parts(nb::module_& m) {
  Record<CheckpointTensor>(m, "CheckpointTensor", "A tensor as it is packed or copied.")
      .field("name", &CheckpointTensor::name, "As `heddle repack` writes it.")
      .word("type", &CheckpointTensor::type, "As safetensors call it: \"U8\", \"BF16\" ...")
      .field("shape", &CheckpointTensor::shape, "Row-major.")
      .field("bytes", &CheckpointTensor::bytes, "Of all elements.");
  Record<CheckpointPart>(m, "CheckpointPart", "A module whose rows a layer has.")
      .field("name", &CheckpointPart::name, "\"model.layers.0.self_attn.q_proj\".")
      .field("rows", &CheckpointPart::rows, "Of one matrix.");
  Record<CheckpointLayer>(m, "CheckpointLayer", "One layer as a kernel takes it.")
      .field("name", &CheckpointLayer::name, "\"model.layers.0.self_attn.qkv_proj\".")
      .field("spec", &CheckpointLayer::spec, "A gemm, of one matrix.")
      .field("parts", &CheckpointLayer::parts, "In the order of their rows.")
      .field("matrices", &CheckpointLayer::matrices, "Experts; else 1.")
      .field("packed", &CheckpointLayer::packed,
             "U8 [bytes], of experts [matrices, bytes]: the argument `weights`.")
      .field("layout_version", &CheckpointLayer::layout_version,
             "What whoever stores the bytes stores with them.")
      .field("permutation", &CheckpointLayer::permutation,
             "I32 [K], of experts [matrices, K], with act_order.")
      .field("bias", &CheckpointLayer::bias, "[N], with epilogue.bias, in the checkpoint's type.")
      .field("pre_scale", &CheckpointLayer::pre_scale,
             "[K], with activation.pre_scale, in the checkpoint's type.")
      .field("input_scale", &CheckpointLayer::input_scale,
             "F32 [1], where the scale of 8-bit activations is static.")
      .field("source_bytes", &CheckpointLayer::source_bytes,
             "Of the tensors that it is packed from.");
  Record<CheckpointExperts>(m, "CheckpointExperts",
                            "The experts of a decoder layer, as a kernel of a moe takes them.")
      .field("name", &CheckpointExperts::name, "\"model.layers.0.mlp.experts\".")
      .field("spec", &CheckpointExperts::spec, "A moe.")
      .field("gate_up", &CheckpointExperts::gate_up,
             "The layer whose packed weights, bias and permutation are gate_up, gate_up_bias and "
             "permutation.")
      .field("down", &CheckpointExperts::down, "The layer of down and down_bias.");
  Record<UnservedLayer>(m, "UnservedLayer", "A layer that was read, but that no kernel takes.")
      .field("name", &UnservedLayer::name, "Its module.")
      .field("reason", &UnservedLayer::reason, "Why.")
      .field("n", &UnservedLayer::n, "Rows; 0 where it is no matrix.")
      .field("k", &UnservedLayer::k, "Columns.")
      .field("tensors", &UnservedLayer::tensors, "Their names.");
}

}  // namespace

void bind_checkpoint(nb::module_& m) {
  bind_checkpoint_parts(m);
  nb::class_<CheckpointReader>(
      m, "CheckpointReader",
      "An opened checkpoint; docs/checkpoints.md says which are read. Immutable; any thread may "
      "use it. The files stay open as long as it lives.")
      .def(
          "__init__",
          [](CheckpointReader* self, nb::handle path, nb::handle config, bool fuse,
             std::vector<std::string> keep, std::vector<std::string> skip, std::int64_t rank,
             std::int64_t size, bool engine_rotates, bool gated, bool dense, int lm_head_bits,
             int activation_bits, int arch) {
            const std::string folder = path_argument(path);
            const CheckpointOptions options =
                options_of(config, fuse, std::move(keep), std::move(skip), rank, size,
                           engine_rotates, gated, dense, lm_head_bits, activation_bits, arch);
            const nb::gil_scoped_release release;
            new (self) CheckpointReader(folder, options);
          },
          nb::arg("path"), nb::kw_only(), nb::arg("config") = nb::none(), nb::arg("fuse") = true,
          nb::arg("keep") = nb::list(), nb::arg("skip") = nb::list(), nb::arg("rank") = 0,
          nb::arg("size") = 1, nb::arg("engine_rotates") = false, nb::arg("gated") = false,
          nb::arg("dense") = false, nb::arg("lm_head_bits") = 0, nb::arg("activation_bits") = 0,
          nb::arg("arch") = 0,
          nb::sig("def __init__(self, path: str | os.PathLike[str], *, config: str | "
                  "os.PathLike[str] | None = None, fuse: bool = True, keep: "
                  "collections.abc.Sequence[str] = [], "
                  "skip: collections.abc.Sequence[str] = [], rank: int = 0, size: int = 1, "
                  "engine_rotates: bool = "
                  "False, gated: bool = False, dense: bool = False, lm_head_bits: int = 0, "
                  "activation_bits: int = 0, arch: int = 0) -> None"),
          "Reads headers only. path: a folder, a .safetensors file or an index. config: of the "
          "model, if it is not beside the tensors. fuse: q, k and v as qkv_proj, gate and up as "
          "gate_up_proj. keep, skip: shell patterns of tensors that are copied, or left out. rank, "
          "size: of tensor parallelism. gated, dense, lm_head_bits, activation_bits, arch, "
          "engine_rotates: as of Model.from_config(). Raises FileError, SpecError, "
          "UnsupportedError, UsageError.")
      .def_prop_ro("layers", &CheckpointReader::layers, nb::rv_policy::reference_internal,
                   "Ascending by name.")
      .def_prop_ro("tensors", &CheckpointReader::tensors, nb::rv_policy::reference_internal,
                   "All that is neither skipped nor part of a layer; ascending by name.")
      .def_prop_ro("experts", &CheckpointReader::experts, nb::rv_policy::reference_internal,
                   "The layers of experts, each of which has two of the layers; ascending by name.")
      .def_prop_ro("unserved", &CheckpointReader::unserved, nb::rv_policy::reference_internal,
                   "Layers that no kernel takes.")
      .def_prop_ro("notes", &CheckpointReader::notes, "What a user should know.")
      .def("layer", &CheckpointReader::layer, nb::rv_policy::reference_internal, nb::arg("name"),
           "The layer of this name. Raises UsageError, with the reason if it is unserved.")
      .def("tensor", &CheckpointReader::tensor, nb::rv_policy::reference_internal, nb::arg("name"),
           "The tensor of this name. Raises UsageError.")
      .def("pack", &pack_layer, nb::arg("layer"), nb::arg("out") = nb::none(),
           nb::sig("def pack(self, layer: CheckpointLayer, out: object = None) -> typing.Any"),
           "The packed weights of a layer: a new array [bytes] uint8, or `out`, contiguous memory "
           "of the host with at least so many bytes. Raises UsageError, FileError.")
      .def("read", &read_tensor, nb::arg("tensor"), nb::arg("out") = nb::none(),
           nb::sig("def read(self, tensor: CheckpointTensor, out: object = None) -> typing.Any"),
           "The bytes of any tensor, as pack() gives them.")
      .def("for_each_layer", &for_each_layer, nb::arg("work"), nb::arg("progress") = nb::none(),
           nb::arg("jobs") = 0,
           nb::sig("def for_each_layer(self, work: collections.abc.Callable[[CheckpointLayer], "
                   "object], progress: "
                   "collections.abc.Callable[[CheckpointLayer, int, int], object] | None = None, "
                   "jobs: int = 0) -> "
                   "None"),
           "Calls work(layer) for each layer, `jobs` of them at a time (0: one per core, 8 at "
           "most), and progress(layer, done, total) after each. The first exception, or progress "
           "that returns False, which raises CancelledError, begins no further layer.");
}

}  // namespace heddle::python
