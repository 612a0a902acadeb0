/* From a model's config.json to specs. */

#include "check.h"

/* A small Llama, quantised with AWQ. */
#define LLAMA(quantization)                                                                    \
  "{\"model_type\":\"llama\",\"architectures\":[\"LlamaForCausalLM\"],\"hidden_size\":512,"    \
  "\"intermediate_size\":1024,\"num_attention_heads\":8,\"num_key_value_heads\":2,"            \
  "\"num_hidden_layers\":3,\"vocab_size\":1000,\"rms_norm_eps\":1e-5,\"hidden_act\":\"silu\"," \
  "\"tie_word_embeddings\":false,\"max_position_embeddings\":2048,\"rope_theta\":10000.0,"     \
  "\"torch_dtype\":\"float16\"" quantization "}"
static const char kLlama[] = LLAMA(
    ",\"quantization_config\":{\"quant_method\":\"awq\",\"bits\":4,\"group_size\":128,"
    "\"version\":\"gemm\",\"zero_point\":true}");
static const char kPlainLlama[] = LLAMA("");

static heddle_model_texts texts_of(const char* config) {
  heddle_model_texts texts;
  memset(&texts, 0, sizeof texts);
  texts.struct_size = sizeof texts;
  texts.config = text(config);
  return texts;
}

static heddle_model* model_of(const char* config) {
  const heddle_model_texts texts = texts_of(config);
  heddle_model* model = NULL;
  CHECK(heddle_model_create(&texts, &model) == HEDDLE_OK);
  if (model == NULL) exit(1);
  return model;
}

static void check_kernels(const heddle_model* model, size_t count) {
  heddle_model_kernel_info kernel;
  size_t i = 0, names = 0;
  kernel.struct_size = sizeof kernel;
  for (i = 0; i < count; ++i) {
    heddle_spec* spec = NULL;
    heddle_spec_info info;
    info.struct_size = sizeof info;
    CHECK(heddle_model_kernel(model, i, &kernel) == HEDDLE_OK);
    CHECK(kernel.layers == 3 && kernel.covers.length > 0);
    MUST(heddle_spec_create(kernel.spec.data, kernel.spec.length, &spec) == HEDDLE_OK);
    CHECK(heddle_spec_get(spec, &info) == HEDDLE_OK);
    CHECK(equals(info.name, kernel.name.data) && equals(info.op, "gemm"));
    heddle_spec_destroy(spec);
    names += equals(kernel.name, "qkv_proj") && is_text(kernel.covers, "q_proj");
  }
  CHECK(names == 1);
  CHECK_CODE(heddle_model_kernel(model, count, &kernel), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_model_kernel(NULL, 0, &kernel), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_model_kernel(model, 0, NULL), HEDDLE_ERROR_USAGE, "api.null");
}

static void check_layers(const heddle_model* model, size_t count, size_t kernel_count) {
  heddle_model_layer_info layer;
  heddle_model_part_info part;
  size_t i = 0, served = 0, at = 0;
  layer.struct_size = sizeof layer;
  part.struct_size = sizeof part;
  for (i = 0; i < count; ++i) {
    int64_t rows = 0;
    MUST(heddle_model_layer(model, i, &layer) == HEDDLE_OK);
    CHECK(layer.name.length > 0 && strlen(layer.kind.data) == layer.kind.length);
    CHECK(layer.kernel >= -1 && layer.kernel < (int64_t)kernel_count);
    CHECK((layer.kernel < 0) == (layer.reason.length > 0));
    CHECK(layer.module_count >= 1);
    for (at = 0; at < layer.part_count; ++at) {
      CHECK(heddle_model_part(model, i, at, &part) == HEDDLE_OK && part.path.length > 0);
      rows += part.n;
    }
    CHECK_CODE(heddle_model_part(model, i, layer.part_count, &part), HEDDLE_ERROR_USAGE,
               "api.index");
    if (layer.kernel < 0) continue;
    ++served;
    CHECK(rows == layer.n && layer.k > 0 && equals(layer.kind, "linear"));
    CHECK(layer.in_layer_count == 3 && layer.in_layers[2] == 2);
  }
  CHECK(served == kernel_count);
  CHECK_CODE(heddle_model_layer(model, count, &layer), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_model_layer(NULL, 0, &layer), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_model_layer(model, 0, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_model_part(NULL, 0, 0, &part), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_model_part(model, count, 0, &part), HEDDLE_ERROR_USAGE, "api.index");
}

static void check_lists(const heddle_model* model, const heddle_model_info* info) {
  heddle_model_unserved_info unserved;
  heddle_text one;
  size_t i = 0;
  unserved.struct_size = sizeof unserved;
  for (i = 0; i < info->note_count; ++i) {
    CHECK(heddle_model_note(model, i, &one) == HEDDLE_OK && one.length > 0);
  }
  for (i = 0; i < info->assumption_count; ++i) {
    CHECK(heddle_model_assumption(model, i, &one) == HEDDLE_OK && one.length > 0);
  }
  for (i = 0; i < info->unserved_count; ++i) {
    CHECK(heddle_model_unserved(model, i, &unserved) == HEDDLE_OK);
    CHECK(unserved.name.length > 0 && unserved.reason.length > 0 && unserved.layers >= 0);
  }
  CHECK_CODE(heddle_model_note(model, info->note_count, &one), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_model_assumption(model, info->assumption_count, &one), HEDDLE_ERROR_USAGE,
             "api.index");
  CHECK_CODE(heddle_model_unserved(model, info->unserved_count, &unserved), HEDDLE_ERROR_USAGE,
             "api.index");
  CHECK_CODE(heddle_model_note(NULL, 0, &one), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_model_note(model, 0, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_model_assumption(NULL, 0, &one), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_model_assumption(model, 0, NULL), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_model_unserved(NULL, 0, &unserved), HEDDLE_ERROR_USAGE, "api.null");
}

/* The norms of a step: RMSNorms of three layers, the first of which has no residual yet, and the
 * last one. */
static void check_rows(const heddle_model* model, size_t count) {
  heddle_model_kernel_info row;
  size_t i = 0, norms = 0, activations = 0;
  int64_t launches = 0;
  row.struct_size = sizeof row;
  for (i = 0; i < count; ++i) {
    heddle_spec* spec = NULL;
    heddle_spec_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    MUST(heddle_model_row(model, i, &row) == HEDDLE_OK);
    MUST(heddle_spec_create(row.spec.data, row.spec.length, &spec) == HEDDLE_OK);
    CHECK(heddle_spec_get(spec, &info) == HEDDLE_OK && equals(info.op, "row_transform"));
    CHECK(equals(info.name, row.name.data) && equals(info.output_dtype, "fp16"));
    CHECK(info.m_max > 0 && info.n == 0 && info.kv_heads == 0);
    if (is_text(row.name, "norm")) {
      ++norms;
      launches += row.layers;
      CHECK(info.output_columns == 512);
    } else {
      ++activations;
      CHECK(equals(row.name, "activation") && info.output_columns == 1024 && row.layers == 3);
    }
    heddle_spec_destroy(spec);
  }
  CHECK(norms == 2 && activations == 1 && launches == 2 * 3 + 1);
  CHECK_CODE(heddle_model_row(model, count, &row), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_model_row(NULL, 0, &row), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_model_row(model, 0, NULL), HEDDLE_ERROR_USAGE, "api.null");
}

static void test_refused(void) {
  heddle_model_texts texts;
  heddle_model* model = (heddle_model*)address(16);
  memset(&texts, 0, sizeof texts);
  CHECK_CODE(heddle_model_create(&texts, &model), HEDDLE_ERROR_USAGE, "api.struct_size");
  CHECK(model == NULL);
  texts.struct_size = sizeof texts;
  CHECK(heddle_model_create(&texts, &model) == HEDDLE_ERROR_SPEC);
  texts.config = text("{\"model_type\":\"llama\"");
  CHECK(heddle_model_create(&texts, &model) == HEDDLE_ERROR_SPEC);
  texts.config = text(kPlainLlama);
  CHECK(heddle_model_create(&texts, &model) == HEDDLE_ERROR_UNSUPPORTED);
  texts.plain_too = 1;
  CHECK(heddle_model_create(&texts, &model) == HEDDLE_OK);
  heddle_model_destroy(model);
  texts.hf_quant_config.data = NULL;
  texts.hf_quant_config.length = 3;
  CHECK_CODE(heddle_model_create(&texts, &model), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_model_create(NULL, &model), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_model_create(&texts, NULL), HEDDLE_ERROR_USAGE, "api.null");
}

/* What the config lacks stands in the file beside it. */
static void test_companion(void) {
  heddle_model_texts texts = texts_of(kPlainLlama);
  heddle_model* model = NULL;
  heddle_model_info info;
  info.struct_size = sizeof info;
  texts.quantize_config = text("{\"bits\":4,\"group_size\":128,\"desc_act\":false,\"sym\":true}");
  CHECK(heddle_model_create(&texts, &model) == HEDDLE_OK);
  MUST(heddle_model_get(model, &info) == HEDDLE_OK && equals(info.quant_method, "gptq"));
  heddle_model_destroy(model);
}

/* Activations that the model quantises. */
static void test_byte_activations(void) {
  heddle_model_texts texts =
      texts_of(LLAMA(",\"quantization_config\":{\"quant_method\":\"fbgemm_fp8\"}"));
  heddle_model* model = NULL;
  heddle_model_kernel_info kernel;
  kernel.struct_size = sizeof kernel;
  MUST(heddle_model_create(&texts, &model) == HEDDLE_OK);
  CHECK(heddle_model_kernel(model, 0, &kernel) == HEDDLE_OK);
  CHECK(is_text(kernel.spec, "\"dtype\":\"fp8_e4m3\",\"granularity\":\"token\""));
  heddle_model_destroy(model);
  texts.activation_bits = 16;
  MUST(heddle_model_create(&texts, &model) == HEDDLE_OK);
  CHECK(heddle_model_kernel(model, 0, &kernel) == HEDDLE_OK);
  CHECK(is_text(kernel.spec, "\"activation\":{\"dtype\":\"fp16\""));
  heddle_model_destroy(model);
  /* A caller whose header has no such field knows no other activations. */
  texts.activation_bits = 0;
  texts.struct_size = offsetof(heddle_model_texts, activation_bits);
  MUST(heddle_model_create(&texts, &model) == HEDDLE_OK);
  CHECK(heddle_model_kernel(model, 0, &kernel) == HEDDLE_OK);
  CHECK(is_text(kernel.spec, "\"activation\":{\"dtype\":\"fp16\""));
  heddle_model_destroy(model);
  texts.struct_size = sizeof texts;
  texts.arch = 86; /* has no FP8 */
  MUST(heddle_model_create(&texts, &model) == HEDDLE_OK);
  CHECK(heddle_model_kernel(model, 0, &kernel) == HEDDLE_OK);
  CHECK(is_text(kernel.spec, "\"activation\":{\"dtype\":\"fp16\""));
  heddle_model_destroy(model);
}

/* Layers that are not quantised, and a head that Heddle quantises. */
static void test_plain_layers(void) {
  heddle_model_texts texts;
  heddle_model* model = NULL;
  heddle_model_info info;
  heddle_model_kernel_info kernel;
  memset(&texts, 0, sizeof texts);
  texts.struct_size = sizeof texts;
  info.struct_size = sizeof info;
  kernel.struct_size = sizeof kernel;
  texts.config = text(kPlainLlama);
  texts.dense = 1;
  MUST(heddle_model_create(&texts, &model) == HEDDLE_OK);
  CHECK(heddle_model_get(model, &info) == HEDDLE_OK && info.kernel_count == 5);
  CHECK(heddle_model_kernel(model, 4, &kernel) == HEDDLE_OK && equals(kernel.name, "lm_head"));
  CHECK(is_text(kernel.spec, "\"bits\":16,\"type\":\"fp16\""));
  heddle_model_destroy(model);
  texts.lm_head_bits = 8;
  MUST(heddle_model_create(&texts, &model) == HEDDLE_OK);
  CHECK(heddle_model_kernel(model, 4, &kernel) == HEDDLE_OK && equals(kernel.name, "lm_head"));
  CHECK(is_text(kernel.spec, "\"bits\":8,\"type\":\"int\",\"group_size\":128"));
  heddle_model_destroy(model);
  texts.lm_head_bits = 3;
  CHECK_CODE(heddle_model_create(&texts, &model), HEDDLE_ERROR_USAGE, "model.lm_head");
  /* A caller whose header ends before the two fields leaves what follows undefined. */
  texts.struct_size = offsetof(heddle_model_texts, dense);
  CHECK(heddle_model_create(&texts, &model) == HEDDLE_ERROR_UNSUPPORTED);
}

void test_models(void) {
  heddle_model* model = model_of(kLlama);
  heddle_model_info info;
  heddle_text families;
  info.struct_size = sizeof info;
  MUST(heddle_model_get(model, &info) == HEDDLE_OK);
  CHECK(equals(info.model_type, "llama") && equals(info.quant_method, "awq"));
  CHECK(is_text(info.facts, "\"hidden\":512") && info.kernel_count == 4);
  CHECK(info.layer_count > info.kernel_count); /* lm_head is not quantised */
  check_kernels(model, info.kernel_count);
  check_layers(model, info.layer_count, info.kernel_count);
  check_rows(model, info.row_count);
  check_lists(model, &info);
  CHECK_CODE(heddle_model_get(NULL, &info), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_model_get(model, NULL), HEDDLE_ERROR_USAGE, "api.null");
  heddle_model_destroy(model);
  heddle_model_destroy(NULL);
  CHECK(heddle_model_families(&families) == HEDDLE_OK && is_text(families, "\"llama\""));
  CHECK_CODE(heddle_model_families(NULL), HEDDLE_ERROR_USAGE, "api.null");
  test_refused();
  test_companion();
  test_byte_activations();
  test_plain_layers();
}

void test_cache_models(void) {
  static const char kv[] = "{\"dtype\":\"int8\",\"granularity\":\"head\"}";
  heddle_model* model = NULL;
  heddle_model_info info;
  heddle_model_kernel_info kernel;
  size_t i = 0, ops = 0;
  info.struct_size = sizeof info;
  kernel.struct_size = sizeof kernel;
  CHECK(heddle_model_create_cache(SPEC(kPlainLlama), SPEC(kv), &model) == HEDDLE_OK);
  MUST(heddle_model_get(model, &info) == HEDDLE_OK && info.kernel_count == 2);
  for (i = 0; i < info.kernel_count; ++i) {
    heddle_kv_bytes bytes;
    CHECK(heddle_model_kernel(model, i, &kernel) == HEDDLE_OK);
    ops += is_text(kernel.spec, "\"kv_append\"") || is_text(kernel.spec, "\"decode_attention\"");
    CHECK(heddle_kv_cache_bytes(kernel.spec.data, kernel.spec.length, 10, 0, &bytes) == HEDDLE_OK);
    CHECK(bytes.k_codes > 0 && bytes.v_scales > 0);
  }
  CHECK(ops == 2);
  heddle_model_destroy(model);
  model = (heddle_model*)address(16);
  CHECK(heddle_model_create_cache(SPEC(kPlainLlama), SPEC("{\"dtype\":\"int9\"}"), &model) ==
        HEDDLE_ERROR_SPEC);
  CHECK(model == NULL);
  CHECK(heddle_model_create_cache(SPEC(""), SPEC(kv), &model) == HEDDLE_ERROR_SPEC);
  CHECK_CODE(heddle_model_create_cache(NULL, 3, SPEC(kv), &model), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_model_create_cache(SPEC(kLlama), SPEC(kv), NULL), HEDDLE_ERROR_USAGE,
             "api.null");
}
