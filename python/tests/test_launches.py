"""Launches on the fake driver: what arguments are checked for, and what reaches the driver."""

import gc
import json
import os
import pathlib
import subprocess
import sys
import threading
import timeit
import types
import weakref

import numpy as np
import pytest
from conftest import gemm
from fake_arrays import CPU, DlpackArray, InterfaceArray

N, K = 256, 512


@pytest.fixture
def kernel(heddle, driver, runtime):
    return runtime.kernel(gemm(N, K))


def arguments(heddle, kernel, rows=4, **changes):
    given = {
        "x": DlpackArray((rows, K)),
        "weights": DlpackArray((heddle.weight_layout(gemm(N, K)).total_bytes,), "uint8"),
        "y": DlpackArray((rows, N)),
        "workspace": DlpackArray((kernel.max_workspace_bytes,), "uint8"),
    }
    if kernel.max_workspace_bytes == 0:
        del given["workspace"]
    return {**given, **changes}


def refusal(heddle, kernel, **changes):
    with pytest.raises(heddle.UsageError) as caught:
        kernel.bind(**arguments(heddle, kernel, **changes))
    return caught.value


def test_a_kernel_says_what_it_is(heddle, kernel):
    assert isinstance(kernel, heddle.GemmKernel)
    assert (kernel.op, kernel.device, kernel.spec) == ("gemm", 0, heddle.Spec(gemm(N, K)))
    assert kernel.plan.max_workspace_bytes <= kernel.max_workspace_bytes
    assert kernel.workspace_bytes(8) <= kernel.max_workspace_bytes
    with pytest.raises(heddle.UsageError) as caught:
        kernel.workspace_bytes(9)
    assert caught.value.code == "launch.m"


@pytest.mark.parametrize("versioned", [False, True])
def test_dlpack_arrays_launch(heddle, driver, kernel, versioned):
    x = DlpackArray((4, K), versioned=versioned)
    launch = kernel.bind(**arguments(heddle, kernel, x=x))
    assert driver.launches() == []
    launch()
    stream = driver.make_stream()
    launch(stream)
    assert [at for _, at in driver.launches()] == [0, stream]
    assert driver.launches()[0][0] == kernel.plan.kernels[kernel.plan.kernel_for(4)].name
    # Nobody is asked to wait for another stream.
    assert set(x.streams) == {-1}


def test_cuda_array_interface_launches(heddle, driver, kernel):
    given = arguments(heddle, kernel, x=InterfaceArray((4, K)), y=InterfaceArray((4, N)))
    kernel.launch(**given, stream=driver.make_stream())
    assert len(driver.launches()) == 1


def test_raw_memory_launches_and_says_its_m(heddle, driver, kernel):
    x = heddle.DeviceMemory(0x10000, 4 * K * 2)
    assert refusal(heddle, kernel, x=x).code == "launch.missing"
    kernel.launch(**arguments(heddle, kernel, x=x, m=4))
    assert len(driver.launches()) == 1
    assert refusal(heddle, kernel, x=heddle.DeviceMemory(0x10000, 4 * K * 2 - 1),
                   m=4).code == "launch.too_small"
    assert refusal(heddle, kernel, x=heddle.DeviceMemory(0x10000, 4 * K * 2, device=1),
                   m=4).code == "launch.device"
    assert repr(x) == "DeviceMemory(pointer=0x10000, bytes=4096, device=-1)"


@pytest.mark.parametrize(("argument", "value", "code", "words"), [
    ("x", DlpackArray((4, K), "float32"), "launch.dtype",
     "x has elements of another type, got float32;"),
    ("x", DlpackArray((4, K), "bfloat16"), "launch.dtype", "allowed: float16"),
    ("x", InterfaceArray((4, K), "<f4"), "launch.dtype", "float32"),
    ("x", InterfaceArray((4, K), "|V2"), "launch.dtype", "|V2"),
    ("x", DlpackArray((4, K + 8)), "launch.shape",
     "x has another shape, got [4, 520]; allowed: [4, 512]"),
    ("x", DlpackArray((4 * K,)), "launch.shape", "x has another shape, got [2048]"),
    ("x", DlpackArray((2, 2, K)), "launch.shape", "x has another shape, got [2, 2, 512]"),
    ("y", DlpackArray((3, N)), "launch.shape",
     "y has another shape, got [3, 256]; allowed: [4, 256]"),
    ("weights", DlpackArray((64,), "uint8"), "launch.shape", "weights has another shape, got [64]"),
    ("weights", DlpackArray((64,), "int32"), "launch.dtype", "weights"),
    ("x", DlpackArray((4, K), strides=(2 * K, 1)), "launch.layout", "x is not contiguous"),
    ("y", DlpackArray((4, N), strides=(1, 4)), "launch.layout", "y is not contiguous"),
    ("x", InterfaceArray((4, K), strides=(4 * K, 2)), "launch.layout", "x is not contiguous"),
    ("x", DlpackArray((4, K), device=1), "launch.device",
     "another device than the kernel, got device 1; allowed: device 0"),
    ("x", DlpackArray((4, K), device_type=CPU), "launch.device", "x is not in the memory of a"),
    ("x", DlpackArray((4, K), pointer=0x10008), "launch.misaligned", "x is not aligned to 16"),
    ("x", DlpackArray((4, K), offset=8), "launch.misaligned", "x is not aligned to 16"),
    ("y", DlpackArray((4, N), versioned=True, read_only=True), "launch.read_only", "y is read-"),
    ("y", InterfaceArray((4, N), read_only=True), "launch.read_only", "y is read-only"),
    ("x", DlpackArray((4, K), pointer=0), "launch.missing", "x is a null pointer"),
    ("x", None, "launch.missing", "x is None"),
    ("y", None, "launch.missing", "y is None"),
    ("bias", DlpackArray((N,)), "launch.unexpected", "bias is given"),
    ("permutation", DlpackArray((K,), "int32"), "launch.unexpected", "permutation is given"),
    ("x", 0x10000, "launch.argument", "x is a int"),
    ("x", object(), "launch.argument", "x is a object"),
    ("x", np.zeros((4, K), np.float16), "launch.device", "x is not in the memory of a CUDA"),
    ("m", 5, "launch.shape", "got [4, 512]; allowed: m = 5"),
])
def test_a_wrong_argument_is_refused_by_name(heddle, driver, kernel, argument, value, code, words):
    error = refusal(heddle, kernel, **{argument: value})
    assert error.code == code
    assert words in str(error)
    for problem in error.problems:
        for part in (problem.value, problem.allowed):
            assert part not in problem.message or part == "", "the text has it already"
    assert driver.launches() == []


def test_arrays_of_what_is_no_dlpack(heddle, kernel):
    broken = types.SimpleNamespace(__dlpack__=lambda stream=None: 3)
    assert "no DLPack capsule" in str(refusal(heddle, kernel, x=broken))

    class Raises:
        def __dlpack__(self, stream=None):
            raise BufferError("of the array's own")

    with pytest.raises(BufferError, match="of the array's own"):
        kernel.bind(**arguments(heddle, kernel, x=Raises()))


def test_an_m_outside_of_the_spec_is_refused(heddle, driver, kernel):
    with pytest.raises(heddle.UsageError) as caught:
        kernel.launch(**arguments(heddle, kernel, rows=9))
    assert caught.value.code == "launch.m"
    assert driver.launches() == []


def test_what_the_spec_has_must_be_given(heddle, driver, runtime):
    spec = gemm(N, K, epilogue={"bias": True, "residual": True},
                activation={"dtype": "bf16", "act_order": True, "pre_scale": True},
                output={"dtype": "fp32"})
    kernel = runtime.kernel(spec)
    given = {
        "x": DlpackArray((4, K), "bfloat16"),
        "weights": DlpackArray((heddle.weight_layout(spec).total_bytes,), "int8"),
        "y": DlpackArray((4, N), "float32"), "residual": DlpackArray((4, N), "float32"),
        "bias": DlpackArray((N,), "bfloat16"), "pre_scale": DlpackArray((K,), "uint16"),
        "permutation": DlpackArray((K,), "int32"),
        "workspace": DlpackArray((kernel.max_workspace_bytes,), "uint8"),
    }
    kernel.launch(**given)
    assert len(driver.launches()) == 2  # the gather of X first
    for name in given:
        with pytest.raises(heddle.UsageError, match=f"^{name} ") as caught:
            kernel.launch(**{**given, name: None})
        assert caught.value.code == "launch.missing", name


def test_a_workspace_that_is_too_small_launches_nothing(heddle, driver, runtime):
    spec = gemm(N, K, activation={"dtype": "fp16", "act_order": True})
    kernel = runtime.kernel(spec)
    launch = kernel.bind(**arguments(heddle, kernel, workspace=DlpackArray((16,), "uint8"),
                                     permutation=DlpackArray((K,), "int32")))
    with pytest.raises(heddle.UsageError) as caught:
        launch()
    assert caught.value.code == "launch.workspace"
    assert driver.launches() == []


def test_a_bound_launch_keeps_its_memory(heddle, kernel):
    given = arguments(heddle, kernel)
    owner = InterfaceArray((4, K))
    given["x"] = owner
    alive = weakref.ref(owner)
    launch = kernel.bind(**given)
    del given, owner
    gc.collect()
    assert alive() is not None
    launch()
    del launch
    gc.collect()
    assert alive() is None
    kept = InterfaceArray((1,))
    memory = heddle.DeviceMemory(0x10, 16, owner=kept)
    alive = weakref.ref(kept)
    del kept
    gc.collect()
    assert alive() is not None
    del memory
    gc.collect()
    assert alive() is None


def test_streams_of_libraries(heddle, driver, kernel):
    launch = kernel.bind(**arguments(heddle, kernel))
    stream = driver.make_stream()
    for value in (stream, types.SimpleNamespace(cuda_stream=stream),
                  types.SimpleNamespace(ptr=stream),
                  types.SimpleNamespace(__cuda_stream__=lambda: (0, stream))):
        launch(value)
    assert [at for _, at in driver.launches()] == [stream] * 4
    for value in ("default", -1, 1.5, []):
        with pytest.raises((heddle.UsageError, TypeError, OverflowError, RuntimeError)):
            launch(value)
    assert len(driver.launches()) == 4


TORCH = """
import sys, types
sys.path.insert(0, TESTS)
import fake_driver, heddle, conftest
from fake_arrays import DlpackArray
import test_launches as t
fake_driver.reset(); fake_driver.set_current(0)
runtime = heddle.Runtime()
kernel = runtime.kernel(conftest.gemm(t.N, t.K))
launch = kernel.bind(**t.arguments(heddle, kernel))
launch()
assert "torch" not in sys.modules
first, second = fake_driver.make_stream(), fake_driver.make_stream()
asked = []
state = {"on": False, "stream": first}
def current_stream(device=None):
    asked.append(device)
    return types.SimpleNamespace(cuda_stream=state["stream"])
sys.modules["torch"] = types.SimpleNamespace(cuda=types.SimpleNamespace(
    is_initialized=lambda: state["on"], current_stream=current_stream))
launch()
state["on"] = True
launch()
state["stream"] = second
launch()
assert [at for _, at in fake_driver.launches()] == [0, 0, first, second], fake_driver.launches()
assert asked == [0, 0], asked
"""


def test_without_a_stream_torch_is_asked_if_it_is_there(kernel):
    """In a process of its own, because what was found is kept."""
    code = TORCH.replace("TESTS", repr(str(pathlib.Path(__file__).parent)))
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_refusal_of_the_driver_is_an_exception(heddle, driver, kernel):
    launch = kernel.bind(**arguments(heddle, kernel))
    driver.fail("cuLaunchKernelEx", 2)
    with pytest.raises(heddle.DriverError, match="out of memory") as caught:
        launch()
    assert caught.value.code == "driver.CUDA_ERROR_OUT_OF_MEMORY"


def test_any_thread_may_launch(heddle, driver, kernel):
    launch = kernel.bind(**arguments(heddle, kernel))

    def work():
        driver.set_current(0)
        for _ in range(50):
            launch()
        driver.drop_current(0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(driver.launches()) == 200


def test_interfaces_that_contradict_themselves(heddle, driver, kernel):
    for x, code in ((InterfaceArray((4, K), strides=()), "launch.layout"),
                    (InterfaceArray((4, K), strides=(2 * K,)), "launch.layout"),
                    (InterfaceArray((-1, K)), "launch.shape"),
                    (InterfaceArray((2**62 + 8, 4)), "launch.shape")):
        assert refusal(heddle, kernel, x=x).code == code, x.__cuda_array_interface__
    with pytest.raises(TypeError):
        kernel.launch(**arguments(heddle, kernel, x=InterfaceArray((4, K), pointer=None)))
    assert driver.launches() == []


def test_a_launch_costs_at_most_three_times_that_of_cpp(heddle, driver, kernel):
    """On a driver that does nothing, which makes the most of what Python adds."""
    if os.environ.get("HEDDLE_OPTIMISED", "1") != "1":
        pytest.skip("needs an optimised build")
    launch = kernel.bind(**arguments(heddle, kernel))
    names = {"launch": launch, "stream": driver.make_stream()}
    # Rounds of half a millisecond: some of them nothing else interrupts.
    times, rounds, cpp, with_stream, without = 2000, 60, [], [], []
    driver.set_quiet(True)
    try:
        for _ in range(3):
            cpp.append(driver.launch_ns(json.dumps(gemm(N, K)), 4, times, rounds))
            for statement, taken in (("launch(stream)", with_stream), ("launch()", without)):
                seconds = timeit.repeat(statement, globals=names, number=times, repeat=rounds)
                taken.append(min(seconds) / times * 1e9)
    finally:
        driver.set_quiet(False)
    print(f"C++ {min(cpp):.0f} ns, launch(stream) {min(with_stream):.0f} ns, "
          f"launch() {min(without):.0f} ns")
    assert min(with_stream) <= 3 * min(cpp)
    assert min(without) <= 3 * min(cpp)
