// The C API of models.
#include "heddle/model.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "generator/model/layer_json.h"
#include "generator/model/model_json.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/structs.h"

struct heddle_model {
  explicit heddle_model(heddle::Model model_)
      : model(std::move(model_)),
        json(heddle::model_to_json(model)),
        remarks(fmt::format("{}", fmt::join(heddle::remark_lines(model), "\n"))) {
    for (const heddle::ModelKernel& kernel : model.kernels) {
      specs.push_back(heddle::spec_line(kernel.spec));
      routed_specs.push_back(kernel.routed ? heddle::spec_line(*kernel.routed) : "");
    }
    for (const heddle::ModelKernel& row : model.rows) {
      row_specs.push_back(heddle::spec_line(row.spec));
    }
  }

  heddle::Model model;
  std::string json;
  std::string remarks;
  std::vector<std::string> specs;         // of each kernel
  std::vector<std::string> routed_specs;  // empty where there is none
  std::string no_routed;                  // of rows
  std::vector<std::string> row_specs;
};

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::need_index;
using heddle::c_api::text_of;
using heddle::c_api::view;
using heddle::c_api::write_struct;

namespace {

heddle_model_kernel_info to_c(const heddle::ModelKernel& kernel, const std::string& spec,
                              const std::string& routed) {
  heddle_model_kernel_info values = {};
  values.name = text_of(kernel.spec.name());
  values.spec = text_of(spec);
  values.covers = text_of(kernel.covers);
  values.layers = kernel.layers;
  values.routed = text_of(routed);
  return values;
}

}  // namespace

heddle_status heddle_model_create(const heddle_model_texts* texts, heddle_model** model) {
  return guarded([&] {
    need(model, "model");
    *model = nullptr;
    const heddle_model_texts given = heddle::c_api::read_struct(texts, "heddle_model_texts");
    heddle::ModelConfigTexts configs;
    configs.config = view(given.config);
    configs.hf_quant_config = view(given.hf_quant_config);
    configs.quantize_config = view(given.quantize_config);
    configs.plain_too = given.plain_too != 0;
    configs.engine_rotates = given.engine_rotates != 0;
    configs.gated = given.gated != 0;
    configs.dense = given.dense != 0;
    configs.lm_head_bits = given.lm_head_bits;
    configs.activation_bits = given.activation_bits;
    configs.arch = given.arch;
    *model = new heddle_model(heddle::model_from_config(configs));
  });
}

heddle_status heddle_model_create_cache(const char* config, size_t config_length, const char* kv,
                                        size_t kv_length, heddle_model** model) {
  return guarded([&] {
    need(model, "model");
    *model = nullptr;
    *model = new heddle_model(
        heddle::cache_model_from_config(view(config, config_length), view(kv, kv_length)));
  });
}

void heddle_model_destroy(heddle_model* model) { delete model; }

heddle_status heddle_model_counts(const heddle_model* model, size_t* kernels, size_t* rows) {
  return guarded([&] {
    need(model, "model");
    need(kernels, "kernels");
    need(rows, "rows");
    *kernels = model->specs.size();
    *rows = model->row_specs.size();
  });
}

heddle_status heddle_model_kernel(const heddle_model* model, size_t index,
                                  heddle_model_kernel_info* info) {
  return guarded([&] {
    need(model, "model");
    need_index(index, model->model.kernels.size(), "index");
    write_struct(to_c(model->model.kernels[index], model->specs[index], model->routed_specs[index]),
                 info, "heddle_model_kernel_info");
  });
}

heddle_status heddle_model_row(const heddle_model* model, size_t index,
                               heddle_model_kernel_info* info) {
  return guarded([&] {
    need(model, "model");
    need_index(index, model->model.rows.size(), "index");
    write_struct(to_c(model->model.rows[index], model->row_specs[index], model->no_routed), info,
                 "heddle_model_kernel_info");
  });
}

heddle_status heddle_model_json(const heddle_model* model, heddle_text* json) {
  return guarded([&] {
    need(model, "model");
    need(json, "json");
    *json = text_of(model->json);
  });
}

heddle_status heddle_model_remarks(const heddle_model* model, heddle_text* text) {
  return guarded([&] {
    need(model, "model");
    need(text, "text");
    *text = text_of(model->remarks);
  });
}

heddle_status heddle_model_families(heddle_text* json) {
  return guarded([&] {
    need(json, "json");
    static const std::string text = heddle::families_json().dump();
    *json = text_of(text);
  });
}
