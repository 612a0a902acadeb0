"""Building without a GPU: progress, cancelling, the cache, bundles, logs, NVRTC's place."""

import subprocess
import sys

import pytest
from conftest import dequantize, gemm


def test_build_compiles_then_finds(heddle, runtime):
    told = []
    built = heddle.build(gemm(), "h200", runtime=runtime,
                         progress=lambda *args: told.append(args))
    plan = heddle.resolve(gemm(), "h200")
    assert [one.kernel_name for one in built] == [kernel.name for kernel in plan.kernels]
    assert not built[0].hit
    assert [(done, total) for _, done, total in told] == [
        (i + 1, len(built)) for i in range(len(built))]
    binary = built[0].binary
    assert binary.cubin[:4] == b"\x7fELF"
    assert (binary.arch, binary.threads) == ("sm_90a", plan.kernels[0].threads)
    assert binary.ptx.count(binary.kernel_name)
    assert 0 < binary.registers <= 255
    assert all(one.hit for one in heddle.build(plan, runtime=runtime))
    found = runtime.find(heddle.render(plan))
    assert [one.key for one in found] == [one.key for one in built]
    assert runtime.find(heddle.render(gemm(), "a100"))[0].binary is None


def test_progress_cancels_and_raises(heddle, runtime):
    sources = heddle.render(gemm(4096, 4096, shape={"n": 4096, "k": 4096}), "h200")
    assert len(sources) > 2
    with pytest.raises(heddle.CancelledError) as caught:
        runtime.build(sources, lambda *_: False)
    assert caught.value.code == "runtime.cancelled"

    def fail(result, done, total):
        raise LookupError(result.kernel_name)

    with pytest.raises(LookupError, match="heddle_gemm"):
        runtime.build(sources, fail)
    # What is not False goes on, None as well.
    assert len(runtime.build(heddle.render(dequantize(), "h200"), lambda *_: None)) == 1


def test_the_log_is_called_from_any_thread(heddle, tmp_path):
    lines = []
    runtime = heddle.Runtime(cache_dir=tmp_path / "log", jobs=2,
                             log=lambda level, text: lines.append((level, text)))
    heddle.build(gemm(), "h200", runtime=runtime)
    assert any(level == "info" and text.startswith("compiled ") for level, text in lines)


def test_without_a_log_the_variable_says_what_is_told(heddle, tmp_path, monkeypatch, capfd):
    def told(level, name):
        monkeypatch.setenv("HEDDLE_LOG", level)
        heddle.build(dequantize(), "h200", runtime=heddle.Runtime(cache_dir=tmp_path / name))
        return capfd.readouterr().err

    assert told("", "first") == ""
    assert told("info", "second").startswith("heddle: info: compiled heddle_dequantize")
    assert told("off", "third") == ""
    with pytest.raises(heddle.UsageError, match="HEDDLE_LOG") as caught:
        told("loud", "fourth")
    assert caught.value.code == "log.level"


def test_a_log_that_raises_disturbs_nothing(heddle, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: seen.append(args.exc_type))

    def log(level, text):
        raise ZeroDivisionError

    runtime = heddle.Runtime(cache_dir=tmp_path / "log", log=log)
    assert len(heddle.build(dequantize(), "h200", runtime=runtime)) == 1
    assert ZeroDivisionError in seen


def test_a_bundle_serves_a_strict_runtime(heddle, runtime, tmp_path):
    path = tmp_path / "model.hdl"
    told = []
    report = heddle.write_bundle(runtime, path, [dequantize(), heddle.Spec(dequantize(n=128))],
                                 ["h200", heddle.Target("a100")],
                                 progress=lambda *args: told.append(args))
    assert (report.kernels, report.bytes) == (4, path.stat().st_size)
    assert len(told) == 4
    contents = heddle.read_bundle(path)
    assert {(one.arch, *one.gpus) for one in contents.kernels} == {
        ("sm_90a", "h200"), ("sm_80", "a100")}
    assert all(one.has_source for one in contents.kernels)
    assert not contents.damaged
    content = bytearray(path.read_bytes())
    content[content.index(b"\x89HDL", 48) + 200] ^= 1  # in the first entry
    (tmp_path / "damaged.hdl").write_bytes(content)
    rest = heddle.read_bundle(tmp_path / "damaged.hdl")
    [damaged] = rest.damaged
    assert damaged.why
    assert damaged.key in {one.key for one in contents.kernels}
    assert damaged.key not in {one.key for one in rest.kernels}
    strict = heddle.Runtime(cache_dir=f"ro:{path}", strict=True)
    assert strict.build(heddle.render(dequantize(), "h200"))[0].hit
    with pytest.raises(heddle.MissingError):
        strict.build(heddle.render(dequantize(n=192), "h200"))
    layered = heddle.Runtime(cache_dir=tmp_path / "empty", read_only_roots=[path], strict=True)
    assert layered.build(heddle.render(dequantize(), "a100"))[0].hit


def test_bundles_that_would_not_be_complete(heddle, runtime, tmp_path):
    with pytest.raises(heddle.UsageError) as caught:
        heddle.write_bundle(runtime, tmp_path / "model.zip", [dequantize()], ["h200"])
    assert caught.value.code == "bundle.name"
    with pytest.raises(heddle.UnsupportedError) as caught:
        heddle.write_bundle(runtime, tmp_path / "model.hdl",
                            [gemm(activation={"dtype": "bf16"})], ["sm_75"])
    assert caught.value.code == "bundle.lacks_kernels"
    with pytest.raises(heddle.CancelledError):
        heddle.write_bundle(runtime, tmp_path / "model.hdl", [gemm()], ["h200"],
                            progress=lambda *_: False)
    assert not (tmp_path / "model.hdl").exists()
    with pytest.raises(heddle.FileError):
        heddle.read_bundle(tmp_path / "model.hdl")
    for specs, targets in (([], ["h200"]), ([dequantize()], [])):
        with pytest.raises(heddle.UsageError) as caught:
            heddle.write_bundle(runtime, tmp_path / "model.hdl", specs, targets)
        assert caught.value.code == "bundle.no_specs"
    with pytest.raises(ValueError, match="null byte"):
        heddle.write_bundle(runtime, str(tmp_path / "a\0b.hdl"), [dequantize()], ["h200"])
    for specs, targets in ((dequantize(), ["h200"]), ([dequantize()], "h200")):
        with pytest.raises(TypeError, match="list"):
            heddle.write_bundle(runtime, tmp_path / "model.hdl", specs, targets)


def test_options_that_are_wrong(heddle, tmp_path):
    for options, code in (({"jobs": -1}, "runtime.jobs"),
                          ({"cache_dir": "rw:/a:rw:/b"}, "cache.roots")):
        with pytest.raises(heddle.UsageError) as caught:
            heddle.Runtime(**options)
        assert caught.value.code == code
    with pytest.raises(TypeError, match="read_only_roots"):
        heddle.Runtime(read_only_roots="/a")
    runtime = heddle.Runtime(tuned_tables="none")
    assert runtime.tuned_tables().tables == []
    with pytest.raises(heddle.FileError):
        heddle.Runtime(tuned_tables=str(tmp_path / "nothing.json")).tuned_tables()


def test_nvrtc_of_a_wheel_is_found(heddle, tmp_path):
    """With a package `nvidia` as the wheels lay it out, in an interpreter that has no other."""
    for package, version in (("cuda_nvrtc", 12), ("cu13", 13), ("z_wheel", 9)):
        libraries = tmp_path / "nvidia" / package / "lib"
        libraries.mkdir(parents=True)
        (libraries / f"libnvrtc.so.{version}").write_text("")
    code = (f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
            "from heddle import _nvrtc; print(_nvrtc.folder())\n"
            "assert 'nvidia' not in sys.modules\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path / "nvidia/cu13/lib")


def test_without_nvrtc_the_error_says_where_it_was_looked_for(heddle, monkeypatch):
    monkeypatch.setenv("HEDDLE_NVRTC", "/nonexistent")
    with pytest.raises(heddle.DriverError, match="/nonexistent") as caught:
        heddle.Runtime().compiler_identity()
    assert caught.value.code == "nvrtc.environment"


def test_the_compiler_says_what_it_is(runtime):
    assert runtime.compiler_identity().startswith("nvrtc ")
    assert 80 in runtime.compiler_archs()
