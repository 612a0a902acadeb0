#include "runtime/driver/cuda_abi.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace heddle {
namespace {

// The macro compares the enumerator `name` here with the one of cuda.h.
#define SAME(name) EXPECT_EQ(static_cast<int>(cuda::name), static_cast<int>(::name)) << #name

TEST(CudaAbiTest, ResultsAreThoseOfCudaH) {
  SAME(CUDA_SUCCESS);
  SAME(CUDA_ERROR_INVALID_VALUE);
  SAME(CUDA_ERROR_OUT_OF_MEMORY);
  SAME(CUDA_ERROR_NOT_INITIALIZED);
  SAME(CUDA_ERROR_DEINITIALIZED);
  SAME(CUDA_ERROR_NO_DEVICE);
  SAME(CUDA_ERROR_INVALID_CONTEXT);
  SAME(CUDA_ERROR_NOT_FOUND);
  SAME(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

TEST(CudaAbiTest, DeviceAndFunctionAttributesAreThoseOfCudaH) {
  SAME(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  SAME(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  SAME(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  SAME(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  SAME(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  SAME(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  SAME(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  SAME(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  SAME(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  SAME(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  SAME(CU_FUNC_ATTRIBUTE_NUM_REGS);
  SAME(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  SAME(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
}

TEST(CudaAbiTest, OtherEnumeratorsAreThoseOfCudaH) {
  SAME(CU_STREAM_DEFAULT);
  SAME(CU_STREAM_NON_BLOCKING);
  SAME(CU_EVENT_DEFAULT);
  SAME(CU_EVENT_DISABLE_TIMING);
  SAME(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  SAME(CU_STREAM_CAPTURE_MODE_RELAXED);
  SAME(CU_STREAM_CAPTURE_STATUS_NONE);
  SAME(CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(cuda::kPortableHostMemory, unsigned{CU_MEMHOSTALLOC_PORTABLE});
  SAME(CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
  SAME(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
  SAME(CU_GET_PROC_ADDRESS_LEGACY_STREAM);
  SAME(CU_GET_PROC_ADDRESS_SUCCESS);
  SAME(CU_LAUNCH_ATTRIBUTE_IGNORE);
  SAME(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  SAME(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  SAME(CU_TENSOR_MAP_DATA_TYPE_UINT32);
  SAME(CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
  SAME(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  SAME(CU_TENSOR_MAP_INTERLEAVE_NONE);
  SAME(CU_TENSOR_MAP_SWIZZLE_NONE);
  SAME(CU_TENSOR_MAP_SWIZZLE_128B);
  SAME(CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  SAME(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
#undef SAME

static_assert(sizeof(cuda::CUresult) == sizeof(::CUresult));
static_assert(sizeof(cuda::CUdevice) == sizeof(::CUdevice));
static_assert(sizeof(cuda::CUdeviceptr) == sizeof(::CUdeviceptr));
static_assert(sizeof(cuda::CUlaunchAttributeID) == sizeof(::CUlaunchAttributeID));
static_assert(sizeof(cuda::CUlaunchAttributeValue) == sizeof(::CUlaunchAttributeValue));
static_assert(sizeof(cuda::CUlaunchAttribute) == sizeof(::CUlaunchAttribute));
static_assert(alignof(cuda::CUlaunchAttribute) == alignof(::CUlaunchAttribute));
static_assert(sizeof(cuda::CUlaunchConfig) == sizeof(::CUlaunchConfig));
static_assert(sizeof(cuda::CUtensorMap) == sizeof(::CUtensorMap));
static_assert(alignof(cuda::CUtensorMap) == alignof(::CUtensorMap));

TEST(CudaAbiTest, StructsHaveTheirFieldsWhereCudaHHasThem) {
#define SAME_OFFSET(type, field) \
  EXPECT_EQ(offsetof(cuda::type, field), offsetof(::type, field)) << #type "::" #field
  SAME_OFFSET(CUlaunchAttribute, id);
  SAME_OFFSET(CUlaunchAttribute, value);
  SAME_OFFSET(CUlaunchConfig, gridDimX);
  SAME_OFFSET(CUlaunchConfig, gridDimY);
  SAME_OFFSET(CUlaunchConfig, gridDimZ);
  SAME_OFFSET(CUlaunchConfig, blockDimX);
  SAME_OFFSET(CUlaunchConfig, blockDimY);
  SAME_OFFSET(CUlaunchConfig, blockDimZ);
  SAME_OFFSET(CUlaunchConfig, sharedMemBytes);
  SAME_OFFSET(CUlaunchConfig, hStream);
  SAME_OFFSET(CUlaunchConfig, attrs);
  SAME_OFFSET(CUlaunchConfig, numAttrs);
#undef SAME_OFFSET
}

}  // namespace
}  // namespace heddle

#else

TEST(CudaAbiTest, IsComparedWhereCudaHIsInstalled) { GTEST_SKIP() << "no cuda.h"; }

#endif
