/* Every function of heddle/c/checkpoint.h, from C99, on the fake driver. */
#define _POSIX_C_SOURCE 200809L

#include "heddle/c/checkpoint.h"

#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "checkpoint_checks.h"

int failures = 0;

/* One act-order layer, "model.proj", of 32 rows and 256 columns. */
static const char kFolder[] = HEDDLE_GOLDEN "/gptq4_k256_n32_g128_actorder";

static heddle_checkpoint* open_checkpoint(const heddle_checkpoint_options* options) {
  heddle_checkpoint* checkpoint = NULL;
  CHECK(heddle_checkpoint_create(SPEC(kFolder), options, &checkpoint) == HEDDLE_OK);
  return checkpoint;
}

static int equals_text(heddle_text text, const char* want) {
  return text.length == strlen(want) && strcmp(text.data, want) == 0;
}

static heddle_checkpoint_layer_info first_layer(const heddle_checkpoint* checkpoint) {
  heddle_checkpoint_layer_info layer;
  memset(&layer, 0, sizeof layer);
  layer.struct_size = sizeof layer;
  CHECK(heddle_checkpoint_layer(checkpoint, 0, &layer) == HEDDLE_OK);
  return layer;
}

static void test_facts(const heddle_checkpoint* checkpoint) {
  const heddle_checkpoint_layer_info layer = first_layer(checkpoint);
  heddle_text text;
  int64_t rows = 0;
  size_t count = 99;
  size_t bytes = 0;
  CHECK(heddle_checkpoint_layer_count(checkpoint, &count) == HEDDLE_OK && count == 1);
  CHECK(heddle_checkpoint_tensor_count(checkpoint, &count) == HEDDLE_OK && count == 0);
  CHECK(heddle_checkpoint_unserved_count(checkpoint, &count) == HEDDLE_OK && count == 0);
  CHECK(heddle_checkpoint_note_count(checkpoint, &count) == HEDDLE_OK && count == 0);
  CHECK(equals_text(layer.name, "model.proj"));
  CHECK(equals_text(layer.packed.name, "model.proj.heddle") &&
        equals_text(layer.packed.type, "U8"));
  CHECK(layer.packed.sides == 1 && (size_t)layer.packed.shape[0] == layer.packed.bytes);
  CHECK(layer.matrices == 1 && layer.part_count == 1 && layer.source_bytes > 32 * 256 / 2);
  CHECK(heddle_packed_bytes(layer.spec.data, layer.spec.length, &bytes) == HEDDLE_OK);
  CHECK(bytes == layer.packed.bytes);
  CHECK(heddle_check_layout_version(layer.spec.data, layer.spec.length, layer.layout_version) ==
        HEDDLE_OK);
  CHECK(heddle_check_packed_weights(layer.spec.data, layer.spec.length, layer.spec.data,
                                    layer.spec.length) == HEDDLE_OK);
  CHECK(equals_text(layer.permutation.name, "model.proj.heddle_perm"));
  CHECK(equals_text(layer.permutation.type, "I32") && layer.permutation.bytes == 256 * 4);
  CHECK(layer.bias.name.data == NULL && layer.pre_scale.bytes == 0);
  CHECK(heddle_checkpoint_part(checkpoint, 0, 0, &text, &rows) == HEDDLE_OK);
  CHECK(equals_text(text, "model.proj") && rows == 32);
}

/* A sink that gathers what it is given, up to `most` calls. */
struct gathered {
  unsigned char bytes[1 << 16];
  size_t length;
  int calls;
  int most;
};

static int32_t gather(void* user, size_t offset, const void* data, size_t bytes) {
  struct gathered* to = user;
  CHECK(offset == to->length && bytes <= sizeof to->bytes - offset);
  memcpy(to->bytes + offset, data, bytes);
  to->length += bytes;
  return ++to->calls <= to->most;
}

struct progress {
  int calls;
  int32_t go_on;
};

static int32_t count_progress(void* user, size_t layer, size_t done, size_t total,
                              uint64_t bytes_done, uint64_t bytes_total) {
  struct progress* progress = user;
  CHECK(layer == 0 && done == 1 && total == 1 && bytes_done == bytes_total && bytes_done > 0);
  ++progress->calls;
  return progress->go_on;
}

static void test_bytes(const heddle_checkpoint* checkpoint) {
  const heddle_checkpoint_layer_info layer = first_layer(checkpoint);
  const size_t bytes = layer.packed.bytes;
  static struct gathered pieces;
  struct progress progress = {0, 1};
  unsigned char* packed = malloc(bytes);
  unsigned char* again = malloc(bytes);
  int32_t permutation[256];
  int seen[256] = {0};
  heddle_memory memory;
  int i = 0;
  CHECK(heddle_checkpoint_pack(checkpoint, 0, packed, bytes) == HEDDLE_OK);
  pieces.most = 1000;
  CHECK(heddle_checkpoint_pack_to(checkpoint, 0, gather, &pieces) == HEDDLE_OK);
  CHECK(pieces.length == bytes && memcmp(pieces.bytes, packed, bytes) == 0);
  memset(&pieces, 0, sizeof pieces);
  CHECK_CODE(heddle_checkpoint_pack_to(checkpoint, 0, gather, &pieces), HEDDLE_ERROR_CANCELLED,
             "checkpoint.cancelled");
  CHECK(pieces.calls == 1);
  memset(&pieces, 0, sizeof pieces);
  pieces.most = 1000;
  CHECK(heddle_checkpoint_read_to(checkpoint, SPEC("model.proj.heddle"), gather, &pieces) ==
        HEDDLE_OK);
  CHECK(pieces.length == bytes && memcmp(pieces.bytes, packed, bytes) == 0);

  CHECK(heddle_checkpoint_read(checkpoint, SPEC("model.proj.heddle_perm"), permutation,
                               sizeof permutation) == HEDDLE_OK);
  for (i = 0; i < 256; ++i) {
    CHECK(permutation[i] >= 0 && permutation[i] < 256 && seen[permutation[i]]++ == 0);
  }

  memory.data = again;
  memory.bytes = bytes;
  memset(again, 0, bytes);
  CHECK(heddle_checkpoint_pack_all(checkpoint, &memory, 1, 2, count_progress, &progress) ==
        HEDDLE_OK);
  CHECK(progress.calls == 1 && memcmp(again, packed, bytes) == 0);
  CHECK(heddle_checkpoint_pack_all(checkpoint, &memory, 1, 0, NULL, NULL) == HEDDLE_OK);
  progress.go_on = 0;
  CHECK_CODE(heddle_checkpoint_pack_all(checkpoint, &memory, 1, 1, count_progress, &progress),
             HEDDLE_ERROR_CANCELLED, "checkpoint.cancelled");
  memset(again, 0xA5, bytes);
  memory.bytes = bytes - 1;
  CHECK_CODE(heddle_checkpoint_pack_all(checkpoint, &memory, 1, 1, NULL, NULL), HEDDLE_ERROR_USAGE,
             "checkpoint.too_small");
  CHECK_CODE(heddle_checkpoint_pack(checkpoint, 0, again, bytes - 1), HEDDLE_ERROR_USAGE,
             "checkpoint.too_small");
  CHECK(again[0] == 0xA5 && again[bytes - 1] == 0xA5);
  free(packed);
  free(again);
}

struct layers {
  int calls;
  int32_t go_on;
};
static int32_t count_layer(void* user, size_t layer) {
  struct layers* layers = user;
  CHECK(layer == 0);
  ++layers->calls;
  return layers->go_on;
}

static void test_names_and_work(const heddle_checkpoint* checkpoint) {
  struct layers layers = {0, 1};
  size_t index = 99;
  int32_t bytes = 0;
  CHECK(heddle_checkpoint_find_layer(checkpoint, SPEC("model.proj"), &index) == HEDDLE_OK);
  CHECK(index == 0);
  CHECK_CODE(heddle_checkpoint_find_layer(checkpoint, SPEC("model.pro"), &index),
             HEDDLE_ERROR_USAGE, "checkpoint.no_layer");
  /* A part of a layer is no plain tensor. */
  CHECK_CODE(heddle_checkpoint_find_tensor(checkpoint, SPEC("model.proj.heddle"), &index),
             HEDDLE_ERROR_USAGE, "checkpoint.no_tensor");
  CHECK_CODE(heddle_checkpoint_find_layer(NULL, SPEC("a"), &index), HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_checkpoint_find_layer(checkpoint, SPEC("a"), NULL), HEDDLE_ERROR_USAGE,
             "api.null");
  CHECK_CODE(heddle_checkpoint_find_tensor(NULL, SPEC("a"), &index), HEDDLE_ERROR_USAGE,
             "api.null");
  CHECK_CODE(heddle_checkpoint_find_tensor(checkpoint, SPEC("a"), NULL), HEDDLE_ERROR_USAGE,
             "api.null");
  CHECK(heddle_tensor_type_bytes(SPEC("BF16"), &bytes) == HEDDLE_OK && bytes == 2);
  CHECK(heddle_tensor_type_bytes(SPEC("I64"), &bytes) == HEDDLE_OK && bytes == 8);
  CHECK_CODE(heddle_tensor_type_bytes(SPEC("bf16"), &bytes), HEDDLE_ERROR_USAGE, "checkpoint.type");
  CHECK_CODE(heddle_tensor_type_bytes(SPEC("BF16"), NULL), HEDDLE_ERROR_USAGE, "api.null");

  CHECK(heddle_checkpoint_for_each_layer(checkpoint, count_layer, 2, NULL, &layers) == HEDDLE_OK);
  CHECK(layers.calls == 1);
  layers.go_on = 0;
  CHECK_CODE(heddle_checkpoint_for_each_layer(checkpoint, count_layer, 1, NULL, &layers),
             HEDDLE_ERROR_CANCELLED, "checkpoint.cancelled");
  CHECK_CODE(heddle_checkpoint_for_each_layer(checkpoint, NULL, 1, NULL, &layers),
             HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_checkpoint_for_each_layer(NULL, count_layer, 1, NULL, &layers),
             HEDDLE_ERROR_USAGE, "api.null");
  CHECK_CODE(heddle_checkpoint_for_each_layer(checkpoint, count_layer, -1, NULL, &layers),
             HEDDLE_ERROR_USAGE, "checkpoint.jobs");
}

static void test_options(void) {
  heddle_checkpoint_options options;
  heddle_checkpoint* checkpoint = NULL;
  heddle_text pattern = {"model.proj", 10};
  size_t count = 0;
  heddle_checkpoint_tensor_info tensor;
  const char config[] = HEDDLE_GOLDEN "/gptq4_k256_n32_g128_actorder/config.json";
  CHECK(heddle_checkpoint_options_init(&options, sizeof options) == HEDDLE_OK);
  CHECK(options.size == 1 && options.rank == 0 && options.fuse == 1 && options.gated == 0);
  CHECK(options.dense == 0 && options.lm_head_bits == 0);
  options.config.data = config;
  options.config.length = strlen(config);
  options.keep = &pattern;
  options.keep_count = 1;
  checkpoint = open_checkpoint(&options);
  CHECK(heddle_checkpoint_layer_count(checkpoint, &count) == HEDDLE_OK && count == 0);
  CHECK(heddle_checkpoint_tensor_count(checkpoint, &count) == HEDDLE_OK && count == 4);
  CHECK(heddle_checkpoint_tensor(checkpoint, 0, &tensor) == HEDDLE_OK);
  CHECK(equals_text(tensor.name, "model.proj.g_idx") && equals_text(tensor.type, "I32"));
  CHECK(tensor.sides == 1 && tensor.shape[0] == 256 && tensor.bytes == 1024);
  CHECK(heddle_checkpoint_find_tensor(checkpoint, SPEC("model.proj.scales"), &count) == HEDDLE_OK);
  CHECK(heddle_checkpoint_tensor(checkpoint, count, &tensor) == HEDDLE_OK);
  CHECK(equals_text(tensor.name, "model.proj.scales"));
  heddle_checkpoint_destroy(checkpoint);
  options.gated = 1;
  options.fuse = 0;
  CHECK_CODE(heddle_checkpoint_create(SPEC(kFolder), &options, &checkpoint), HEDDLE_ERROR_USAGE,
             "checkpoint.gated");
  options.rank = 7;
  CHECK_CODE(heddle_checkpoint_create(SPEC(kFolder), &options, &checkpoint), HEDDLE_ERROR_USAGE,
             "checkpoint.rank");
  CHECK(checkpoint == NULL);
  options.struct_size = 3;
  CHECK_CODE(heddle_checkpoint_create(SPEC(kFolder), &options, &checkpoint), HEDDLE_ERROR_USAGE,
             "api.struct_size");
  CHECK_CODE(heddle_checkpoint_options_init(&options, 3), HEDDLE_ERROR_USAGE, "api.struct_size");
  CHECK_CODE(heddle_checkpoint_create(SPEC("/nowhere"), NULL, &checkpoint), HEDDLE_ERROR_FILE,
             "checkpoint.open");
}

static void test_refusals(const heddle_checkpoint* checkpoint) {
  heddle_checkpoint_layer_info layer;
  heddle_checkpoint_tensor_info tensor;
  heddle_checkpoint* made = NULL;
  heddle_text text;
  heddle_memory memory = {NULL, 0};
  heddle_checkpoint_unserved_info unserved;
  int64_t rows = 0;
  size_t count = 0;
  char byte = 0;
  memset(&layer, 0, sizeof layer);
  layer.struct_size = sizeof layer;
  unserved.struct_size = sizeof unserved;
#define NULL_CHECK(call) CHECK_CODE(call, HEDDLE_ERROR_USAGE, "api.null")
  NULL_CHECK(heddle_checkpoint_options_init(NULL, sizeof(heddle_checkpoint_options)));
  NULL_CHECK(heddle_checkpoint_create(SPEC(kFolder), NULL, NULL));
  NULL_CHECK(heddle_checkpoint_create(NULL, 5, NULL, &made));
  NULL_CHECK(heddle_checkpoint_layer_count(NULL, &count));
  NULL_CHECK(heddle_checkpoint_layer_count(checkpoint, NULL));
  NULL_CHECK(heddle_checkpoint_tensor_count(NULL, &count));
  NULL_CHECK(heddle_checkpoint_unserved_count(NULL, &count));
  NULL_CHECK(heddle_checkpoint_note_count(NULL, &count));
  NULL_CHECK(heddle_checkpoint_layer(NULL, 0, &layer));
  NULL_CHECK(heddle_checkpoint_layer(checkpoint, 0, NULL));
  NULL_CHECK(heddle_checkpoint_part(NULL, 0, 0, &text, &rows));
  NULL_CHECK(heddle_checkpoint_part(checkpoint, 0, 0, NULL, &rows));
  NULL_CHECK(heddle_checkpoint_part(checkpoint, 0, 0, &text, NULL));
  NULL_CHECK(heddle_checkpoint_tensor(NULL, 0, &tensor));
  NULL_CHECK(heddle_checkpoint_tensor(checkpoint, 0, NULL));
  NULL_CHECK(heddle_checkpoint_unserved(NULL, 0, &text, &text));
  NULL_CHECK(heddle_checkpoint_unserved(checkpoint, 0, NULL, &text));
  NULL_CHECK(heddle_checkpoint_unserved_get(NULL, 0, &unserved));
  NULL_CHECK(heddle_checkpoint_unserved_tensor(checkpoint, 0, 0, NULL));
  NULL_CHECK(heddle_checkpoint_note(NULL, 0, &text));
  NULL_CHECK(heddle_checkpoint_note(checkpoint, 0, NULL));
  NULL_CHECK(heddle_checkpoint_pack(NULL, 0, &byte, 1));
  NULL_CHECK(heddle_checkpoint_pack(checkpoint, 0, NULL, 1));
  NULL_CHECK(heddle_checkpoint_pack_to(NULL, 0, gather, NULL));
  NULL_CHECK(heddle_checkpoint_pack_to(checkpoint, 0, NULL, NULL));
  NULL_CHECK(heddle_checkpoint_read(NULL, SPEC("model.proj.heddle"), &byte, 1));
  NULL_CHECK(heddle_checkpoint_read(checkpoint, NULL, 5, &byte, 1));
  NULL_CHECK(heddle_checkpoint_read_to(NULL, SPEC("model.proj.heddle"), gather, NULL));
  NULL_CHECK(heddle_checkpoint_read_to(checkpoint, SPEC("model.proj.heddle"), NULL, NULL));
  NULL_CHECK(heddle_checkpoint_pack_all(NULL, &memory, 1, 1, NULL, NULL));
  NULL_CHECK(heddle_checkpoint_pack_all(checkpoint, NULL, 1, 1, NULL, NULL));
  NULL_CHECK(heddle_checkpoint_pack_all(checkpoint, &memory, 1, 1, NULL, NULL));
#undef NULL_CHECK
  CHECK_CODE(heddle_checkpoint_pack_all(checkpoint, &memory, 2, 1, NULL, NULL), HEDDLE_ERROR_USAGE,
             "api.count");
  CHECK_CODE(heddle_checkpoint_layer(checkpoint, 1, &layer), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_checkpoint_part(checkpoint, 0, 1, &text, &rows), HEDDLE_ERROR_USAGE,
             "api.index");
  CHECK_CODE(heddle_checkpoint_tensor(checkpoint, 0, &tensor), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_checkpoint_unserved(checkpoint, 0, &text, &text), HEDDLE_ERROR_USAGE,
             "api.index");
  CHECK_CODE(heddle_checkpoint_unserved_get(checkpoint, 0, &unserved), HEDDLE_ERROR_USAGE,
             "api.index");
  CHECK_CODE(heddle_checkpoint_unserved_tensor(checkpoint, 0, 0, &text), HEDDLE_ERROR_USAGE,
             "api.index");
  CHECK_CODE(heddle_checkpoint_note(checkpoint, 0, &text), HEDDLE_ERROR_USAGE, "api.index");
  CHECK_CODE(heddle_checkpoint_pack(checkpoint, (size_t)-1, &byte, 1), HEDDLE_ERROR_USAGE,
             "api.index");
  CHECK_CODE(heddle_checkpoint_read(checkpoint, SPEC("nothing"), &byte, 1), HEDDLE_ERROR_USAGE,
             "checkpoint.no_tensor");
  layer.struct_size = 1;
  CHECK_CODE(heddle_checkpoint_layer(checkpoint, 0, &layer), HEDDLE_ERROR_USAGE, "api.struct_size");
  heddle_checkpoint_destroy(NULL);
}

static void* pack_many_times(void* user) {
  const heddle_checkpoint* checkpoint = user;
  const size_t bytes = first_layer(checkpoint).packed.bytes;
  unsigned char* packed = malloc(bytes);
  int i = 0;
  for (i = 0; i < 20; ++i) {
    CHECK(heddle_checkpoint_pack(checkpoint, 0, packed, bytes) == HEDDLE_OK);
  }
  free(packed);
  return NULL;
}

static void test_threads(heddle_checkpoint* checkpoint) {
  pthread_t threads[3];
  size_t i = 0;
  for (i = 0; i < 3; ++i) {
    CHECK(pthread_create(&threads[i], NULL, pack_many_times, checkpoint) == 0);
  }
  for (i = 0; i < 3; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(void) {
  heddle_checkpoint* checkpoint = open_checkpoint(NULL);
  if (checkpoint == NULL) return 1;
  test_facts(checkpoint);
  test_bytes(checkpoint);
  test_names_and_work(checkpoint);
  test_options();
  test_plain_layers();
  test_byte_activations();
  test_unserved_layers();
  test_refusals(checkpoint);
  test_uploads(checkpoint);
  test_threads(checkpoint);
  heddle_checkpoint_destroy(checkpoint);
  return failures == 0 ? 0 : 1;
}
