// The CUDA driver, opened at run time.
//
// libcuda.so.1 is opened once per process, when first asked for, and never closed. Only
// cuGetProcAddress_v2 is looked up by name; it gives every other function in the version that the
// declarations here were written for, whatever the driver's newest one is.
#ifndef HEDDLE_RUNTIME_DRIVER_DRIVER_H_
#define HEDDLE_RUNTIME_DRIVER_DRIVER_H_

#include <cstddef>
#include <string>

#include "runtime/driver/cuda_abi.h"

namespace heddle::cuda {

// X(name, the CUDA version that introduced this signature, parameters)
// clang-format off
#define HEDDLE_CUDA_FUNCTIONS(X)                                                                 \
  X(cuInit, 2000, (unsigned int flags))                                                          \
  X(cuDriverGetVersion, 2020, (int* version))                                                    \
  X(cuGetErrorName, 6000, (CUresult error, const char** text))                                   \
  X(cuGetErrorString, 6000, (CUresult error, const char** text))                                 \
  X(cuDeviceGet, 2000, (CUdevice* device, int ordinal))                                          \
  X(cuDeviceGetCount, 2000, (int* count))                                                        \
  X(cuDeviceGetName, 2000, (char* name, int size, CUdevice device))                              \
  X(cuDeviceTotalMem, 3020, (std::size_t* bytes, CUdevice device))                               \
  X(cuDeviceGetAttribute, 2000, (int* value, CUdevice_attribute attribute, CUdevice device))     \
  X(cuDevicePrimaryCtxRetain, 7000, (CUcontext* context, CUdevice device))                       \
  X(cuDevicePrimaryCtxRelease, 11000, (CUdevice device))                                         \
  X(cuCtxGetCurrent, 4000, (CUcontext* context))                                                 \
  X(cuCtxSetCurrent, 4000, (CUcontext context))                                                  \
  X(cuCtxPushCurrent, 4000, (CUcontext context))                                                 \
  X(cuCtxPopCurrent, 4000, (CUcontext* context))                                                 \
  X(cuCtxGetDevice, 2000, (CUdevice* device))                                                    \
  X(cuCtxSynchronize, 2000, ())                                                                  \
  X(cuLibraryLoadData, 12000, (CUlibrary* library, const void* code, CUjit_option* jit_options,  \
                               void** jit_values, unsigned int jit_count,                        \
                               CUlibraryOption* options, void** values, unsigned int count))     \
  X(cuLibraryUnload, 12000, (CUlibrary library))                                                 \
  X(cuLibraryGetKernel, 12000, (CUkernel* kernel, CUlibrary library, const char* name))          \
  X(cuKernelSetAttribute, 12000, (CUfunction_attribute attribute, int value, CUkernel kernel,    \
                                  CUdevice device))                                              \
  X(cuKernelGetAttribute, 12000, (int* value, CUfunction_attribute attribute, CUkernel kernel,   \
                                  CUdevice device))                                              \
  X(cuLaunchKernelEx, 11060, (const CUlaunchConfig* config, CUfunction function,                 \
                              void** parameters, void** extra))                                  \
  X(cuTensorMapEncodeTiled, 12000, (CUtensorMap* map, CUtensorMapDataType type,                  \
                                    unsigned int rank, void* address,                            \
                                    const std::uint64_t* sizes, const std::uint64_t* strides,    \
                                    const unsigned int* box, const unsigned int* steps,          \
                                    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,\
                                    CUtensorMapL2promotion promotion,                            \
                                    CUtensorMapFloatOOBfill fill))                               \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, (int* blocks, CUfunction function,        \
                                                        int block_size, std::size_t shared))     \
  X(cuMemGetInfo, 3020, (std::size_t* free_bytes, std::size_t* total_bytes))                     \
  X(cuMemAlloc, 3020, (CUdeviceptr* pointer, std::size_t bytes))                                 \
  X(cuMemFree, 3020, (CUdeviceptr pointer))                                                      \
  X(cuMemHostAlloc, 2020, (void** memory, std::size_t bytes, unsigned int flags))                \
  X(cuMemFreeHost, 2000, (void* memory))                                                         \
  X(cuMemcpyHtoDAsync, 3020, (CUdeviceptr to, const void* from, std::size_t bytes,               \
                              CUstream stream))                                                  \
  X(cuMemcpyDtoHAsync, 3020, (void* to, CUdeviceptr from, std::size_t bytes, CUstream stream))   \
  X(cuMemcpyDtoDAsync, 3020, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes,               \
                              CUstream stream))                                                  \
  X(cuMemsetD8Async, 3020, (CUdeviceptr to, unsigned char value, std::size_t count,              \
                            CUstream stream))                                                    \
  X(cuPointerGetAttribute, 4000, (void* value, CUpointer_attribute attribute,                    \
                                  CUdeviceptr pointer))                                          \
  X(cuStreamCreate, 2000, (CUstream* stream, unsigned int flags))                                \
  X(cuStreamDestroy, 4000, (CUstream stream))                                                    \
  X(cuStreamSynchronize, 2000, (CUstream stream))                                                \
  X(cuStreamBeginCapture, 10010, (CUstream stream, CUstreamCaptureMode mode))                    \
  X(cuStreamEndCapture, 10000, (CUstream stream, CUgraph* graph))                                \
  X(cuStreamGetCaptureInfo, 11030, (CUstream stream, CUstreamCaptureStatus* status,              \
                                    std::uint64_t* id, CUgraph* graph,                           \
                                    const CUgraphNode** nodes, std::size_t* node_count))         \
  X(cuThreadExchangeStreamCaptureMode, 10010, (CUstreamCaptureMode * mode))                      \
  X(cuEventCreate, 2000, (CUevent* event, unsigned int flags))                                   \
  X(cuEventDestroy, 4000, (CUevent event))                                                       \
  X(cuEventRecord, 2000, (CUevent event, CUstream stream))                                       \
  X(cuEventSynchronize, 2000, (CUevent event))                                                   \
  X(cuEventElapsedTime, 2000, (float* milliseconds, CUevent start, CUevent end))                 \
  X(cuGraphInstantiateWithFlags, 11040, (CUgraphExec* exec, CUgraph graph,                       \
                                         unsigned long long flags))                              \
  X(cuGraphLaunch, 10000, (CUgraphExec exec, CUstream stream))                                   \
  X(cuGraphExecDestroy, 10000, (CUgraphExec exec))                                               \
  X(cuGraphDestroy, 10000, (CUgraph graph))
// clang-format on

struct Driver {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a name and a parameter list cannot stand in them.
#define HEDDLE_CUDA_MEMBER(name, version, parameters) CUresult(*name) parameters = nullptr;
  HEDDLE_CUDA_FUNCTIONS(HEDDLE_CUDA_MEMBER)
#undef HEDDLE_CUDA_MEMBER
};

// The initialised driver. Throws Error(kDriver, "driver.missing") where libcuda cannot be opened,
// "driver.too_old" where it lacks a function, "driver.forked" in a child of the process that opened
// it, where CUDA works no more, and cuInit's own error. Any thread.
const Driver& driver();

// As above, without an exception: nullptr, and the reason in `why_not` if that is not null.
const Driver* try_driver(std::string* why_not);

// Whether this process is a fork of one that has used the driver; then no call of it may be made,
// not even to release something. One load of a flag.
bool driver_is_forked() noexcept;
// Throws Error(kDriver, "driver.forked") if it is.
void refuse_forked();

// Throws Error(kDriver, "driver.<NAME>") with the driver's own words unless `result` is success.
void check(CUresult result, const char* call);

}  // namespace heddle::cuda

#endif  // HEDDLE_RUNTIME_DRIVER_DRIVER_H_
