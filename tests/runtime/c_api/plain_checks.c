/* Layers of 16 bits, a head that is quantised when it is packed, and activations of eight bits. */
#define _POSIX_C_SOURCE 200809L

#include <stdint.h>
#include <unistd.h>

#include "check.h"
#include "checkpoint_checks.h"
#include "heddle/c/checkpoint.h"

#define ROWS 32
#define COLUMNS 128
#define VALUES (ROWS * COLUMNS)

static char folder[] = "/tmp/heddle-c-plain-XXXXXX";
static uint16_t values[VALUES + COLUMNS];

static void write_at(const char* name, const void* head, size_t head_bytes, const void* data,
                     size_t data_bytes) {
  char path[sizeof folder + 32];
  FILE* file = NULL;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  file = fopen(path, "wb");
  MUST(file != NULL);
  MUST(fwrite(head, 1, head_bytes, file) == head_bytes);
  MUST(data_bytes == 0 || fwrite(data, 1, data_bytes, file) == data_bytes);
  MUST(fclose(file) == 0);
}

#define HEAD "\"lm_head.weight\":{\"dtype\":\"F16\",\"shape\":[32,128],\"data_offsets\":[0,8192]}"

/* Of FP16: an lm_head, and what else the header names. */
static void write_checkpoint(const char* config, const char* header, size_t data_bytes) {
  const size_t length = strlen(header);
  unsigned char head[8 + 512] = {0};
  size_t i;
  MUST(mkdtemp(folder) != NULL && length <= 512 && data_bytes <= sizeof values);
  for (i = 0; i < sizeof values / sizeof *values; ++i) values[i] = (uint16_t)(0x3000 + i % 997);
  head[0] = (unsigned char)(length & 0xFF);
  head[1] = (unsigned char)(length >> 8);
  memcpy(head + 8, header, length);
  write_at("config.json", config, strlen(config), NULL, 0);
  write_at("model.safetensors", head, 8 + length, values, data_bytes);
}

static void remove_checkpoint(void) {
  char path[sizeof folder + 32];
  snprintf(path, sizeof path, "%s/config.json", folder);
  unlink(path);
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  unlink(path);
  rmdir(folder);
  memcpy(folder + sizeof folder - 7, "XXXXXX", 6); /* for the next one */
}

/* The bytes that heddle_pack_weights() makes of the tensor as it is. */
static void check_bytes(const heddle_checkpoint* checkpoint,
                        const heddle_checkpoint_layer_info* layer) {
  heddle_quantized_weights weights;
  unsigned char* got = malloc(layer->packed.bytes);
  unsigned char* want = malloc(layer->packed.bytes);
  memset(&weights, 0, sizeof weights);
  weights.struct_size = sizeof weights;
  weights.codes = (const uint8_t*)values;
  weights.codes_bytes = 2 * VALUES;
  MUST(got != NULL && want != NULL);
  CHECK(heddle_checkpoint_pack(checkpoint, 0, got, layer->packed.bytes) == HEDDLE_OK);
  CHECK(heddle_pack_weights(layer->spec.data, layer->spec.length, &weights, want,
                            layer->packed.bytes) == HEDDLE_OK);
  CHECK(memcmp(got, want, layer->packed.bytes) == 0);
  free(got);
  free(want);
}

void test_plain_layers(void) {
  heddle_checkpoint_options options;
  heddle_checkpoint_layer_info layer;
  heddle_checkpoint* checkpoint = NULL;
  write_checkpoint("{\"model_type\":\"llama\",\"torch_dtype\":\"float16\"}", "{" HEAD "}",
                   2 * VALUES);
  layer.struct_size = sizeof layer;
  MUST(heddle_checkpoint_options_init(&options, sizeof options) == HEDDLE_OK);
  CHECK(options.dense == 0 && options.lm_head_bits == 0);
  CHECK_CODE(heddle_checkpoint_create(SPEC(folder), &options, &checkpoint),
             HEDDLE_ERROR_UNSUPPORTED, "checkpoint.not_quantised");
  options.dense = 1;
  MUST(heddle_checkpoint_create(SPEC(folder), &options, &checkpoint) == HEDDLE_OK);
  CHECK(heddle_checkpoint_layer(checkpoint, 0, &layer) == HEDDLE_OK);
  CHECK(strstr(layer.spec.data, "\"bits\":16,\"type\":\"fp16\"") != NULL);
  check_bytes(checkpoint, &layer);
  heddle_checkpoint_destroy(checkpoint);
  options.dense = 0;
  options.lm_head_bits = 4;
  MUST(heddle_checkpoint_create(SPEC(folder), &options, &checkpoint) == HEDDLE_OK);
  CHECK(heddle_checkpoint_layer(checkpoint, 0, &layer) == HEDDLE_OK);
  CHECK(strstr(layer.spec.data, "\"bits\":4,\"type\":\"uint\"") != NULL);
  heddle_checkpoint_destroy(checkpoint);
  options.lm_head_bits = 5;
  CHECK_CODE(heddle_checkpoint_create(SPEC(folder), &options, &checkpoint), HEDDLE_ERROR_USAGE,
             "checkpoint.lm_head");
  /* A caller whose header ends before the two fields leaves what follows undefined. */
  options.struct_size = offsetof(heddle_checkpoint_options, dense);
  CHECK_CODE(heddle_checkpoint_create(SPEC(folder), &options, &checkpoint),
             HEDDLE_ERROR_UNSUPPORTED, "checkpoint.not_quantised");
  remove_checkpoint();
}

/* FP8 with a static scale of its activations. */
void test_byte_activations(void) {
  heddle_checkpoint_options options;
  heddle_checkpoint_layer_info layer;
  heddle_checkpoint* checkpoint = NULL;
  float scale = 0;
  write_checkpoint(
      "{\"model_type\":\"llama\",\"torch_dtype\":\"float16\",\"quantization_config\":"
      "{\"quant_method\":\"fp8\",\"activation_scheme\":\"static\"}}",
      "{\"l.weight\":{\"dtype\":\"F8_E4M3\",\"shape\":[32,128],\"data_offsets\":[0,4096]},"
      "\"l.weight_scale\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4096,4100]},"
      "\"l.input_scale\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4100,4104]}}",
      4104);
  layer.struct_size = sizeof layer;
  MUST(heddle_checkpoint_options_init(&options, sizeof options) == HEDDLE_OK);
  CHECK(options.activation_bits == 0 && options.arch == 0);
  options.arch = 90;
  MUST(heddle_checkpoint_create(SPEC(folder), &options, &checkpoint) == HEDDLE_OK);
  CHECK(heddle_checkpoint_layer(checkpoint, 0, &layer) == HEDDLE_OK);
  CHECK(strstr(layer.spec.data, "\"dtype\":\"fp8_e4m3\",\"granularity\":\"tensor\"") != NULL);
  CHECK(equals(layer.input_scale.name, "l.input_scale") && layer.input_scale.bytes == 4);
  CHECK(heddle_checkpoint_read(checkpoint, SPEC("l.input_scale"), &scale, sizeof scale) ==
        HEDDLE_OK);
  CHECK(memcmp(&scale, (const unsigned char*)values + 4100, sizeof scale) == 0);
  heddle_checkpoint_destroy(checkpoint);
  options.arch = 80;
  MUST(heddle_checkpoint_create(SPEC(folder), &options, &checkpoint) == HEDDLE_OK);
  CHECK(heddle_checkpoint_layer(checkpoint, 0, &layer) == HEDDLE_OK);
  CHECK(strstr(layer.spec.data, "\"activation\":{\"dtype\":\"fp16\"") != NULL);
  CHECK(layer.input_scale.name.data == NULL);
  heddle_checkpoint_destroy(checkpoint);
  /* A caller whose header has no such field knows no other activations. */
  options.arch = 0;
  options.struct_size = offsetof(heddle_checkpoint_options, activation_bits);
  MUST(heddle_checkpoint_create(SPEC(folder), &options, &checkpoint) == HEDDLE_OK);
  CHECK(heddle_checkpoint_layer(checkpoint, 0, &layer) == HEDDLE_OK);
  CHECK(strstr(layer.spec.data, "\"activation\":{\"dtype\":\"fp16\"") != NULL);
  heddle_checkpoint_destroy(checkpoint);
  options.struct_size = sizeof options;
  options.activation_bits = 4;
  CHECK_CODE(heddle_checkpoint_create(SPEC(folder), &options, &checkpoint), HEDDLE_ERROR_USAGE,
             "model.activations");
  remove_checkpoint();
}

/* A gate of one row, which no kernel takes. */
void test_unserved_layers(void) {
  static const char gate[] = "model.layers.0.mlp.shared_expert_gate";
  heddle_checkpoint_options options;
  heddle_checkpoint_unserved_info info;
  heddle_checkpoint* checkpoint = NULL;
  heddle_text name, reason;
  size_t count = 0;
  write_checkpoint("{\"model_type\":\"qwen2_moe\",\"torch_dtype\":\"float16\"}",
                   "{" HEAD
                   ",\"model.layers.0.mlp.shared_expert_gate.weight\":{\"dtype\":\"F16\","
                   "\"shape\":[1,128],\"data_offsets\":[8192,8448]}}",
                   2 * VALUES + 256);
  info.struct_size = sizeof info;
  MUST(heddle_checkpoint_options_init(&options, sizeof options) == HEDDLE_OK);
  options.dense = 1;
  MUST(heddle_checkpoint_create(SPEC(folder), &options, &checkpoint) == HEDDLE_OK);
  CHECK(heddle_checkpoint_unserved_count(checkpoint, &count) == HEDDLE_OK && count == 1);
  MUST(heddle_checkpoint_unserved_get(checkpoint, 0, &info) == HEDDLE_OK);
  CHECK(heddle_checkpoint_unserved(checkpoint, 0, &name, &reason) == HEDDLE_OK);
  CHECK(equals(info.name, gate) && equals(name, gate) && equals(reason, info.reason.data));
  CHECK(info.n == 1 && info.k == 128 && info.tensor_count == 1);
  CHECK(heddle_checkpoint_unserved_tensor(checkpoint, 0, 0, &name) == HEDDLE_OK);
  CHECK(equals(name, "model.layers.0.mlp.shared_expert_gate.weight"));
  CHECK_CODE(heddle_checkpoint_unserved_tensor(checkpoint, 0, 1, &name), HEDDLE_ERROR_USAGE,
             "api.index");
  CHECK(heddle_checkpoint_find_tensor(checkpoint, name.data, name.length, &count) == HEDDLE_OK);
  CHECK_CODE(heddle_checkpoint_find_layer(checkpoint, SPEC(gate), &count), HEDDLE_ERROR_USAGE,
             "checkpoint.no_layer");
  CHECK(strstr(heddle_error_message(), info.reason.data) != NULL);
  heddle_checkpoint_destroy(checkpoint);
  remove_checkpoint();
}
