"""What the process counts of its kernels."""

import json
import os
import subprocess
import sys

from conftest import dequantize


def test_the_process_counts_what_it_compiles_and_finds(heddle, runtime):
    sources = heddle.render(dequantize(96), "h200")
    before = heddle.statistics()
    runtime.build(sources)
    runtime.build(sources)
    after = heddle.statistics()
    assert after.compilations == before.compilations + 1
    assert after.cache_misses == before.cache_misses + 1
    assert after.cache_hits == before.cache_hits + 1
    assert after.compile_seconds > before.compile_seconds
    assert isinstance(after.launches, dict)


def test_an_interpreter_writes_them_when_it_ends(tmp_path):
    stats = tmp_path / "stats.json"
    subprocess.run([sys.executable, "-c", "import heddle; heddle.Runtime()"], check=True,
                   env={**os.environ, "HEDDLE_STATS": str(stats)})
    assert json.loads(stats.read_text())["compilations"] == 0
