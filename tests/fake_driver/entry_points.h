// The entry points that lookup_entry_points.cc finds in other files.
#ifndef HEDDLE_TESTS_FAKE_DRIVER_ENTRY_POINTS_H_
#define HEDDLE_TESTS_FAKE_DRIVER_ENTRY_POINTS_H_

#include "runtime/driver/cuda_abi.h"

namespace heddle::fake {

using namespace cuda;

extern "C" {

CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDeviceGetCount(int* count);
CUresult cuDeviceGetName(char* name, int size, CUdevice device);
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device);
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);
CUresult cuCtxGetCurrent(CUcontext* context);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxPushCurrent(CUcontext context);
CUresult cuCtxPopCurrent(CUcontext* context);
CUresult cuCtxGetDevice(CUdevice* device);
CUresult cuCtxSynchronize();
CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**,
                           unsigned int, CUlibraryOption*, void**, unsigned int);
CUresult cuLibraryUnload(CUlibrary library);
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name);
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice device);
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute, CUkernel, CUdevice);
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, unsigned int, void*,
                                const std::uint64_t*, const std::uint64_t*, const unsigned int*,
                                const unsigned int*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void**, void**);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, std::size_t);
CUresult cuMemAlloc(CUdeviceptr* memory, std::size_t bytes);
CUresult cuMemFree(CUdeviceptr memory);
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream);
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream);
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream);
CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned int);
CUresult cuMemFreeHost(void* memory);
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream);
CUresult cuEventCreate(CUevent* event, unsigned int);
CUresult cuEventDestroy(CUevent event);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);
CUresult cuStreamCreate(CUstream* stream, unsigned int);
CUresult cuStreamDestroy(CUstream stream);
CUresult cuStreamSynchronize(CUstream);
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode);
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph);
CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, std::uint64_t);
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream);
CUresult cuGraphExecDestroy(CUgraphExec executable);
CUresult cuGraphDestroy(CUgraph graph);
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, std::uint64_t* id,
                                CUgraph*, const CUgraphNode**, std::size_t*);
CUresult cuThreadExchangeStreamCaptureMode(int* mode);

}  // extern "C"

}  // namespace heddle::fake

#endif  // HEDDLE_TESTS_FAKE_DRIVER_ENTRY_POINTS_H_
