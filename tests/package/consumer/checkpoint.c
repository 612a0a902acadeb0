/* The smallest C program that packs the layers of a checkpoint. */
#include <heddle/c/checkpoint.h>
#include <stdio.h>
#include <stdlib.h>

static int pack(const heddle_checkpoint* checkpoint, size_t index) {
  heddle_checkpoint_layer_info layer;
  void* packed = NULL;
  heddle_status status;
  layer.struct_size = sizeof layer;
  if (heddle_checkpoint_layer(checkpoint, index, &layer) != HEDDLE_OK) return 0;
  packed = malloc(layer.packed.bytes);
  if (packed == NULL) return 0;
  status = heddle_checkpoint_pack(checkpoint, index, packed, layer.packed.bytes);
  free(packed);
  if (status == HEDDLE_OK) printf("%s: %zu packed bytes\n", layer.name.data, layer.packed.bytes);
  return status == HEDDLE_OK;
}

int main(int argc, char** argv) {
  heddle_checkpoint* checkpoint = NULL;
  size_t count = 0, tensors = 0;
  size_t i = 0;
  size_t length = 0;
  if (argc != 2) return 2;
  while (argv[1][length] != '\0') ++length;
  if (heddle_checkpoint_create(argv[1], length, NULL, &checkpoint) == HEDDLE_OK) {
    heddle_checkpoint_counts(checkpoint, &count, &tensors);
    while (i < count && pack(checkpoint, i)) ++i;
    heddle_checkpoint_destroy(checkpoint);
  }
  if (count > 0 && i == count) return 0;
  fprintf(stderr, "%s: %s\n", heddle_error_code(), heddle_error_message());
  return 1;
}
