"""What importing the package costs and shows, and that its stubs are those of its module."""

import ast
import inspect
import pathlib
import re
import subprocess
import sys


def run(code, *options):
    done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True,
                          check=True)
    return done.stdout.strip()


def test_importing_loads_neither_numpy_nor_torch_nor_cuda():
    loaded = run("import sys, heddle; print(*(name for name in sys.modules if name in "
                 "('numpy', 'torch', 'json', 'ctypes')));"
                 "print([line for line in open('/proc/self/maps') if 'libcuda' in line "
                 "or 'libnvrtc' in line])")
    assert loaded == "[]"


def import_time(module):
    code = ("import time; start = time.perf_counter(); import {}; "
            "print(time.perf_counter() - start)")
    return min(float(run(code.format(module))) for _ in range(7))


def test_importing_takes_at_most_twice_the_time_of_numpy():
    heddle, numpy = import_time("heddle"), import_time("numpy")
    print(f"heddle {1000 * heddle:.0f} ms, numpy {1000 * numpy:.0f} ms")
    assert heddle <= 2 * numpy


def test_the_extra_transformers_has_all_that_its_tests_have(root):
    """A user who installs it runs what the tests run."""
    extra = re.search(r"^transformers = \[(.*)\]$", (root / "pyproject.toml").read_text(), re.M)[1]
    pins = (root / "tools/lib/python/torch.txt").read_text()
    pinned = re.findall(r"^(\w+)==", pins, re.M)
    assert sorted(re.findall(r'"(\w+)', extra)) == sorted(pinned)
    assert "accelerate" in pinned  # which Transformers wants for a device_map


def test_all_names_what_is_there(heddle):
    assert len(set(heddle.__all__)) == len(heddle.__all__)
    public = {name for name, value in vars(heddle).items()
              if not name.startswith("_") and not inspect.ismodule(value)}
    public -= {"annotations", "TYPE_CHECKING"}
    assert public | {"__version__"} == set(heddle.__all__)
    module = {name for name in vars(heddle._heddle) if not name.startswith("_")}
    assert module <= public


def test_the_version_is_that_of_the_library(heddle, root):
    header = (root / "include/heddle/version.h").read_text()
    assert f'HEDDLE_VERSION "{heddle.__version__}"' in header


def documented():
    import heddle

    for name in heddle.__all__:
        value = getattr(heddle, name)
        if inspect.isclass(value) or callable(value):
            yield name, value
        if inspect.isclass(value) and value.__module__ == "heddle._heddle":
            for member, of in vars(value).items():
                if not member.startswith("_") and callable(of):
                    yield f"{name}.{member}", of


def test_everything_public_is_documented():
    lacking = [name for name, value in documented() if not (value.__doc__ or "").strip()]
    # What their names and types say.
    assert set(lacking) <= {"Kernel", "Preparation.status", "Preparation.cancel"}, lacking


def test_the_stubs_have_the_signatures_and_docstrings_of_the_module(heddle):
    stubs = (pathlib.Path(heddle.__file__).parent / "_heddle.pyi").read_text()
    public = {name: value for name, value in vars(heddle._heddle).items()
              if inspect.isclass(value) and not name.startswith("_")}
    classes = {node.name: node for node in ast.parse(stubs).body if isinstance(node, ast.ClassDef)}
    assert set(public) <= set(classes)
    for name, value in public.items():
        written = ast.get_docstring(classes[name]) or ""
        assert written.split() == (value.__doc__ or "").split(), name


def test_a_bind_documents_the_arguments_that_it_takes(heddle):
    """Names at the begin of a sentence of the docstring, "weights: ...", are arguments."""
    for name, value in vars(heddle).items():
        bind = getattr(value, "bind", None)
        if not name.endswith("Kernel") or bind is None:
            continue
        signature, _, doc = bind.__doc__.partition("\n")
        named = {word for names in re.findall(r"(?:^|[.;]\s|\n)((?:\w+, )*\w+): ", doc)
                 for word in names.split(", ")} - {"None"}
        taken = set(re.findall(r"(\w+): ", signature))
        assert named <= taken, (name, named - taken)


def test_the_package_says_that_it_is_typed(heddle):
    assert (pathlib.Path(heddle.__file__).parent / "py.typed").exists()
