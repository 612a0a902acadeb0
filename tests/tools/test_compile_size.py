"""Kernels stay as few and as small as tests/tools/compile_sizes.json says: that is their cold start.

usage: HEDDLE_COMMAND=build/release/bin/heddle tests/tools/test_compile_size.py [--remake]

Compile time grows with the statements of a kernel's PTX (`tools/bench-compile` measures it). Where
kernels become more or larger on purpose, run this file by itself with --remake and say why in the
commit. The sizes are those of one NVRTC; those of others of its major version are within a tenth.
"""

import json
import pathlib
import subprocess
import sys
import unittest

from command import HEDDLE, ROOT

sys.path.insert(0, str(ROOT / "tools/lib"))

from compile import kernels, nvrtc  # noqa: E402

SIZES = pathlib.Path(__file__).with_name("compile_sizes.json")
TOLERANCE = 1.1
MODEL_KERNELS = 37  # of llama-3-8b-awq for an H200, which are 51 with each shape's own
CASES = [("symmetric-g128", "h200"), ("bf16-zero-points", "h200"), ("llama-3-8b-down", "h200"),
         ("gate-up-silu", "h200"), ("fp8-per-channel", "h200"), ("nvfp4", "h200"),
         ("symmetric-g128", "a100"), ("act-order", "a100"), ("mxfp4", "rtx4090"),
         ("turing", "t4"), ("decode-attention-int8-head", "h200"),
         ("decode-attention-int4-channel", "h200"), ("decode-attention-nvfp4", "a100"),
         ("kv-append-int8-head", "h200"), ("rms-norm-residual", "h200")]


def compiler():
    """None where there is no NVRTC."""
    done = subprocess.run([HEDDLE, "targets", "--compiler", "--json"], capture_output=True,
                          text=True, check=False)
    return nvrtc.Nvrtc(json.loads(done.stdout)["compiler"]["library"]) if done.returncode == 0 else None


def measure(with_nvrtc, name, target):
    """How many kernels the spec has, and the statements of the PTX of its first and last one."""
    spec = json.loads((ROOT / f"examples/specs/{name}.json").read_text())
    every = kernels.of_spec(HEDDLE, spec, target)
    ends = every[:1] if len(every) == 1 else [every[0], every[-1]]
    return {"spec": name, "target": target, "kernels": len(every),
            "statements": [nvrtc.statements(with_nvrtc.compile(one.text, one.arch,
                                                               to_ptx_alone=True).ptx)
                           for one in ends]}


class CompileSizeTest(unittest.TestCase):
    def test_the_shapes_of_a_model_share_kernels(self):
        """Each text counts once: kernels with wgmma serve every N and K."""
        model = kernels.of_model(HEDDLE, ROOT / "examples/models/llama-3-8b-awq/config.json", "h200")
        self.assertEqual(len({one.text for one in model}), len(model))
        self.assertLessEqual(len(model), MODEL_KERNELS)

    def test_kernels_are_as_few_and_as_small_as_before(self):
        with_nvrtc = compiler()
        sizes = json.loads(SIZES.read_text())
        if with_nvrtc is None:
            self.skipTest("there is no NVRTC here")
        if with_nvrtc.version[0] != sizes["nvrtc"][0]:
            self.skipTest(f"the sizes are those of NVRTC {sizes['nvrtc']}, this is "
                          f"{with_nvrtc.version}")
        self.assertEqual([(one["spec"], one["target"]) for one in sizes["specs"]], CASES)
        for before in sizes["specs"]:
            with self.subTest(spec=before["spec"], target=before["target"]):
                now = measure(with_nvrtc, before["spec"], before["target"])
                self.assertLessEqual(now["kernels"], before["kernels"])
                for count, most in zip(now["statements"], before["statements"]):
                    self.assertLessEqual(count, TOLERANCE * most)


def remake():
    with_nvrtc = compiler()
    lines = [json.dumps(measure(with_nvrtc, *case)) for case in CASES]
    SIZES.write_text('{"nvrtc": %s, "specs": [\n%s\n]}\n'
                     % (json.dumps(with_nvrtc.version), ",\n".join(lines)))


if __name__ == "__main__":
    if "--remake" in sys.argv:
        remake()
    else:
        unittest.main()
