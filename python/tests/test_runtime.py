"""Runtime on the fake driver: preparing, requests, sealing, threads, the end of a process."""

import pathlib
import subprocess
import sys
import threading
import time

import pytest
from conftest import dequantize, gemm
from fake_arrays import DlpackArray


def test_the_device_at_hand(heddle, driver, runtime):
    assert runtime.has_device()
    target = runtime.device_target()
    assert target.arch == 90
    assert runtime.kernel(dequantize()).plan.target == target
    driver.add_device("Fake A100", 8, 0)
    driver.set_current(1)
    try:
        kernel = runtime.kernel(dequantize())
        assert (kernel.device, kernel.plan.target.arch) == (1, 80)
        with pytest.raises(heddle.UsageError, match="w is on another device than the kernel, "
                                                    "got device 0; allowed: device 1"):
            kernel.launch(weights=heddle.DeviceMemory(0x10000, 1 << 20), w=DlpackArray((64, 256)))
    finally:
        driver.drop_current(1)


def test_prepare_tells_and_keeps(heddle, driver, runtime):
    told = []
    specs = [dequantize(), dequantize(n=128), gemm()]
    kernels = runtime.prepare(specs, progress=lambda result, done, total: told.append(
        (result.kernel_name, done, total)))
    assert [kernel.op for kernel in kernels] == ["dequantize", "dequantize", "gemm"]
    assert [done for _, done, _ in told] == list(range(1, len(told) + 1))
    assert {total for _, _, total in told} == {len(told)}
    stream = driver.make_stream()
    assert runtime.kernel(dequantize(), stream).spec == heddle.Spec(dequantize())
    runtime.seal()
    with pytest.raises(heddle.MissingError) as caught:
        runtime.kernel(dequantize(n=192))
    assert caught.value.code == "runtime.sealed"


def test_prepare_cancels_raises_and_refuses(heddle, driver, runtime):
    with pytest.raises(heddle.CancelledError):
        runtime.prepare([dequantize(), gemm()], progress=lambda *_: False)

    def fail(*_):
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        runtime.prepare([dequantize(n=256), gemm(n=512)], progress=fail)
    for specs in (dequantize(), "{}"):
        with pytest.raises(TypeError, match="list of specs"):
            runtime.prepare(specs)


def test_callbacks_are_functions(heddle, runtime):
    for call in (lambda: heddle.Runtime(log=3), lambda: heddle.Runtime(log="info")):
        with pytest.raises(TypeError, match=r"log must be a function or None, not (int|str)"):
            call()
    for call in (lambda: runtime.prepare([dequantize()], progress=3),
                 lambda: runtime.build([], progress=3)):
        with pytest.raises(TypeError, match="progress must be a function or None, not int"):
            call()


def test_urgent_ranges_first(heddle, driver, runtime):
    spec = gemm(512, 512, shape={"n": 512, "k": 512, "m": [1, 4096]})
    preparation = runtime.prepare([spec], urgent=(1, 16))
    kernel = preparation.requests[0].kernel()
    assert kernel.op == "gemm"
    preparation.wait()
    status = preparation.status()
    assert status.ended
    assert status.done == status.total
    assert preparation.requests[0].ready()
    assert preparation.requests[0].wait().spec == heddle.Spec(spec)
    other = runtime.prepare([gemm(1024, 512)], urgent=[(1, 2)])
    other.cancel()
    with pytest.raises(heddle.UsageError) as caught:
        runtime.prepare([spec], urgent=[(1, 2), (1, 2)])
    assert caught.value.code == "runtime.urgent"


def test_a_request_is_made_in_the_background(heddle, driver, runtime):
    request = runtime.request(dequantize())
    assert request.wait().spec == heddle.Spec(dequantize())
    assert request.ready()
    assert request.kernel().op == "dequantize"


def test_a_plan_is_loaded(heddle, driver, runtime):
    plan = heddle.resolve(dequantize(), runtime.device_target())
    assert runtime.load(plan).plan == plan
    with pytest.raises(heddle.UsageError) as caught:
        runtime.load(heddle.resolve(dequantize(), "a100"))
    assert caught.value.code == "runtime.wrong_device"


def test_a_kernel_outlives_its_runtime(heddle, driver, runtime):
    made = heddle.Runtime()
    kernel = made.kernel(dequantize())
    plan, spec = kernel.plan, kernel.spec
    launch = kernel.bind(weights=DlpackArray((heddle.weight_layout(dequantize()).total_bytes,),
                                             "uint8"), w=DlpackArray((64, 256), pointer=0x200000))
    del made, kernel
    launch()
    assert plan.spec == spec == heddle.Spec(dequantize())
    assert len(driver.launches()) == 1


def test_other_threads_run_while_kernels_compile(heddle, driver, runtime):
    ticks, stop = [0], threading.Event()

    def count():
        while not stop.wait(0.001):
            ticks[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = ticks[0]
    runtime.kernel(gemm(4096, 4096))
    after = ticks[0]
    stop.set()
    thread.join()
    assert after - before > 20


def test_without_a_device_the_error_says_so(heddle, runtime):
    """In a process without the fake driver, on a machine with none or with a real one."""
    code = ("import heddle\n"
            "runtime = heddle.Runtime()\n"
            "if runtime.has_device(): raise SystemExit(0)\n"
            f"try: runtime.kernel({dequantize()!r})\n"
            "except heddle.DriverError as error: print(error.code)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "" or done.stdout.startswith("driver.")


END = """
import sys
sys.path.insert(0, TESTS)
import fake_driver, heddle, conftest
fake_driver.reset(); fake_driver.set_current(0)
lines = []
runtime = heddle.Runtime(log=lambda level, text: lines.append(text), jobs=2)
preparation = runtime.prepare([conftest.gemm(4096, 4096, shape={"n": 4096, "k": 4096}),
                               conftest.gemm(4096, 2048, shape={"n": 4096, "k": 2048})],
                              urgent=(1, 1), progress=lambda *_: None)
AT_THE_END
print("end")
"""


@pytest.mark.parametrize("at_the_end", ["", "del preparation", "del preparation, runtime"])
def test_a_process_ends_while_the_background_compiles_and_logs(runtime, at_the_end):
    code = END.replace("TESTS", repr(str(pathlib.Path(__file__).parent))).replace(
        "AT_THE_END", at_the_end)
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True,
                          text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr
    assert done.stderr == ""


LATE = """
import atexit, sys, time
sys.path.insert(0, TESTS)
import conftest
lines = []

# Registered before the package is imported, so it runs after the end of the package's callbacks.
def late():
    print("waited" if lines == ["begun", "ended"] else lines)
    try:
        heddle.build(conftest.dequantize(n=128), "h200", runtime=runtime)
    except heddle.UsageError as error:
        print("refused" if error.code == "runtime.ended" and len(lines) == 2 else lines)

atexit.register(late)
import fake_driver, heddle
fake_driver.reset(); fake_driver.set_current(0)

def log(level, text):
    if text.startswith("compiled"):
        lines.append("begun")
        time.sleep(0.5)
        lines.append("ended")

runtime = heddle.Runtime(log=log)
request = runtime.request(conftest.dequantize())
while not lines:
    time.sleep(0.01)
"""


def test_the_end_waits_for_callbacks_and_begins_no_more(runtime):
    code = LATE.replace("TESTS", repr(str(pathlib.Path(__file__).parent)))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          timeout=120, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["waited", "refused"]), done.stderr


CYCLE = """
import sys, time
sys.path.insert(0, TESTS)
import fake_driver, heddle, conftest
fake_driver.reset(); fake_driver.set_current(0)

# The runtime, its log and their owner hold each other: nothing but the end frees them.
class Engine:
    def __init__(self):
        self.runtime = heddle.Runtime(log=self.log)

    def log(self, level, text):
        pass

    def request(self):
        self.request = self.runtime.request(conftest.gemm(1024, 1024,
                                                          shape={"n": 1024, "k": 1024}))

Engine().request()
time.sleep(0.3)
"""


def test_a_process_ends_while_a_runtime_that_is_kept_compiles(runtime):
    code = CYCLE.replace("TESTS", repr(str(pathlib.Path(__file__).parent)))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_urgent_ranges_that_are_none(heddle, runtime):
    for urgent in ("1-16", (1, 2, 3), (1.5, 3), (1, 2**70)):
        with pytest.raises(TypeError, match="urgent"):
            runtime.prepare([gemm()], urgent=urgent)


def test_a_log_that_waits_keeps_no_other_thread(heddle, tmp_path):
    (tmp_path / "bad.hdl").write_bytes(b"x" * 100)
    runtime = heddle.Runtime(cache_dir=tmp_path / "cache", read_only_roots=[tmp_path / "bad.hdl"],
                             log=lambda *_: time.sleep(0.2))
    sources = heddle.render(gemm(), "h200")
    threads = [threading.Thread(target=runtime.find, args=(sources,), daemon=True)
               for _ in range(2)]
    for thread in threads:
        thread.start()
    runtime.tuned_tables()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
