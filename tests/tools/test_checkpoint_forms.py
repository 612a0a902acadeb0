"""heddle dequantize, repack and build on a small checkpoint of each form of docs/checkpoints.md."""

import json
import re
import unittest

from checkpoint_cases import MODEL, SERVED, Case, gptq_config, model
from checkpoint_forms import Integers, gptq, tensor
from checkpoint_problem_cases import (
    COPIED, REFUSED, REPACK_REFUSED, WRONG_FILES, WRONG_FILES_ROW)
from command import CommandTest, ROOT
from float_values import sixteen
from safetensors_file import load

EVERY = SERVED + COPIED + REFUSED + REPACK_REFUSED
# Parts of a layer, but not made of its codes.
COMPANIONS = (".pre_quant_scale", ".bias", "_bias", ".input_scale")


def is_of(name, module):
    """Whether the tensor is one that the layer is made of."""
    return name.startswith(module) and not name.endswith(COMPANIONS)


def others(case):
    return {name: content for name, content in case.tensors.items()
            if not any(is_of(name, module) for module in case.layers)}


def plain(case, **more):
    """What heddle dequantize must write for the layers, and for `more`."""
    text = {**case.config, **case.config.get("text_config", {})}
    dtype = "BF16" if text.get("torch_dtype") == "bfloat16" else "F16"
    tensors = {}
    for module, layer in {**case.layers, **more}.items():
        matrices = getattr(layer, "matrices", 1)
        stacked = module in case.tensors
        experts = matrices > 1 or stacked
        shape = [matrices, layer.n, layer.k] if experts else [layer.n, layer.k]
        stored = case.tensors.get(module + ".weight")
        if stored and len(stored[1]) == 4:
            shape = stored[1]
        tensors[module if stacked else module + ".weight"] = (dtype, shape,
                                                              sixteen(layer.values(), dtype))
    return tensors


# Forms are separated by semicolons; what is in parentheses behind one is a remark.
FORM = re.compile(r"([^;]+?)(?: \([^)]*\))?(?:; |$)")


def documented():
    """The table of quantisers in docs/checkpoints.md: (quantiser, form), verdict of each form."""
    text = (ROOT / "docs/checkpoints.md").read_text()
    section = text.partition("\n## Which checkpoints are read\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in section.splitlines() if line.startswith("|")]
    return [((quantiser, form), verdict) for quantisers, verdict, forms in rows[2:]
            for quantiser in quantisers.split(", ") for form in FORM.findall(forms)]


def without_name(spec):
    return json.dumps({key: value for key, value in spec.items() if key != "name"})


class FormsTest(CommandTest):

    def setUp(self):
        super().setUp()
        self.out = self.folder / "out.safetensors"

    def write(self, case):
        return case.write(self.folder / "models" / case.name)

    def each(self, cases, check):
        for case in cases:
            with self.subTest(case.name):
                self.out.unlink(missing_ok=True)
                check(case)

    def repacked_specs(self):
        """Layer to spec, of the file that was written last."""
        metadata, _ = load(self.out)
        return {name[:-len(".heddle")]: json.loads(text) for name, text in metadata.items()
                if name.endswith(".heddle")}

    def assert_build_agrees(self, folder):
        """The kernels of heddle build are those of the repacked file, and what makes their X."""
        done = self.heddle("build", folder, "--print-specs", check=0)
        self.assertEqual({without_name(spec) for spec in json.loads(done.out)
                          if spec["op"] == "gemm"},
                         {without_name(spec) for spec in self.repacked_specs().values()})
        return done

    def test_names_of_cases_differ(self):
        names = [case.name for case in EVERY]
        self.assertEqual(len(set(names)), len(names))

    def test_the_documented_forms_are_those_of_the_cases(self):
        verdicts = {WRONG_FILES_ROW: {"refused"}}
        for verdict, cases in (("served", SERVED), ("copied", COPIED),
                               ("refused", REFUSED + REPACK_REFUSED)):
            for case in cases:
                verdicts.setdefault(case.row, set()).add(verdict)
        rows = documented()
        self.assertEqual(len(dict(rows)), len(rows))
        self.assertEqual({row: {verdict} for row, verdict in rows}, verdicts)

    def test_dequantize_gives_every_bit(self):
        def check(case):
            done = self.heddle("dequantize", self.write(case), "-o", self.out, check=0)
            self.assertEqual(load(self.out)[1], {**plain(case), **others(case)})
            self.assertIn(case.note, done.err)

        self.each(SERVED, check)

    def test_codes_that_are_no_numbers_stay_such(self):
        """NaN of e4m3 and of e8m0; e5m2 has infinities, too."""
        config = model({"quant_method": "fp8", "fmt": "e4m3"})
        for dtype, codes, scale, want in (
                ("F8_E4M3", (0x7F, 0xFF), tensor("F32", [], "f", [1]), (0x7FC0, 0xFFC0)),
                ("F8_E5M2", (0x7C, 0xFC), tensor("F32", [], "f", [1]), (0x7F80, 0xFF80)),
                ("F8_E4M3", (0x38, 0xB8), tensor("U8", [16, 2], "B", [255] * 32), (0x7FC0,) * 2)):
            with self.subTest(dtype, scale=scale[0]):
                weight = tensor(dtype, [16, 64], "B", codes * 512)
                case = Case((), f"{dtype}-{scale[0]}", config,
                            {"l.weight": weight, "l.weight_scale": scale})
                self.heddle("dequantize", self.write(case), "-o", self.out, check=0)
                values = load(self.out)[1]["l.weight"]
                self.assertEqual(self.without_sign_of_nan(values),
                                 self.without_sign_of_nan(
                                     tensor("BF16", [16, 64], "H", want * 512)))

    @staticmethod
    def without_sign_of_nan(content):
        dtype, shape, data = content
        words = [data[i] | data[i + 1] << 8 for i in range(0, len(data), 2)]
        return dtype, shape, [word & 0x7FFF if word & 0x7FFF > 0x7F80 else word for word in words]

    def test_repack_and_build_agree(self):
        def check(case):
            folder = self.write(case)
            done = self.heddle("repack", folder, "-o", self.out, check=0)
            self.assertIn(case.note, done.err)
            specs = self.repacked_specs()
            self.assertEqual(set(specs), set(case.layers))
            for module, layer in case.layers.items():
                spec = specs[module]
                self.assertEqual((spec["shape"]["n"], spec["shape"]["k"]), (layer.n, layer.k))
                weight = case.weight[module]
                self.assertEqual({key: spec["weight"][key] for key in weight}, weight)
            _, tensors = load(self.out)
            for module, layer in case.layers.items():
                self.check_order(module, layer, specs[module], tensors)
                self.assertEqual(tensors.pop(module + ".heddle")[0], "U8")
            self.assertEqual(tensors, others(case))
            self.assertIn(case.note, self.assert_build_agrees(folder).err)

        self.each(SERVED, check)

    def check_order(self, module, layer, spec, tensors):
        in_order = getattr(layer, "index", []) == sorted(getattr(layer, "index", []))
        self.assertEqual(spec["activation"].get("act_order", False), not in_order)
        if not in_order:
            order = tensor("I32", [layer.k], "i", layer.order())
            self.assertEqual(tensors.pop(module + ".heddle_perm"), order)

    def assert_refused(self, case, *arguments):
        """Nothing is written, and the message has the layer or field and the reason."""
        done = self.heddle(*arguments, check=1)
        self.assertFalse(self.out.exists())
        for word in (case.module, *case.says):
            self.assertIn(word, done.err)

    def assert_layers_are_packed(self, case, done):
        """The good layers; returns the other tensors of the output."""
        _, tensors = load(self.out)
        self.assertIn(f"{len(case.layers)} layers packed", done.out)
        specs = self.repacked_specs()
        for module, layer in case.layers.items():
            self.check_order(module, layer, specs[module], tensors)
            tensors.pop(module + ".heddle")
        return tensors

    def check_keep_and_skip(self, case, folder):
        """--keep copies the layer that is in the way and --skip leaves it out, and nothing else."""
        bad = {name: content for name, content in case.tensors.items()
               if name.startswith(case.module)}
        self.assertTrue(bad)
        for pattern in (case.module, case.module[:-1] + "?"):
            done = self.heddle("repack", folder, "-o", self.out, "--keep", pattern, check=0)
            self.assertEqual(self.assert_layers_are_packed(case, done), others(case))
        done = self.heddle("repack", folder, "-o", self.out, "--skip", case.module, check=0)
        rest = {name: content for name, content in others(case).items() if name not in bad}
        self.assertEqual(self.assert_layers_are_packed(case, done), rest)
        self.assertIn(f"{len(bad)} left out", done.out)
        self.heddle("dequantize", folder, "-o", self.out, "--keep", case.module, check=0)
        self.assertEqual(load(self.out)[1], {**plain(case), **others(case)})

    def check_readable(self, case, folder):
        self.heddle("dequantize", folder, "-o", self.out, check=0)
        tensors = {**plain(case, **{case.module: case.readable}),
                   **{name: content for name, content in others(case).items()
                      if not name.startswith(case.module)}}
        self.assertEqual(load(self.out)[1], tensors)

    def test_refusals(self):
        def check(case):
            folder = self.write(case)
            for command in ("repack", "dequantize"):
                self.assert_refused(case, command, folder, "-o", self.out)
            self.assert_refused(case, "build", folder, "--print-specs")
            if case.module:
                self.check_keep_and_skip(case, folder)

        self.each(REFUSED, check)

    def test_files_that_are_no_safetensors(self):
        """Called what they are they cannot be served; called otherwise they are wrong."""
        config = json.dumps(model(gptq_config()))
        plain = json.dumps(MODEL)
        for name, (content, called, tells) in WRONG_FILES.items():
            with self.subTest(name):
                folder = self.folder / name.replace("/", "-")
                (folder / name).parent.mkdir(parents=True)
                (folder / name).write_bytes(content)
                for path in (folder / name, folder):
                    for command in ("repack", "dequantize"):
                        line = self.problem(command, path, "-o", self.out, code=1)
                        self.assertIn(f"{name}: {called} is not read", line)
                    line = self.problem("build", path, "--print-specs", code=1)
                    self.assertIn(f"{name}: {called} is not read", line)
                (folder / "config.json").write_text(plain)
                line = self.problem("build", folder, "--print-specs", code=1)
                self.assertIn(f"{name}: {called} is not read", line)
                # What the config says of the kernels does not depend on the file.
                (folder / "config.json").write_text(config)
                done = self.heddle("build", folder, "--print-specs", check=0)
                self.assertIn(f"{name} are of {called}", done.err)
                (folder / "model.safetensors").write_bytes(content)
                for command in ("repack", "dequantize"):
                    line = self.problem(command, folder, "-o", self.out, code=2)
                    if tells:
                        self.assertIn(f"this is of {called}, not a safetensors file", line)
                self.problem("build", folder, "--print-specs", code=2)
                self.assertFalse(self.out.exists())

    def test_a_choice_that_names_no_tensor_is_no_choice(self):
        case = next(case for case in SERVED if case.name == "ct-mixed-precision")
        folder = self.write(case)
        for command in ("repack", "dequantize"):
            for option in ("--keep", "--skip"):
                with self.subTest(command, option=option):
                    line = self.problem(command, folder, "-o", self.out, option, "*no_such*",
                                        code=2)
                    self.assertIn(f'{option} "*no_such*"', line)
                    # A layer goes whole or not at all.
                    line = self.problem(command, folder, "-o", self.out, option, "*.weight_scale",
                                        code=2)
                    self.assertIn("down_proj.weight_scale", line)
                    line = self.problem(command, folder, "-o", self.out, "--keep", "*down_proj",
                                        "--skip", "*down_proj.weight_scale", code=2)
                    self.assertIn("down_proj.weight_scale", line)
                    self.assertFalse(self.out.exists())

    def test_a_part_of_a_fused_layer_may_be_kept(self):
        layer = Integers(1)
        tensors = {f"mlp.{part}_proj{suffix}": content for part in ("gate", "up")
                   for suffix, content in gptq(layer).items()}
        case = Case((), "parts", model(gptq_config()), tensors)
        folder = self.write(case)
        self.heddle("repack", folder, "-o", self.out, "--keep", "*.up_proj", check=0)
        self.assertEqual(set(self.repacked_specs()), {"mlp.gate_proj"})
        for name in tensors:
            self.assertEqual(name in load(self.out)[1], "up_proj" in name)

    def test_what_only_repack_refuses(self):
        def check(case):
            folder = self.write(case)
            self.assert_refused(case, "repack", folder, "-o", self.out)
            self.assert_refused(case, "build", folder, "--print-specs")
            self.check_readable(case, folder)
            self.out.unlink()
            self.check_keep_and_skip(case, folder)

        self.each(REPACK_REFUSED, check)

    def test_layers_that_no_kernel_takes_are_copied(self):
        def check(case):
            folder = self.write(case)
            done = self.heddle("repack", folder, "-o", self.out, check=1)
            self.assertEqual(self.assert_layers_are_packed(case, done), others(case))
            lines = [line for line in done.err.splitlines() if f'"{case.module}"' in line]
            self.assertEqual(len(lines), 1, done.err)
            for word in ("is copied as it is", *case.says):
                self.assertIn(word, lines[0])
            report = self.heddle_json("repack", folder, "-o", self.out, check=1)
            self.assertEqual([layer["layer"] for layer in report["unserved"]], [case.module])
            built = self.assert_build_agrees(folder).err
            self.heddle("build", folder, "--print-specs", "--all", check=1)
            self.assertIn("no kernel for " + case.module.rpartition(".")[2], built)
            self.check_readable(case, folder)
            self.check_keep_and_skip(case, folder)

        self.each(COPIED, check)


if __name__ == "__main__":
    unittest.main()
