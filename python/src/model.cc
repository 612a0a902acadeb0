#include "heddle/model.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bindings.h"
#include "json_argument.h"
#include "record.h"

namespace heddle::python {
namespace {

// The text of a config: a str, or a dict that becomes one. None: "".
std::string text_argument(nb::handle value) {
  if (value.is_none()) return {};
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (nb::isinstance<nb::dict>(value)) return json_text(value);
  throw nb::type_error("a config is a dict, or a str of JSON");
}

Model from_config(nb::handle config, nb::handle hf_quant_config, nb::handle quantize_config,
                  bool plain_too, bool engine_rotates, bool gated, bool dense, int lm_head_bits,
                  int activation_bits, int arch) {
  const std::string text = text_argument(config);
  const std::string hf_text = text_argument(hf_quant_config);
  const std::string quantize_text = text_argument(quantize_config);
  ModelConfigTexts texts;
  texts.config = text;
  texts.hf_quant_config = hf_text;
  texts.quantize_config = quantize_text;
  texts.plain_too = plain_too;
  texts.engine_rotates = engine_rotates;
  texts.gated = gated;
  texts.dense = dense;
  texts.lm_head_bits = lm_head_bits;
  texts.activation_bits = activation_bits;
  texts.arch = arch;
  const nb::gil_scoped_release release;
  return model_from_config(texts);
}

// `kv` is a spec's kv block, as a dict or JSON, or words such as "int8:head".
Model cache_from_config(nb::handle config, nb::handle kv) {
  const std::string text = text_argument(config);
  std::string block = text_argument(kv);
  if (nb::isinstance<nb::str>(kv) && block.find('{') == std::string::npos) {
    block = kv_block_from_words(block);
  }
  return cache_model_from_config(text, block);
}

void bind_model_parts(nb::module_& m) {
  Record<ModelKernel>(m, "ModelKernel", "One operation of the model that has a kernel.")
      .field("spec", &ModelKernel::spec, "Its name is the operation's: \"qkv_proj\" ...")
      .field("layers", &ModelKernel::layers, "How many layers use it.")
      .field("covers", &ModelKernel::covers, "The checkpoint's own names.")
      .field("routed", &ModelKernel::routed,
             "Of experts whose choice the config says: the spec for launches with the router's "
             "logits.");
  Record<ModelUnserved>(m, "ModelUnserved", "An operation that no kernel can be made for.")
      .field("name", &ModelUnserved::name, "As in the checkpoint.")
      .field("reason", &ModelUnserved::reason, "And what would be needed.")
      .field("layers", &ModelUnserved::layers, "How many layers have it.");
  Record<ModelPart>(m, "ModelPart", "One module of a layer.")
      .field("path", &ModelPart::path, "\"self_attn.q_proj\".")
      .field("n", &ModelPart::n, "Rows.");
  Record<ModelLayer>(m, "ModelLayer", "A layer with weights, of every decoder layer alike.")
      .field("name", &ModelLayer::name, "As engines fuse it: \"qkv_proj\".")
      .word("kind", &ModelLayer::kind, "\"linear\", \"experts\", \"convolution\" ...")
      .field("parts", &ModelLayer::parts, "In the order of their rows.")
      .field("n", &ModelLayer::n, "Rows; 0 where there is no matrix.")
      .field("k", &ModelLayer::k, "Columns; 0 where there is no matrix.")
      .field("matrices", &ModelLayer::matrices, "Experts of a layer.")
      .field("is_down", &ModelLayer::is_down, "Of experts with a kernel: the second product.")
      .field("bias", &ModelLayer::bias, "Whether it has one.")
      .field("layers", &ModelLayer::layers, "The decoder layers that have it.")
      .field("weights", &ModelLayer::weights, "\"uint4, groups of 128\", \"16 bits\".")
      .field("kernel", &ModelLayer::kernel, "Index into Model.kernels; -1: there is none.")
      .field("reason", &ModelLayer::reason, "Why there is none.");
}

}  // namespace

void bind_model(nb::module_& m) {
  bind_model_parts(m);
  Record<Model> model(m, "Model", "The kernels that a model needs, and what is known of it.");
  model.field("model_type", &Model::model_type, "\"llama\", \"qwen2\" ...")
      .field("quant_method", &Model::quant_method, "\"awq\", \"gptq\" ...; may be empty.")
      .field("kernels", &Model::kernels, "Of its linear layers, or of its cache.")
      .field("rows", &Model::rows, "Norms and activations between them.")
      .field("unserved", &Model::unserved, "What no kernel can be made for.")
      .field("layers", &Model::layers, "Every layer with weights, served or not.")
      .field("notes", &Model::notes, "What was left out and why.")
      .field("assumptions", &Model::assumptions, "What the configs cannot tell.")
      .hidden(
          "specs",
          [](const Model& self) {
            std::vector<Spec> specs;
            for (const ModelKernel& kernel : self.kernels) specs.push_back(kernel.spec);
            for (const ModelKernel& kernel : self.rows) specs.push_back(kernel.spec);
            return specs;
          },
          "The specs of kernels, then of rows: what Runtime.prepare() takes.");
  model.type()
      .def(
          "facts",
          [](const Model& self) {
            return nb::module_::import_("json").attr("loads")(model_facts(self));
          },
          nb::sig("def facts(self) -> dict[str, typing.Any]"),
          "The model's shape, kinds of norms, attention and experts; the type alone where the "
          "model type is not known.")
      .def_static(
          "from_config", &from_config, nb::arg("config"), nb::kw_only(),
          nb::arg("hf_quant_config") = nb::none(), nb::arg("quantize_config") = nb::none(),
          nb::arg("plain_too") = false, nb::arg("engine_rotates") = false, nb::arg("gated") = false,
          nb::arg("dense") = false, nb::arg("lm_head_bits") = 0, nb::arg("activation_bits") = 0,
          nb::arg("arch") = 0,
          nb::sig(
              "def from_config(config: dict[str, typing.Any] | str, *, hf_quant_config: dict[str, "
              "typing.Any] | str | None = None, quantize_config: dict[str, typing.Any] | str | "
              "None = None, "
              "plain_too: bool = False, engine_rotates: bool = False, gated: bool = False, "
              "dense: bool = False, lm_head_bits: int = 0, activation_bits: int = 0, arch: int = "
              "0) "
              "-> Model"),
          "From a Hugging Face config.json, as a dict or its text, and the files beside it. "
          "plain_too: a model that is not quantised is described, not refused. gated: a gated "
          "epilogue for gate_up_proj. dense: also linear layers of 16 bits. lm_head_bits: 8 or 4, "
          "lm_head is quantised. activation_bits: 16, no activations of 8 bits; 0, as the model "
          "says. arch: of the GPU, 90 for sm_90; 0, one that has kernels of 8-bit activations. "
          "engine_rotates: the engine rotates activations. Raises SpecError and UnsupportedError.")
      .def_static(
          "cache_from_config", &cache_from_config, nb::arg("config"), nb::arg("kv"),
          nb::sig("def cache_from_config(config: dict[str, typing.Any] | str, kv: dict[str, "
                  "typing.Any] | str) "
                  "-> Model"),
          "The operations on the model's key-value cache: kv_append and decode_attention. kv: a "
          "spec's kv block, or words such as \"int8:head\" or \"int8:head,int4\".");
}

}  // namespace heddle::python
