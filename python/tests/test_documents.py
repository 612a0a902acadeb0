"""The examples of the pages in Python run: as they stand, each page's in its order."""

import ast
import contextlib
import importlib
import io
import re

import pytest
from conftest import ROOT

BLOCK = re.compile(r"^```python *([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", ROOT / "docs/python.md", ROOT / "docs/pytorch.md"]
NEEDS = {"", "nvrtc", "gpu"}


def blocks():
    for page in PAGES:
        for found in BLOCK.finditer(page.read_text()):
            line = page.read_text()[:found.start()].count("\n") + 1
            yield pytest.param(found[1], found[2], id=f"{page.name}:{line}")


def test_every_page_has_examples():
    found = [block.id.split(":")[0] for block in blocks()]
    assert set(found) == {page.name for page in PAGES}
    assert {block.values[0] for block in blocks()} == NEEDS


@pytest.mark.parametrize(("needs", "code"), list(blocks()))
def test_an_example_names_what_the_package_has(heddle, needs, code):
    """Also where an example cannot run."""
    for name in names_of(code):
        module, *rest = name.split(".")[1:]
        if module in {"torch", "transformers"}:
            pytest.importorskip(module, reason=f"{name} needs it: tools/test --torch")
            found = importlib.import_module(f"heddle.{module}")
        else:
            found = getattr(heddle, module)
        for part in rest:
            found = getattr(found, part)


def names_of(code):
    """heddle.Runtime, heddle.torch.Linear.quantized ..."""
    found = {ast.unparse(node) for node in ast.walk(ast.parse(code))
             if isinstance(node, ast.Attribute)}
    return sorted(name for name in found if re.fullmatch(r"heddle(\.\w+)+", name))


@pytest.mark.parametrize(("needs", "code"), list(blocks()))
def test_an_example_runs(heddle, request, tmp_path, monkeypatch, needs, code):
    if needs == "gpu":
        pytest.skip("test_torch_documents.py runs it")
    if needs == "nvrtc":
        request.getfixturevalue("runtime")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build").mkdir()
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(code, "example", "exec"), {})
    assert output.getvalue()
