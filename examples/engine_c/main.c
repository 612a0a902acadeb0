/* An engine in C99: prepares the kernels of a model of two layers, launches the one after the other
 * and checks what comes out against doubles.
 *   heddle_engine_c      exits with 0: right, 1: wrong or failed, 77: no GPU */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/heddle.h"

enum { kHidden = 512, kInner = 1024, kGroup = 128, kTokens = 5 };

/* One linear layer, Y = X W^T, with 4-bit weights and a scale per group of 128. */
typedef struct layer {
  const char* spec;
  size_t n, k;
  uint8_t* codes;
  uint16_t* scales;
  void* packed; /* on the device */
  size_t packed_bytes;
  void* workspace;
  size_t workspace_bytes;
  heddle_kernel* kernel;
} layer;

static void fail(const char* what) {
  fprintf(stderr, "%s: %s: %s\n", what, heddle_error_code(), heddle_error_message());
  exit(1);
}
static void need(heddle_status status, const char* what) {
  if (status != HEDDLE_OK) fail(what);
}

/* The calls of the CUDA driver that an engine needs for itself; a real one links to it. */
typedef size_t device_pointer;
static int (*ctx_retain)(void**, int);
static int (*ctx_set)(void*);
static int (*mem_alloc)(device_pointer*, size_t);
static int (*copy_in)(device_pointer, const void*, size_t);
static int (*copy_out)(void*, device_pointer, size_t);
static int (*stream_create)(void**, unsigned);
static int (*stream_wait)(void*);

static void cuda(int result, const char* call) {
  if (result == 0) return;
  fprintf(stderr, "%s gives %d\n", call, result);
  exit(1);
}
static void find(void* library, const char* name, void* function) {
  void* found = dlsym(library, name);
  if (found == NULL) exit(1);
  memcpy(function, &found, sizeof found); /* C has no cast from data to functions */
}
static void open_driver(void) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) exit(77);
  find(library, "cuDevicePrimaryCtxRetain", &ctx_retain);
  find(library, "cuCtxSetCurrent", &ctx_set);
  find(library, "cuMemAlloc_v2", &mem_alloc);
  find(library, "cuMemcpyHtoD_v2", &copy_in);
  find(library, "cuMemcpyDtoH_v2", &copy_out);
  find(library, "cuStreamCreate", &stream_create);
  find(library, "cuStreamSynchronize", &stream_wait);
}
static void* to_device(const void* data, size_t bytes) {
  device_pointer at = 0;
  void* pointer = NULL;
  if (bytes == 0) return NULL;
  cuda(mem_alloc(&at, bytes), "cuMemAlloc");
  cuda(copy_in(at, data, bytes), "cuMemcpyHtoD");
  memcpy(&pointer, &at, sizeof pointer);
  return pointer;
}

static double half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -size : size;
}

static unsigned random_state = 1;
static unsigned random_bits(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return random_state >> 8;
}
/* A number of either sign, with a size from 2^-power to 2^(1 - power). */
static uint16_t random_half(unsigned power) {
  return (uint16_t)((random_bits() & 0x8000) | (15 - power) << 10 | (random_bits() & 1023));
}

static void* allocate(size_t bytes) {
  void* memory = calloc(bytes == 0 ? 1 : bytes, 1);
  if (memory == NULL) exit(1);
  return memory;
}

static void load_layer(heddle_runtime* runtime, layer* layer) {
  heddle_quantized_weights weights;
  uint8_t *packed = NULL, *zeros = NULL;
  size_t i = 0;
  const size_t groups = layer->k / kGroup;
  layer->codes = allocate(layer->n * layer->k);
  layer->scales = allocate(layer->n * groups * 2);
  for (i = 0; i < layer->n * layer->k; ++i) layer->codes[i] = (uint8_t)(random_bits() & 15);
  for (i = 0; i < layer->n * groups; ++i) layer->scales[i] = random_half(6);
  memset(&weights, 0, sizeof weights);
  weights.struct_size = sizeof weights;
  weights.codes = layer->codes;
  weights.codes_bytes = layer->n * layer->k;
  weights.scales = layer->scales;
  weights.scales_bytes = layer->n * groups * 2;
  need(heddle_packed_bytes(layer->spec, strlen(layer->spec), &layer->packed_bytes), "layout");
  packed = allocate(layer->packed_bytes);
  need(heddle_pack_weights(layer->spec, strlen(layer->spec), &weights, packed, layer->packed_bytes),
       "pack");
  layer->packed = to_device(packed, layer->packed_bytes);
  free(packed);
  need(heddle_kernel_create(runtime, layer->spec, strlen(layer->spec), NULL, &layer->kernel),
       "kernel");
  need(heddle_kernel_max_workspace_bytes(layer->kernel, &layer->workspace_bytes), "workspace");
  zeros = allocate(layer->workspace_bytes);
  layer->workspace = to_device(zeros, layer->workspace_bytes);
  free(zeros);
}

static void launch(const layer* layer, const void* x, void* y, void* stream) {
  heddle_gemm_args args;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.m = kTokens;
  args.x.data = x;
  args.x.bytes = kTokens * layer->k * 2;
  args.weights.data = layer->packed;
  args.weights.bytes = layer->packed_bytes;
  args.y.data = y;
  args.y.bytes = kTokens * layer->n * 2;
  args.workspace.data = layer->workspace;
  args.workspace.bytes = layer->workspace_bytes;
  need(heddle_launch_gemm(layer->kernel, &args, stream), "launch");
}

/* The squared error of y, and its squared size in *norm. */
static double error_of(const layer* layer, const uint16_t* x, const uint16_t* y, double* norm) {
  double error = 0;
  size_t token = 0, row = 0, i = 0;
  for (token = 0; token < kTokens; ++token) {
    for (row = 0; row < layer->n; ++row) {
      double sum = 0, off = 0;
      for (i = 0; i < layer->k; ++i) {
        const double scale = half_value(layer->scales[row * (layer->k / kGroup) + i / kGroup]);
        sum += (layer->codes[row * layer->k + i] - 8) * scale * half_value(x[token * layer->k + i]);
      }
      off = half_value(y[token * layer->n + row]) - sum;
      error += off * off;
      *norm += sum * sum;
    }
  }
  return error;
}

static int32_t show(void* user, const char* kernel_name, size_t done, size_t total) {
  (void)user;
  printf("[%u/%u] %s\n", (unsigned)done, (unsigned)total, kernel_name);
  return 1;
}

int main(void) {
  layer layers[2];
  heddle_text specs[2];
  heddle_runtime* runtime = NULL;
  void *context = NULL, *stream = NULL, *device[3];
  uint16_t* host[3];
  const size_t sizes[3] = {kHidden, kInner, kHidden};
  double error = 0, norm = 0;
  int32_t has_device = 0;
  size_t i = 0;
  memset(layers, 0, sizeof layers);
  layers[0].spec =
      "{\"heddle\":1,\"op\":\"gemm\",\"name\":\"up\",\"shape\":{\"n\":1024,\"k\":512,\"m\":[1,16]},"
      "\"weight\":{\"bits\":4,\"group_size\":128},\"activation\":{\"dtype\":\"fp16\"}}";
  layers[1].spec =
      "{\"heddle\":1,\"op\":\"gemm\",\"name\":\"down\",\"shape\":{\"n\":512,\"k\":1024,\"m\":[1,16]"
      "},"
      "\"weight\":{\"bits\":4,\"group_size\":128},\"activation\":{\"dtype\":\"fp16\"}}";
  for (i = 0; i < 2; ++i) {
    layers[i].k = sizes[i];
    layers[i].n = sizes[i + 1];
    specs[i].data = layers[i].spec;
    specs[i].length = strlen(layers[i].spec);
  }

  need(heddle_runtime_create(NULL, &runtime), "runtime");
  need(heddle_runtime_has_device(runtime, &has_device), "device");
  if (!has_device) {
    printf("no GPU: %s\n", heddle_error_message());
    heddle_runtime_destroy(runtime);
    return 77;
  }
  /* The engine's own context and stream; Heddle works in the context that is current. */
  open_driver();
  cuda(ctx_retain(&context, 0), "cuDevicePrimaryCtxRetain");
  cuda(ctx_set(context), "cuCtxSetCurrent");
  cuda(stream_create(&stream, 0), "cuStreamCreate");
  need(heddle_prepare(runtime, specs, 2, show, NULL), "prepare");

  for (i = 0; i < 3; ++i) {
    size_t at = 0;
    host[i] = allocate(kTokens * sizes[i] * 2);
    for (at = 0; at < kTokens * sizes[i]; ++at) host[i][at] = random_half(1);
    device[i] = to_device(host[i], kTokens * sizes[i] * 2);
  }
  for (i = 0; i < 2; ++i) load_layer(runtime, &layers[i]);
  for (i = 0; i < 2; ++i) launch(&layers[i], device[i], device[i + 1], stream);
  cuda(stream_wait(stream), "cuStreamSynchronize");
  for (i = 1; i < 3; ++i) {
    device_pointer at = 0;
    memcpy(&at, &device[i], sizeof at);
    cuda(copy_out(host[i], at, kTokens * sizes[i] * 2), "cuMemcpyDtoH");
  }
  for (i = 0; i < 2; ++i) error += error_of(&layers[i], host[i], host[i + 1], &norm);
  error = sqrt(error / norm);
  printf("relative error %g\n", error);
  for (i = 0; i < 2; ++i) heddle_kernel_destroy(layers[i].kernel);
  heddle_runtime_destroy(runtime);
  return error < 1e-3 ? 0 : 1;
}
