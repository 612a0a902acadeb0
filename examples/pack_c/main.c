/* Reads a quantised checkpoint and packs the weights of each of its layers, in C99, on the C API.
 *   heddle_pack_c folder      prints each layer's name and spec
 * Needs no GPU. Exits with 0: done, 1: the checkpoint cannot be read, 2: wrong arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/c/checkpoint.h"

/* Heddle's message names the file where one is at fault; what the work was of is told in any case.
 */
static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, heddle_error_message());
  return 1;
}

int main(int argc, char** argv) {
  heddle_checkpoint* checkpoint = NULL;
  heddle_checkpoint_layer_info layer;
  size_t layers = 0, tensors = 0;
  size_t i;
  if (argc != 2) {
    fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  if (heddle_checkpoint_create(argv[1], strlen(argv[1]), NULL, &checkpoint) != HEDDLE_OK) {
    return failed(argv[1]);
  }
  heddle_checkpoint_counts(checkpoint, &layers, &tensors);
  for (i = 0; i < layers; ++i) {
    void* memory;
    layer.struct_size = sizeof layer;
    heddle_checkpoint_layer(checkpoint, i, &layer);
    printf("%s: %s\n", layer.name.data, layer.spec.data);
    memory = malloc(layer.packed.bytes);
    if (memory == NULL) {
      fprintf(stderr, "%s: no memory for its %lu bytes\n", layer.name.data,
              (unsigned long)layer.packed.bytes);
      return 1;
    }
    if (heddle_checkpoint_pack(checkpoint, i, memory, layer.packed.bytes) != HEDDLE_OK) {
      return failed(layer.name.data);
    }
    free(memory);
  }
  heddle_checkpoint_destroy(checkpoint);
  return 0;
}
