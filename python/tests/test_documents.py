"""The examples of the pages in Python run: as they stand, each page's in its order."""

import contextlib
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
def test_an_example_runs(heddle, request, tmp_path, monkeypatch, needs, code):
    compile(code, "example", "exec")
    if needs == "gpu":
        pytest.skip("needs a GPU and PyTorch; compiled only")
    if needs == "nvrtc":
        request.getfixturevalue("runtime")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build").mkdir()
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(code, "example", "exec"), {})
    assert output.getvalue()
