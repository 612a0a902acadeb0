"""A GEMM on a real GPU against FP64, by PyTorch or by raw memory of the driver.

Skipped where there is none; takes tensors and the stream of PyTorch where that is there, too.
"""

import ctypes
import sys

import numpy as np
import pytest
from conftest import gemm

N, K, M = 512, 1024, 7


@pytest.fixture(scope="module")
def spec():
    return gemm(N, K, weight={"bits": 4, "group_size": 128, "zero_point": "int"})


@pytest.fixture
def gpu(heddle):
    if "fake_driver" in sys.modules:
        pytest.skip("needs a process of its own: another test has loaded the fake driver")
    runtime = heddle.Runtime()
    if not runtime.has_device():
        pytest.skip("needs a GPU: libcuda finds none")
    return runtime


@pytest.fixture(scope="module")
def problem(spec):
    import heddle

    random = np.random.default_rng(11)
    codes = random.integers(0, 16, (N, K), np.uint8)
    scales = (random.random((N, K // 128)) * 0.02 + 0.01).astype(np.float16)
    zeros = random.integers(0, 16, (N, K // 128), np.uint8)
    x = random.standard_normal((M, K)).astype(np.float16)
    w = ((codes.astype(np.float64) - np.repeat(zeros, 128, axis=1))
         * np.repeat(scales.astype(np.float64), 128, axis=1))
    return x, heddle.pack_weights(spec, codes, scales, zeros), x.astype(np.float64) @ w.T


def check(y, expected):
    error = np.abs(y.astype(np.float64) - expected)
    assert np.isfinite(y).all()
    assert (error <= 4e-3 * np.abs(expected).max()).all(), error.max()


class Driver:
    """What the test needs of libcuda, in the primary context of device 0."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.call("cuCtxPushCurrent_v2", self.context)
        self.memory = []

    def call(self, name, *arguments):
        assert getattr(self.cuda, name)(*arguments) == 0, name

    def copy_of(self, array):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(array.nbytes, 1)))
        self.memory.append(pointer)
        self.call("cuMemcpyHtoD_v2", pointer, array.ctypes.data_as(ctypes.c_void_p),
                  ctypes.c_size_t(array.nbytes))
        return pointer.value

    def read(self, pointer, array):
        self.call("cuCtxSynchronize")
        self.call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p),
                  ctypes.c_uint64(pointer), ctypes.c_size_t(array.nbytes))

    def close(self):
        for pointer in self.memory:
            self.call("cuMemFree_v2", pointer)
        self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        self.call("cuDevicePrimaryCtxRelease_v2", 0)


class Interface:
    def __init__(self, pointer, array):
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "data": (pointer, False),
            "strides": None, "version": 3}


def test_a_gemm_on_memory_of_the_driver(heddle, gpu, spec, problem):
    x, packed, expected = problem
    driver = Driver()
    try:
        kernel = gpu.kernel(spec)
        y = np.full((M, N), np.nan, np.float16)
        workspace = np.zeros(max(kernel.max_workspace_bytes, 16), np.uint8)
        arrays = {"x": x, "weights": packed, "y": y, "workspace": workspace}
        given = {name: Interface(driver.copy_of(array), array) for name, array in arrays.items()}
        launch = kernel.bind(**given)
        launch()
        out = given["y"].__cuda_array_interface__["data"][0]
        driver.read(out, y)
        check(y, expected)
        first = y.copy()
        launch()
        driver.read(out, y)
        np.testing.assert_array_equal(first, y)
    finally:
        driver.close()


def test_a_gemm_on_tensors_of_torch(heddle, gpu, spec, problem):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    if not torch.cuda.is_available():
        pytest.skip("needs a PyTorch with CUDA")
    x, packed, expected = problem
    kernel = gpu.kernel(spec)
    given = {"x": torch.from_numpy(x).cuda(), "weights": torch.from_numpy(packed).cuda(),
             "y": torch.full((M, N), float("nan"), dtype=torch.float16, device="cuda"),
             "workspace": torch.zeros(max(kernel.max_workspace_bytes, 16), dtype=torch.uint8,
                                      device="cuda")}
    torch.cuda.synchronize()
    launch = kernel.bind(**given)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        launch()
    stream.synchronize()
    check(given["y"].cpu().numpy(), expected)
    graph = torch.cuda.CUDAGraph()
    given["y"].fill_(float("nan"))
    with torch.cuda.graph(graph):
        launch()
    graph.replay()
    torch.cuda.synchronize()
    check(given["y"].cpu().numpy(), expected)
    with pytest.raises(heddle.UsageError, match=r"^x has elements of the type float32"):
        kernel.launch(**{**given, "x": given["x"].float()})
