/* Packed layers into device memory, on the fake driver. */
#define _POSIX_C_SOURCE 200809L

#include <stdlib.h>

#include "check.h"

int failures = 0;

/* One act-order layer, "model.proj". */
static const char kFolder[] = HEDDLE_GOLDEN "/gptq4_k256_n32_g128_actorder";

/* The device memory of the fake driver is that of the process. */
int main(void) {
  heddle_checkpoint* checkpoint = NULL;
  heddle_checkpoint_layer_info layer;
  size_t bytes = 0;
  unsigned char* packed = NULL;
  heddle_output device;
  heddle_uploader* uploader = NULL;
  void* context = NULL;
  void* stream = NULL;
  void* memory = NULL;
  layer.struct_size = sizeof layer;
  MUST(heddle_checkpoint_create(SPEC(kFolder), NULL, &checkpoint) == HEDDLE_OK);
  MUST(heddle_checkpoint_layer(checkpoint, 0, &layer) == HEDDLE_OK);
  bytes = layer.packed.bytes;
  packed = malloc(bytes);
  CHECK(posix_memalign(&memory, 16, bytes) == 0);
  memset(memory, 0, bytes);
  device.data = memory;
  device.bytes = bytes;
  CHECK(heddle_checkpoint_pack(checkpoint, 0, packed, bytes) == HEDDLE_OK);
  CHECK(cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxPushCurrent(context) == 0);
  CHECK(cuStreamCreate(&stream, 0) == 0);
  CHECK(heddle_uploader_create(NULL, 0, &uploader) == HEDDLE_OK);
  heddle_uploader_destroy(uploader);
  CHECK_CODE(heddle_uploader_create(stream, 1, &uploader), HEDDLE_ERROR_USAGE,
             "upload.staging_bytes");
  CHECK(uploader == NULL);
  CHECK(heddle_uploader_create(stream, 4096, &uploader) == HEDDLE_OK);
  CHECK(heddle_uploader_pack(uploader, checkpoint, 0, device) == HEDDLE_OK);
  CHECK(heddle_uploader_finish(uploader) == HEDDLE_OK);
  CHECK(memcmp(memory, packed, bytes) == 0);
  memset(memory, 0, bytes);
  CHECK(heddle_uploader_read(uploader, checkpoint, SPEC("model.proj.heddle"), device) == HEDDLE_OK);
  CHECK(heddle_uploader_finish(uploader) == HEDDLE_OK);
  CHECK(memcmp(memory, packed, bytes) == 0);
  CHECK(heddle_uploader_write(uploader, "heddle", 6, device) == HEDDLE_OK);
  CHECK(heddle_uploader_finish(uploader) == HEDDLE_OK);
  CHECK(memcmp(memory, "heddle", 6) == 0);

  CHECK_CODE(heddle_uploader_write(uploader, NULL, 6, device), HEDDLE_ERROR_USAGE, "upload.null");
  CHECK_CODE(heddle_uploader_pack(uploader, checkpoint, 1, device), HEDDLE_ERROR_USAGE,
             "api.index");
  device.bytes = bytes - 1;
  CHECK_CODE(heddle_uploader_pack(uploader, checkpoint, 0, device), HEDDLE_ERROR_USAGE,
             "upload.too_small");
  device.bytes = 5;
  CHECK_CODE(heddle_uploader_write(uploader, "heddle", 6, device), HEDDLE_ERROR_USAGE,
             "upload.too_small");
  device.data = NULL;
  CHECK_CODE(heddle_uploader_pack(uploader, checkpoint, 0, device), HEDDLE_ERROR_USAGE,
             "upload.null");
  heddle_uploader_destroy(uploader);
  heddle_checkpoint_destroy(checkpoint);
  free(memory);
  free(packed);
  return failures == 0 ? 0 : 1;
}
