#include "heddle/model_size.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>

#include "bindings.h"
#include "record.h"
#include "target_argument.h"

namespace heddle::python {
namespace {

ModelSize size_of_model(const Model& model, const Model* cache, nb::handle target,
                        std::int64_t sequences, std::int64_t context, const TunedTables* tables) {
  const Target of = target_argument(target);
  const nb::gil_scoped_release release;
  return model_size(model, cache == nullptr ? Model() : *cache, of, {sequences, context},
                    tables == nullptr ? TunedTables::shipped() : *tables);
}

void bind_size_parts(nb::module_& m) {
  Record<ModelWeightSize>(m, "ModelWeightSize", "Weights of layers that are alike.")
      .field("name", &ModelWeightSize::name, "\"qkv_proj\", \"embeddings\", \"norms\".")
      .field("weights", &ModelWeightSize::weights, "\"uint4, groups of 128\", \"16 bits\".")
      .field("packed", &ModelWeightSize::packed, "Whether they are in Heddle's layout.")
      .field("count", &ModelWeightSize::count, "Layers.")
      .field("each", &ModelWeightSize::each, "Bytes of one.")
      .field("bytes", &ModelWeightSize::bytes, "Of all.");
  Record<ModelCacheSize>(m, "ModelCacheSize", "The caches of layers that are alike.")
      .field("name", &ModelCacheSize::name, "Of the kernel that fills it.")
      .field("count", &ModelCacheSize::count, "Layers.")
      .field("pages", &ModelCacheSize::pages, "Of one layer.")
      .field("page_tokens", &ModelCacheSize::page_tokens, "Tokens of a page.")
      .field("each", &ModelCacheSize::each, "Bytes of one layer.")
      .field("bytes", &ModelCacheSize::bytes, "Of all.")
      .field("window", &ModelCacheSize::window, "Tokens that queries see; 0: all.")
      .field("each_in_window", &ModelCacheSize::each_in_window,
             "Bytes of one that keeps the pages of its window alone.");
  Record<ModelWorkspaceSize>(m, "ModelWorkspaceSize", "What launches of a kernel need.")
      .field("name", &ModelWorkspaceSize::name, "The kernel's spec.")
      .field("bytes", &ModelWorkspaceSize::bytes, "The most of any launch for the batch.");
  Record<ModelUncounted>(m, "ModelUncounted", "What is no part of the sums.")
      .field("name", &ModelUncounted::name, "What it is.")
      .field("reason", &ModelUncounted::reason, "Why.");
}

}  // namespace

void bind_model_size(nb::module_& m) {
  bind_size_parts(m);
  Record<ModelSize>(m, "ModelSize", "How much device memory a model takes.")
      .field("weights", &ModelSize::weights, "By kinds of layers.")
      .field("caches", &ModelSize::caches, "By kinds of layers.")
      .field("workspaces", &ModelSize::workspaces, "Of kernels that need some.")
      .field("uncounted", &ModelSize::uncounted, "What is no part of the sums.")
      .field("assumptions", &ModelSize::assumptions, "What the config cannot tell.")
      .field("weight_bytes", &ModelSize::weight_bytes, "The sum.")
      .field("cache_bytes", &ModelSize::cache_bytes, "The sum.")
      .field("workspace_bytes", &ModelSize::workspace_bytes, "The largest: kernels share it.")
      .field("bytes", &ModelSize::bytes, "Weights, caches and workspace.");
  m.def("model_size", &size_of_model, nb::arg("model"), nb::arg("cache").none(), nb::arg("target"),
        nb::kw_only(), nb::arg("sequences") = 1, nb::arg("context") = 1,
        nb::arg("tables").none() = nb::none(),
        nb::sig("def model_size(model: Model, cache: Model | None, target: Target | str, *, "
                "sequences: int = 1, context: int = 1, tables: TunedTables | None = None) -> "
                "ModelSize"),
        "Bytes of weights, key-value cache and workspace, from the models of a config: "
        "Model.from_config() and Model.cache_from_config(). Needs no GPU. Raises UsageError.");
}

}  // namespace heddle::python
