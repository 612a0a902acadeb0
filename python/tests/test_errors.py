"""Exceptions: their classes, what they carry, and where they come from."""

import pickle
import subprocess
import sys

import pytest
from conftest import gemm


def test_each_category_has_its_class(heddle):
    classes = [heddle.SpecError, heddle.UnsupportedError, heddle.UsageError, heddle.FileError,
               heddle.CompileError, heddle.DriverError, heddle.CancelledError,
               heddle.MissingError, heddle.InternalError]
    assert len({one.category for one in classes}) == len(classes)
    for one in classes:
        assert issubclass(one, heddle.Error)


def test_an_error_survives_pickle(heddle):
    with pytest.raises(heddle.UsageError) as caught:
        heddle.Target("h2000")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.code, copy.problems, str(copy)) == (
        caught.value.code, caught.value.problems, str(caught.value))


def test_bytes_that_are_no_utf8_do_not_disturb(heddle, tmp_path):
    with pytest.raises(heddle.FileError) as caught:
        heddle.read_bundle(b"/nowhere/\xff.hdl".decode("utf-8", "surrogateescape"))
    assert caught.value.code == "bundle.unusable"


def test_a_compile_error_holds_the_log(heddle, runtime):
    plan = heddle.resolve(gemm(), "h200")
    assert runtime.find(heddle.render(plan))[0].binary is None
    unknown = heddle.Target.from_facts("odd", 6, 0, 100, 49152, 65536, 65536, 2048, 1 << 20, 500,
                                       1500)
    with pytest.raises(heddle.UnsupportedError) as caught:
        heddle.resolve(gemm(), unknown)
    assert caught.value.log == ""


def test_an_error_passes_through_threads(heddle):
    code = ("import threading, heddle\n"
            "caught = []\n"
            "def work():\n"
            "    try: heddle.Target('x')\n"
            "    except heddle.UsageError as error: caught.append(error.code)\n"
            "threads = [threading.Thread(target=work) for _ in range(4)]\n"
            "[t.start() for t in threads]; [t.join() for t in threads]\n"
            "assert caught == ['target.unknown'] * 4, caught\n")
    subprocess.run([sys.executable, "-c", code], check=True)
