/* From a model's config.json to the cubins of all its kernels, for a GPU that this machine need not
 * have. In C99, on the C API.
 *   heddle_compile_c config.json h200 folder      writes folder/<key>.cubin
 * Exits with 0: done, 1: failed or nothing to compile, 2: wrong arguments, 77: no NVRTC to compile
 * with. Some models have further files beside the config that say how they are quantised: see
 * heddle_model_texts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/heddle.h"

static void need(heddle_status status, const char* what) {
  if (status == HEDDLE_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, heddle_error_code(), heddle_error_message());
  exit(strcmp(heddle_error_code(), "nvrtc.missing") == 0 ? 77 : 1);
}

static heddle_text read_file(const char* path) {
  heddle_text text;
  char* data = NULL;
  long size = 0;
  FILE* file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) {
    fprintf(stderr, "cannot read %s: %s\n", path, strerror(errno));
    exit(2);
  }
  rewind(file);
  data = malloc((size_t)size + 1);
  if (data == NULL || fread(data, 1, (size_t)size, file) != (size_t)size) {
    fprintf(stderr, "cannot read %s: %s\n", path, strerror(errno));
    exit(2);
  }
  fclose(file);
  text.data = data;
  text.length = (size_t)size;
  return text;
}

static void write_file(const char* folder, heddle_text name, const void* data, size_t bytes) {
  char path[4096];
  FILE* file = NULL;
  int length = snprintf(path, sizeof path, "%s/%s.cubin", folder, name.data);
  if (length > 0 && (size_t)length < sizeof path) file = fopen(path, "wb");
  if (file == NULL || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0) {
    fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
    exit(1);
  }
}

/* The specs of the model, as texts that live as long as it. */
static size_t specs_of(const heddle_model* model, heddle_text** specs) {
  heddle_text remarks;
  size_t count = 0, rows = 0, i = 0;
  need(heddle_model_counts(model, &count, &rows), "model");
  *specs = calloc(count + 1, sizeof **specs);
  if (*specs == NULL) exit(1);
  for (i = 0; i < count; ++i) {
    heddle_model_kernel_info kernel;
    kernel.struct_size = sizeof kernel;
    need(heddle_model_kernel(model, i, &kernel), "spec");
    printf("%s: %s, in %d layers\n", kernel.name.data, kernel.covers.data, (int)kernel.layers);
    (*specs)[i] = kernel.spec;
  }
  /* What was assumed, and what no kernel serves. */
  need(heddle_model_remarks(model, &remarks), "remarks");
  if (remarks.length > 0) puts(remarks.data);
  return count;
}

static int32_t show(void* user, const char* kernel_name, size_t done, size_t total) {
  (void)user;
  printf("[%u/%u] %s\n", (unsigned)done, (unsigned)total, kernel_name);
  return 1; /* 0 would cancel */
}

int main(int argc, char** argv) {
  heddle_model_texts texts;
  heddle_target_info gpu = {0};
  heddle_model* model = NULL;
  heddle_target* target = NULL;
  heddle_runtime* runtime = NULL;
  heddle_build* build = NULL;
  heddle_text* specs = NULL;
  size_t count = 0, kernels = 0, i = 0;
  if (argc != 4) {
    fprintf(stderr, "usage: %s CONFIG TARGET FOLDER\n", argv[0]);
    return 2;
  }
  memset(&texts, 0, sizeof texts);
  texts.struct_size = sizeof texts;
  texts.config = read_file(argv[1]);
  gpu.struct_size = sizeof gpu;
  need(heddle_target_create(argv[2], strlen(argv[2]), &target), argv[2]);
  need(heddle_target_get(target, &gpu), "target");
  texts.arch = 10 * gpu.major + gpu.minor; /* decides whether activations have 8 bits */
  need(heddle_model_create(&texts, &model), argv[1]);
  count = specs_of(model, &specs);

  need(heddle_runtime_create(NULL, &runtime), "runtime");
  need(heddle_build_create(runtime, target, specs, count, show, NULL, &build), "build");
  need(heddle_build_count(build, &kernels), "build");
  for (i = 0; i < kernels; ++i) {
    heddle_build_kernel_info kernel;
    kernel.struct_size = sizeof kernel;
    need(heddle_build_kernel(build, i, &kernel), "kernel");
    printf("%s: %s, %u bytes, %d registers, %s\n", kernel.kernel_name.data, kernel.arch.data,
           (unsigned)kernel.cubin_bytes, (int)kernel.registers, kernel.hit ? "found" : "compiled");
    write_file(argv[3], kernel.key, kernel.cubin, kernel.cubin_bytes);
  }
  printf("%u kernels of %u specs\n", (unsigned)kernels, (unsigned)count);
  if (kernels == 0) fprintf(stderr, "%s: no kernel serves any of its layers\n", argv[1]);

  heddle_build_destroy(build);
  heddle_runtime_destroy(runtime);
  heddle_target_destroy(target);
  heddle_model_destroy(model);
  free(specs);
  free((void*)texts.config.data);
  return kernels > 0 ? 0 : 1;
}
