#include "heddle/weights.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <string>
#include <utility>

#include "bindings.h"
#include "errors.h"
#include "heddle/operations.h"
#include "host_array.h"
#include "record.h"
#include "spec_argument.h"

namespace heddle::python {
namespace {

const GemmSpec& gemm_of(const Spec& spec) {
  if (const auto* gemm = spec.get_if<GemmSpec>()) return *gemm;
  refuse("weights.operation", "the spec is of another operation", std::string(to_string(spec.op())),
         spec.op() == Op::kMoe ? "gemm, such as moe_gemms() gives" : "gemm");
}

// What quantize() makes of a gemm's spec is what its weights are to be, of W in X's type; where X
// has eight bits, in that of `w`. Codes are in no order before they are packed.
WeightOpSpec weight_op_of(const Spec& spec, nb::handle w) {
  if (spec.op() == QuantizeWeightKernel::kOp) return spec.weight_op();
  const GemmSpec& gemm = gemm_of(spec);
  WeightOpSpec op;
  op.shape = {gemm.shape.n, gemm.shape.k};
  op.weight = gemm.weight;
  op.dtype = gemm.activation;
  if (gemm.has_byte_activations()) {
    op.dtype = has_elements(w, Element::kFp16) ? DType::kFp16 : DType::kBf16;
    if (op.weight.interleave == Interleave::kByteFragment) {
      op.weight.interleave = Interleave::kFragment;
    }
  }
  op.gated = gemm.epilogue.gated;
  return op;
}

// What the arrays of QuantizedWeights look like.
struct Shapes {
  MatrixShape shape;
  WeightSpec weight;

  Element codes() const {
    if (weight.has_scales()) return Element::kByte;
    return weight.type == WeightType::kBf16 ? Element::kBf16 : Element::kFp16;
  }
  Element scales() const { return element_of(weight.scale_dtype); }
  Element channel_scales() const { return element_of(*weight.channel_scale); }
  Element zeros() const {
    return weight.zero_point == ZeroPoint::kFloat ? scales() : Element::kByte;
  }
  bool has_zeros() const { return weight.has_scales() && weight.zero_point != ZeroPoint::kNone; }
  std::int64_t scale_rows() const {
    return weight.group_size == kPerTensor ? 1 : (shape.n - 1) / weight.group_rows + 1;
  }
  std::int64_t groups() const { return groups_along_k(weight, shape.k); }
};

void check_none(nb::handle value, const char* name) {
  if (value.is_none()) return;
  refuse("weights.unexpected", std::string(name) + " is given, but the spec has none");
}

// A byte whose upper bits say something else than its code would become another code. Of signed
// codes they may be the sign.
void check_codes(const std::vector<std::uint8_t>& codes, const WeightSpec& weight,
                 const char* name) {
  if (weight.bits == 8) return;
  const unsigned end = 1U << weight.bits;
  const unsigned negative = weight.type == WeightType::kInt ? 256 - end / 2 : 256;
  for (const unsigned code : codes) {
    if (code < end || code >= negative) continue;
    refuse("weights.range",
           std::string(name) + " has a byte that is no code of " + std::to_string(weight.bits) +
               " bits",
           std::to_string(code), "0 to " + std::to_string(end - 1));
  }
}

QuantizedWeights take_weights(const Shapes& shapes, nb::handle codes, nb::handle scales,
                              nb::handle zeros, float tensor_scale, nb::handle channel_scales) {
  const std::vector<std::int64_t> meta = {shapes.scale_rows(), shapes.groups()};
  QuantizedWeights weights;
  weights.codes = host_bytes(codes, "codes", shapes.codes(), {shapes.shape.n, shapes.shape.k});
  if (shapes.weight.has_scales()) {
    check_codes(weights.codes, shapes.weight, "codes");
    weights.scales = host_bytes(scales, "scales", shapes.scales(), meta);
  } else {
    check_none(scales, "scales");
  }
  if (shapes.has_zeros()) {
    weights.zeros = host_bytes(zeros, "zeros", shapes.zeros(), meta);
    if (shapes.zeros() == Element::kByte) check_codes(weights.zeros, shapes.weight, "zeros");
  } else {
    check_none(zeros, "zeros");
  }
  if (tensor_scale != 1.0F && !shapes.weight.tensor_scale) {
    refuse("weights.unexpected", "tensor_scale is given, but the spec has no weight.tensor_scale");
  }
  weights.tensor_scale = tensor_scale;
  if (shapes.weight.has_two_levels()) {
    weights.channel_scales =
        host_bytes(channel_scales, "channel_scales", shapes.channel_scales(), {shapes.shape.n});
  } else {
    check_none(channel_scales, "channel_scales");
  }
  return weights;
}

nb::object to_python(const Shapes& shapes, QuantizedWeights weights) {
  const std::vector<std::size_t> meta = {static_cast<std::size_t>(shapes.scale_rows()),
                                         static_cast<std::size_t>(shapes.groups())};
  const nb::object type = nb::module_::import_("heddle._weights").attr("QuantizedWeights");
  nb::object scales = nb::none();
  nb::object zeros = nb::none();
  if (shapes.weight.has_scales()) {
    scales = numpy_array(std::move(weights.scales), shapes.scales(), meta);
  }
  if (shapes.has_zeros()) zeros = numpy_array(std::move(weights.zeros), shapes.zeros(), meta);
  nb::object channel_scales = nb::none();
  if (shapes.weight.has_two_levels()) {
    channel_scales = numpy_array(std::move(weights.channel_scales), shapes.channel_scales(),
                                 {static_cast<std::size_t>(shapes.shape.n)});
  }
  return type(numpy_array(std::move(weights.codes), shapes.codes(),
                          {static_cast<std::size_t>(shapes.shape.n),
                           static_cast<std::size_t>(shapes.shape.k)}),
              scales, zeros, weights.tensor_scale, channel_scales);
}

nb::object pack(nb::handle spec_value, nb::handle codes, nb::handle scales, nb::handle zeros,
                float tensor_scale, nb::handle channel_scales) {
  const Spec spec = spec_argument(spec_value);
  const GemmSpec& gemm = gemm_of(spec);
  const QuantizedWeights weights = take_weights({{gemm.shape.n, gemm.shape.k}, gemm.weight}, codes,
                                                scales, zeros, tensor_scale, channel_scales);
  std::vector<std::uint8_t> packed;
  {
    const nb::gil_scoped_release release;
    packed = pack_weights(gemm, weights);
  }
  const std::size_t bytes = packed.size();
  return numpy_array(std::move(packed), Element::kByte, {bytes});
}

nb::object unpack(nb::handle spec_value, nb::handle packed) {
  const Spec spec = spec_argument(spec_value);
  const GemmSpec& gemm = gemm_of(spec);
  const auto total = static_cast<std::int64_t>(weight_layout(gemm).total_bytes);
  const std::vector<std::uint8_t> bytes = host_bytes(packed, "packed", Element::kByte, {total});
  QuantizedWeights weights;
  {
    const nb::gil_scoped_release release;
    weights = unpack_weights(gemm, bytes.data(), bytes.size());
  }
  return to_python({{gemm.shape.n, gemm.shape.k}, gemm.weight}, std::move(weights));
}

nb::object quantize(nb::handle spec_value, nb::handle w) {
  const WeightOpSpec spec = weight_op_of(spec_argument(spec_value), w);
  const std::vector<std::uint8_t> bytes =
      host_bytes(w, "w", element_of(spec.dtype), {spec.shape.n, spec.shape.k});
  QuantizedWeights weights;
  {
    const nb::gil_scoped_release release;
    std::vector<std::uint16_t> values(bytes.size() / sizeof(std::uint16_t));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    weights = quantize_weights(spec, values);
  }
  return to_python({spec.shape, spec.weight}, std::move(weights));
}

void bind_layout(nb::module_& m) {
  Record<WeightLayout>(m, "WeightLayout", "Where everything lies in packed weights.")
      .field("row_blocks", &WeightLayout::row_blocks, "Blocks of 16 rows.")
      .field("chunks_per_row_block", &WeightLayout::chunks_per_row_block, "Of 128 columns.")
      .field("meta_group", &WeightLayout::meta_group, "Columns of an entry of scales.")
      .field("groups_per_chunk", &WeightLayout::groups_per_chunk, "Such entries in a chunk.")
      .field("entry_offset", &WeightLayout::entry_offset,
             "Columns before the chunk that its first entry begins.")
      .field("chunk_bytes", &WeightLayout::chunk_bytes, "A multiple of 16.")
      .field("scale_offset", &WeightLayout::scale_offset, "Inside a chunk.")
      .field("scale_bytes", &WeightLayout::scale_bytes, "Of one entry: 16 scales.")
      .field("zero_offset", &WeightLayout::zero_offset, "Inside a chunk.")
      .field("zero_bytes", &WeightLayout::zero_bytes, "Of one entry; 0 if there are none.")
      .field("channel_offset", &WeightLayout::channel_offset, "Of metadata per channel.")
      .field("channel_bytes", &WeightLayout::channel_bytes,
             "Of one row block; 0 with scales of groups alone.")
      .field("channel_zero_offset", &WeightLayout::channel_zero_offset,
             "Inside the row block's metadata.")
      .field("channel_sum_offset", &WeightLayout::channel_sum_offset,
             "The same: int32 sums of the rows' codes; 0 if there are none.")
      .field("block_bytes", &WeightLayout::block_bytes,
             "The FP32 scales of blocks, for 64 rows and a chunk; 0 if there are none.")
      .field("tensor_offset", &WeightLayout::tensor_offset, "Of the FP32 tensor scale.")
      .field("total_bytes", &WeightLayout::total_bytes, "Of all.");
  m.def(
      "weight_layout",
      [](nb::handle spec) {
        const Spec of = spec_argument(spec);
        if (!of.has_weight()) gemm_of(of);
        return weight_layout(of.weight_shape(), of.weight());
      },
      nb::arg("spec"),
      nb::sig("def weight_layout(spec: Spec | dict[str, typing.Any] | str) -> "
              "WeightLayout"),
      "The bytes of a spec's packed weights; docs/layouts.md describes them.");
  m.attr("LAYOUT_VERSION") = kLayoutVersion;
  m.def(
      "layout_version",
      [](nb::handle spec) {
        const Spec of = spec_argument(spec);
        if (!of.has_weight()) gemm_of(of);
        return kLayoutVersion;
      },
      nb::arg("spec"),
      nb::sig("def layout_version(spec: Spec | dict[str, typing.Any] | str) -> int"),
      "The version since which such weights have the bytes that they have now: store it with "
      "packed weights.");
  m.def(
      "check_packed_weights",
      [](nb::handle kernel, nb::handle packed, int version) {
        const Spec of = spec_argument(packed);
        if (!of.has_weight()) gemm_of(of);
        check_layout_version(of.weight(), version);
        check_packed_weights(spec_argument(kernel), of);
      },
      nb::arg("kernel"), nb::arg("packed"), nb::arg("version"),
      nb::sig("def check_packed_weights(kernel: Spec | dict[str, typing.Any] | str, packed: Spec | "
              "dict[str, typing.Any] | str, version: int) -> None"),
      "Raises UsageError unless a kernel of the spec `kernel` reads weights that were packed for "
      "the spec `packed`, in a layout of `version`.");
}

}  // namespace

void bind_weights(nb::module_& m) {
  bind_layout(m);
  m.def("pack_weights", &pack, nb::arg("spec"), nb::arg("codes"), nb::arg("scales") = nb::none(),
        nb::arg("zeros") = nb::none(), nb::arg("tensor_scale") = 1.0F,
        nb::arg("channel_scales") = nb::none(),
        nb::sig("def pack_weights(spec: Spec | dict[str, typing.Any] | str, codes: object, scales: "
                "object "
                "= None, zeros: object = None, tensor_scale: float = 1.0, channel_scales: object = "
                "None) -> "
                "numpy.typing.NDArray[numpy.uint8]"),
        "Weights in the layout that kernels of a gemm's spec read: [bytes] uint8. The arrays are "
        "those of QuantizedWeights, rows in the checkpoint's order. Raises UsageError that names "
        "the array.");
  m.def("unpack_weights", &unpack, nb::arg("spec"), nb::arg("packed"),
        nb::sig("def unpack_weights(spec: Spec | dict[str, typing.Any] | str, packed: object) -> "
                "heddle._weights.QuantizedWeights"),
        "The inverse of pack_weights().");
  m.def("quantize", &quantize, nb::arg("spec"), nb::arg("w"),
        nb::sig("def quantize(spec: Spec | dict[str, typing.Any] | str, w: object) -> "
                "heddle._weights.QuantizedWeights"),
        "W to the nearest codes, on the host, with the bits that \"op\": \"quantize_weight\" "
        "writes. w: [N, K] of the spec's 16-bit type, of a gemm's spec activation.dtype; with "
        "activations of 8 bits float16, or bfloat16 as uint16.");
}

}  // namespace heddle::python
