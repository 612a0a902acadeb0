// The C API of models.
#include <nlohmann/json.hpp>

#include "generator/model/model_json.h"
#include "heddle/model.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/structs.h"

struct heddle_model {
  explicit heddle_model(heddle::Model model_)
      : model(std::move(model_)), facts(heddle::model_facts(model)) {
    for (const heddle::ModelKernel& kernel : model.kernels) {
      specs.push_back(heddle::spec_line(kernel.spec));
    }
    for (const heddle::ModelKernel& row : model.rows) {
      row_specs.push_back(heddle::spec_line(row.spec));
    }
  }

  heddle::Model model;
  std::string facts;
  std::vector<std::string> specs;  // of each kernel
  std::vector<std::string> row_specs;
};

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::need_index;
using heddle::c_api::text_of;
using heddle::c_api::text_of_word;
using heddle::c_api::view;
using heddle::c_api::write_struct;

namespace {

const heddle::ModelLayer& layer_of(const heddle_model* model, std::size_t index) {
  need(model, "model");
  need_index(index, model->model.layers.size(), "layer");
  return model->model.layers[index];
}

heddle_model_kernel_info to_c(const heddle::ModelKernel& kernel, const std::string& spec) {
  heddle_model_kernel_info values = {};
  values.name = text_of(kernel.spec.name());
  values.spec = text_of(spec);
  values.covers = text_of(kernel.covers);
  values.layers = kernel.layers;
  return values;
}

}  // namespace

heddle_status heddle_model_create(const heddle_model_texts* texts, heddle_model** model) {
  return guarded([&] {
    need(model, "model");
    *model = nullptr;
    // Callers whose header lacks the field know no other activations.
    heddle_model_texts older = {};
    older.activation_bits = 16;
    const heddle_model_texts given = heddle::c_api::read_struct(texts, "heddle_model_texts", older);
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

heddle_status heddle_model_get(const heddle_model* model, heddle_model_info* info) {
  return guarded([&] {
    need(model, "model");
    const heddle::Model& one = model->model;
    heddle_model_info values = {};
    values.model_type = text_of(one.model_type);
    values.quant_method = text_of(one.quant_method);
    values.facts = text_of(model->facts);
    values.kernel_count = one.kernels.size();
    values.unserved_count = one.unserved.size();
    values.layer_count = one.layers.size();
    values.note_count = one.notes.size();
    values.assumption_count = one.assumptions.size();
    values.row_count = one.rows.size();
    write_struct(values, info, "heddle_model_info");
  });
}

heddle_status heddle_model_kernel(const heddle_model* model, size_t index,
                                  heddle_model_kernel_info* info) {
  return guarded([&] {
    need(model, "model");
    need_index(index, model->model.kernels.size(), "index");
    write_struct(to_c(model->model.kernels[index], model->specs[index]), info,
                 "heddle_model_kernel_info");
  });
}

heddle_status heddle_model_row(const heddle_model* model, size_t index,
                               heddle_model_kernel_info* info) {
  return guarded([&] {
    need(model, "model");
    need_index(index, model->model.rows.size(), "index");
    write_struct(to_c(model->model.rows[index], model->row_specs[index]), info,
                 "heddle_model_kernel_info");
  });
}

heddle_status heddle_model_unserved(const heddle_model* model, size_t index,
                                    heddle_model_unserved_info* info) {
  return guarded([&] {
    need(model, "model");
    need_index(index, model->model.unserved.size(), "index");
    const heddle::ModelUnserved& unserved = model->model.unserved[index];
    heddle_model_unserved_info values = {};
    values.name = text_of(unserved.name);
    values.reason = text_of(unserved.reason);
    values.layers = unserved.layers;
    write_struct(values, info, "heddle_model_unserved_info");
  });
}

heddle_status heddle_model_note(const heddle_model* model, size_t index, heddle_text* note) {
  return guarded([&] {
    need(model, "model");
    need(note, "note");
    need_index(index, model->model.notes.size(), "index");
    *note = text_of(model->model.notes[index]);
  });
}

heddle_status heddle_model_assumption(const heddle_model* model, size_t index,
                                      heddle_text* assumption) {
  return guarded([&] {
    need(model, "model");
    need(assumption, "assumption");
    need_index(index, model->model.assumptions.size(), "index");
    *assumption = text_of(model->model.assumptions[index]);
  });
}

heddle_status heddle_model_layer(const heddle_model* model, size_t index,
                                 heddle_model_layer_info* info) {
  return guarded([&] {
    const heddle::ModelLayer& layer = layer_of(model, index);
    heddle_model_layer_info values = {};
    values.name = text_of(layer.name);
    values.kind = text_of_word(to_string(layer.kind));
    values.weights = text_of(layer.weights);
    values.reason = text_of(layer.reason);
    values.kernel = layer.kernel;
    values.n = layer.n;
    values.k = layer.k;
    values.matrices = layer.matrices;
    values.module_count = layer.count();
    values.in_layers = layer.layers.data();
    values.in_layer_count = layer.layers.size();
    values.part_count = layer.parts.size();
    values.bias = layer.bias ? 1 : 0;
    write_struct(values, info, "heddle_model_layer_info");
  });
}

heddle_status heddle_model_part(const heddle_model* model, size_t layer, size_t part,
                                heddle_model_part_info* info) {
  return guarded([&] {
    const std::vector<heddle::ModelPart>& parts = layer_of(model, layer).parts;
    need_index(part, parts.size(), "part");
    heddle_model_part_info values = {};
    values.path = text_of(parts[part].path);
    values.n = parts[part].n;
    write_struct(values, info, "heddle_model_part_info");
  });
}

heddle_status heddle_model_families(heddle_text* json) {
  return guarded([&] {
    need(json, "json");
    static const std::string text = heddle::families_json().dump();
    *json = text_of(text);
  });
}
