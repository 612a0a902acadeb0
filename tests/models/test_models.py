"""Every family of models: heddle build lists the layers and shapes that Transformers' model classes
have. The lists are kept in layers/, and made again where Transformers is installed."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))

from command import CommandTest, ROOT  # noqa: E402  pylint: disable=wrong-import-position

from transformers_layers import ranges  # noqa: E402

CONFIGS = HERE / "configs"
LISTS = HERE / "layers"

# Checkpoints have other names than Transformers' classes. These expressions turn a checkpoint's path
# into that of the class, for the types that begin with the key; the first that fits counts.
GATED = [(r"\.experts\.(w1|gate_proj|v1)$", r".experts.gate_proj"),
         (r"\.experts\.(w3|up_proj)$", r".experts.up_proj"),
         (r"\.experts\.(w2|down_proj)$", r".experts.down_proj")]
RENAMES = {
    "mixtral": [(r"^block_sparse_moe", "mlp")],
    "phimoe": [(r"^block_sparse_moe\.gate$", "mlp.router"), (r"^block_sparse_moe", "mlp")],
    "minimax": [(r"^block_sparse_moe", "mlp"), (r"self_attn\.index_(\w)_proj",
                                                r"self_attn.indexer.\1_proj")],
    "kimi_linear": [(r"^block_sparse_moe", "mlp"), (r"\.f_(.)_proj", r".forget_gate.f_\1_proj")],
    "granitemoe": [(r"\.input_linear$", ".experts.gate_up_proj"),
                   (r"\.output_linear$", ".experts.down_proj"),
                   (r"\.router\.layer$", ".router")],
    "deepseek_v4": [(r"^attn\.indexer\.compressor\.", "self_attn.compressor.indexer."),
                    (r"^attn\.indexer\.weights_proj",
                     "self_attn.compressor.indexer.scorer.weights_proj"),
                    (r"^attn\.indexer\.", "self_attn.compressor.indexer."),
                    (r"^attn\.", "self_attn."), (r"^ffn\.", "mlp."),
                    (r"^hc_(attn|ffn)_fn", r"\1_hc.fn"), (r"^hc_head_fn", "hc_fn")],
    "step3p7": [(r"^moe\.gate$", "mlp.gate"), (r"^moe\.", "mlp.experts."),
                (r"^share_expert\.", "mlp.shared_experts.")],
}
# What is done to the components of V4's paths.
V4 = {"wq_a": "q_a_proj", "wq_b": "q_b_proj", "wkv": "kv_proj", "wo_a": "o_a_proj",
      "wo_b": "o_b_proj", "wgate": "gate_proj"}
SHARED_W = {"w1": "gate_proj", "w3": "up_proj", "w2": "down_proj"}


def renamed(path, model):
    path = path.replace(".*", "")
    for prefix, rules in RENAMES.items():
        if not model.startswith(prefix):
            continue
        if prefix == "granitemoe" and path.startswith("shared_mlp."):
            return path
        if prefix == "deepseek_v4":
            *parents, leaf = path.split(".")
            leaf = V4.get(leaf, leaf)
            if parents and parents[-1] == "shared_experts":
                leaf = SHARED_W.get(leaf, leaf)
            path = ".".join([*parents, leaf])
        for pattern, to in rules:
            path, count = re.subn(pattern, to, path)
            if count:
                break
        break
    for pattern, to in GATED:
        path = re.sub(pattern, to, path)
    return path


def without_stacks(rows):
    """Gate and up of experts that are one tensor as two, sorted."""
    result = []
    for path, n, k, matrices, layers in rows:
        parent, _, leaf = path.rpartition(".")
        if leaf == "gate_up_proj" and (matrices > 1 or parent.endswith("mlp") or
                                       parent.endswith("shared_experts")):
            result += [[f"{parent}.{one}", n // 2, k, matrices, layers]
                       for one in ("gate_proj", "up_proj")]
        else:
            result.append([path, n, k, matrices, layers])
    return sorted(result)


class FamilyTest(CommandTest):

    maxDiff = None

    def report(self, config, *more):
        return self.heddle_json("build", config, "--list", "--target", "h200", *more)

    def rows(self, config):
        rows = {}
        for layer in self.report(config)["layers"]:
            if layer["kind"] in ("recurrence", "tower", "cache"):
                continue
            for part in layer["parts"]:
                path = renamed(part["module"], config.stem)
                if layer["name"] == "lm_head":  # by whatever name the checkpoint has it
                    path = "lm_head"
                for copy in range(1 if layer["layers"] else layer["count"]):
                    key = (f"{copy}" if layer["count"] > 1 and not layer["layers"] else path,
                           part["n"], layer["k"], layer["matrices"])
                    rows.setdefault(key, []).extend(layer["layers"] or [None])
        return without_stacks([*key, "" if None in where else ranges(sorted(where))]
                              for key, where in rows.items())

    def test_layers_are_those_of_transformers(self):
        compared = 0
        for kept in sorted(LISTS.glob("*.json")):
            with self.subTest(kept.stem):
                want = without_stacks(json.loads(kept.read_text()))
                self.assertEqual(joined_convolutions(self.rows(CONFIGS / kept.name)), want)
                compared += 1
        self.assertGreaterEqual(compared, 12)

    def test_every_config_is_listed(self):
        for config in sorted(CONFIGS.glob("*.json")):
            with self.subTest(config.stem):
                report = self.report(config)
                self.assertEqual(report["unserved"], [])
                self.assertGreater(report["served"], 0)
                self.assertLess(report["served"], report["total"])
                for layer in report["layers"]:
                    self.assertNotEqual(layer["kernel"] is None, "reason" not in layer)

    @unittest.skipIf(importlib.util.find_spec("transformers") is None and
                     not os.environ.get("HEDDLE_TRANSFORMERS_PYTHON"),
                     "needs Transformers; the kept lists are compared without it")
    def test_kept_lists_are_what_transformers_builds(self):
        python = os.environ.get("HEDDLE_TRANSFORMERS_PYTHON", sys.executable)
        done = subprocess.run([python, "-W", "ignore", HERE / "transformers_layers.py"], cwd=ROOT,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])


class PageTest(CommandTest):

    def test_the_page_is_what_the_command_prints(self):
        page = self.heddle("models", "--markdown", check=0).out
        self.assertEqual((ROOT / "docs/models.md").read_text(), page,
                         "heddle models --markdown > docs/models.md makes it again")

    def test_every_family_has_a_config(self):
        types = set()
        for config in CONFIGS.glob("*.json"):
            whole = json.loads(config.read_text())
            inner = whole.get("thinker_config", whole)
            types |= {part.get("model_type") for part in (whole, inner,
                                                          inner.get("text_config", {}))}
        for family in self.heddle_json("models")["families"]:
            with self.subTest(family["name"]):
                self.assertTrue(types & set(family["model_types"]))

    def test_families_and_types_are_named_once(self):
        families = self.heddle_json("models")["families"]
        names = [family["name"] for family in families]
        self.assertEqual(len(set(names)), len(names))
        lines = self.heddle("models", check=0).out.splitlines()
        self.assertEqual(len(lines), len(families) + 1)


def joined_convolutions(rows):
    """Kimi's three short convolutions, which Transformers keeps as one."""
    own = [row for row in rows if re.search(r"\.[qkv]_conv1d$", row[0])]
    if not own:
        return rows
    path = own[0][0].rpartition(".")[0] + ".conv1d"
    joined = [path, sum(row[1] for row in own), *own[0][2:]]
    return sorted([row for row in rows if row not in own] + [joined])


if __name__ == "__main__":
    unittest.main()
