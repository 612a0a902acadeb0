#include "tools/gpu_harness/device/cublas.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include "heddle/error.h"

namespace heddle {
namespace {

// cuBLAS's ABI: enumerators by value.
constexpr int kOpNone = 0;
constexpr int kOpTranspose = 1;
constexpr int kReal16F = 2;
constexpr int kReal16Bf = 14;
constexpr int kCompute32F = 68;
constexpr int kDefaultAlgorithm = -1;
constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

void check_cublas(int status, const char* call) {
  if (status == 0) return;
  throw Error(ErrorCategory::kDriver, "cublas.call",
              fmt::format("{} failed with status {}", call, status));
}

void* open_library() {
  for (const char* name :
       {"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.13",
        "/usr/local/cuda/lib64/libcublas.so.12"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

}  // namespace

struct Cublas::Functions {
  int (*create)(void** handle) = nullptr;
  int (*destroy)(void* handle) = nullptr;
  int (*set_stream)(void* handle, cuda::CUstream stream) = nullptr;
  int (*set_workspace)(void* handle, void* workspace, std::size_t bytes) = nullptr;
  int (*gemm_ex)(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha,
                 const void* a, int type_a, int lda, const void* b, int type_b, int ldb,
                 const void* beta, void* c, int type_c, int ldc, int compute,
                 int algorithm) = nullptr;
};

std::unique_ptr<Cublas> Cublas::open(const OwnedStream& stream, std::string* why_not) {
  void* library = open_library();
  if (library == nullptr) {
    const char* reason = dlerror();
    if (why_not != nullptr) *why_not = reason != nullptr ? reason : "libcublas was not found";
    return nullptr;
  }
  auto functions = std::make_unique<Functions>();
  bool complete = true;
  const auto resolve = [&](const char* name, auto*& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    complete = complete && function != nullptr;
  };
  resolve("cublasCreate_v2", functions->create);
  resolve("cublasDestroy_v2", functions->destroy);
  resolve("cublasSetStream_v2", functions->set_stream);
  resolve("cublasSetWorkspace_v2", functions->set_workspace);
  resolve("cublasGemmEx", functions->gemm_ex);
  if (!complete) {
    if (why_not != nullptr) *why_not = "libcublas lacks a function that is needed";
    return nullptr;
  }
  return std::unique_ptr<Cublas>(new Cublas(std::move(functions), stream));
}

Cublas::Cublas(std::unique_ptr<Functions> functions, const OwnedStream& stream)
    : functions_(std::move(functions)), workspace_(kWorkspaceBytes) {
  check_cublas(functions_->create(&handle_), "cublasCreate");
  // Setting the stream resets the workspace, so it comes first.
  int status = functions_->set_stream(handle_, stream.get());
  if (status == 0) {
    status = functions_->set_workspace(handle_, workspace_.get(), workspace_.bytes());
  }
  if (status != 0) functions_->destroy(handle_);
  check_cublas(status, "cublasSetWorkspace");
}

Cublas::~Cublas() { functions_->destroy(handle_); }

void Cublas::gemm(const void* x, const void* w, void* y, int m, int n, int k, bool bf16) const {
  const float one = 1;
  const float zero = 0;
  const int type = bf16 ? kReal16Bf : kReal16F;
  // cuBLAS counts columns first: it computes y^T [n, m] = w [n, k] * x^T [k, m].
  check_cublas(functions_->gemm_ex(handle_, kOpTranspose, kOpNone, n, m, k, &one, w, type, k, x,
                                   type, k, &zero, y, type, n, kCompute32F, kDefaultAlgorithm),
               "cublasGemmEx");
}

}  // namespace heddle
