"""What the tests of bundles and of records have in common."""

import json

from command import ROOT, CommandTest, SPEC, inline

TARGET = {"name": "a device", "major": 8, "minor": 0, "sm_count": 100, "shared_per_block": 166912,
          "shared_per_sm": 167936, "registers_per_sm": 65536, "threads_per_sm": 2048,
          "l2_bytes": 40 << 20, "memory_gb_per_s": 1500.0, "sm_mhz": 1410.0}


def record_line(**changes):
    return json.dumps({"heddle_record": 1, "spec": {**SPEC, **changes}, "target": TARGET},
                      separators=(",", ":")) + "\n"


class BundleCase(CommandTest):

    def create(self, *more, targets="sm_80,h200", check=0):
        bundle = self.folder / "model.hdl"
        arguments = ["bundle", "create", "--specs", inline(), "-o", bundle]
        if targets:
            arguments += ["--targets", targets]
        self.heddle(*arguments, *more, check=check)
        return bundle

    def slowest_table(self, target="h100"):
        """A table of one kernel for all M that is not the predicted one, and the plan with it."""
        self.environment["HEDDLE_TUNED"] = "none"
        plan = ("plan", inline(), "--target", target)
        predicted = self.heddle_json(*plan)["kernels"]
        rows = self.heddle_json("explain", inline(), "--target", target, "--m", 16)
        row = rows["explanations"][0]["rows"][-1]
        version = json.loads((ROOT / "tuned/h100.json").read_text())["families"][row["family"]]
        table = self.file("own.json", json.dumps({
            "heddle_tuned": 3, "gpu": target, "families": {row["family"]: version},
            "entries": [{"weight": {"bits": 4}, "activation": {"dtype": "fp16"}, "n": 256, "k": 512,
                         "m": [1, 16], "family": row["family"], "kernel": row["kernel"]}]}))
        self.environment["HEDDLE_TUNED"] = f"none:{table}"
        kernels = {kernel["name"] for kernel in self.heddle_json(*plan)["kernels"]}
        self.assertNotEqual(kernels, {kernel["name"] for kernel in predicted})
        del self.environment["HEDDLE_TUNED"]
        return table, kernels

    def strict_build(self, bundle, check=0, target="h100"):
        self.environment["HEDDLE_CACHE"] = f"ro:{bundle}"
        return self.heddle("build", inline(), "--target", target, "--strict", "--json", check=check)

    def block(self, content, kind):
        """Offset and stored bytes of a block, as docs/formats.md has it."""
        entries = int.from_bytes(content[24:32], "little")
        for i in range(int.from_bytes(content[12:16], "little")):
            item = content[48 + 64 * entries + 48 * i:][:48]
            if int.from_bytes(item[16:20], "little") == kind:
                return [int.from_bytes(item[at:at + 8], "little") for at in (32, 40)]
        return self.fail(f"no block of kind {kind}")
