"""The configs of published models, trimmed to the fields that layers depend on: all are accepted, and
every quantised dense linear layer has a kernel, and so have all experts.

A file of published/ holds a model's config files. A config that begins with "like" is that of another
model with the fields that follow instead, its "text_config" likewise, and not those "without". Lists of modules are short: ["layers.{}.x", "0-3"]
stands for four names, and of "quantized_layers" a row has such a name, the layers and the value; of
the experts of a layer the first one is there. published.json has for each model what is served: the
kernels with their layers, and the counts of the last line."""

import json
import pathlib
import re
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))

from command import CommandTest  # noqa: E402  pylint: disable=wrong-import-position

MODELS = sorted((HERE / "published").glob("*.json"))
WANT = HERE / "published.json"


def indices(text):
    for run in text.split():
        first, _, last = run.partition("-")
        yield from range(int(first), int(last or first) + 1)


def names(entry):
    if isinstance(entry, str):
        return [entry]
    template, layers = entry
    return [template.replace("{}", str(i)) for i in indices(layers)]


def full(value, key=""):
    """The config that the short form stands for."""
    if key == "quantized_layers":
        return {name: what for template, layers, what in value
                for name in (names([template, layers]) if layers else [template])}
    if key in ("ignore", "exclude_modules", "modules_to_not_convert", "targets") and value:
        return [name for entry in value for name in names(entry)]
    if isinstance(value, dict):
        return {own: full(item, own) for own, item in value.items()}
    return value


def changed(config, changes):
    """The config with these fields instead, and not those that "without" names."""
    result = {**config, **changes}
    for gone in [*result.pop("without", []), "like"]:
        result.pop(gone, None)
    for key in ("text_config", "thinker_config"):
        if key in config and key in changes:
            result[key] = changed(config[key], changes[key])
    return result


def documents(model):
    """The model's files by name, in their short form."""
    files = json.loads(model.read_text())
    if like := files["config.json"].get("like"):
        base = json.loads((model.parent / f"{like}.json").read_text())["config.json"]
        files["config.json"] = changed(base, files["config.json"])
    return files


def summary(report):
    """What is compared: the kernels with the number of modules that they serve, and the counts."""
    kernels = {}
    for layer in report["layers"]:
        if layer["kernel"] is not None:
            key = f"{layer['kernel']} {layer['n']} x {layer['k']} {layer['weights']}"
            kernels[key] = kernels.get(key, 0) + layer["count"]
    return {"kernels": kernels, "served": report["served"], "total": report["total"]}


class PublishedTest(CommandTest):

    maxDiff = None

    def folder_of(self, model):
        folder = self.folder / model.stem
        folder.mkdir(exist_ok=True)
        for name, content in documents(model).items():
            (folder / name).write_text(json.dumps(full(content)))
        return folder

    def test_every_model_is_listed(self):
        want = json.loads(WANT.read_text())
        self.assertEqual(len(MODELS), 75)
        self.assertEqual(sorted(want), sorted(model.stem for model in MODELS))
        for model in MODELS:
            with self.subTest(model.stem):
                folder = self.folder_of(model)
                done = self.heddle("build", folder, "--list", "--target", "h200", check=0)
                self.assertEqual(done.err, "")
                report = self.heddle_json("build", folder, "--list", "--target", "h200")
                self.assertEqual(report["unserved"], [])
                for layer in report["layers"]:
                    dense = layer["kind"] == "linear" and layer["matrices"] == 1
                    experts = layer["kind"] == "experts"
                    if (dense or experts) and layer["weights"] != "16 bits":
                        self.assertIsNotNone(layer["kernel"], layer)
                    if layer["kernel"] is None:
                        self.assertTrue(layer["reason"], layer)
                got = summary(report)
                self.assertEqual(got, want[model.stem])
                last = done.out.splitlines()[-1]
                self.assertEqual(last, f"{got['served']} of {got['total']} layers served")
                all_served = got["served"] == got["total"]
                self.heddle("build", folder, "--list", "--all", "--target", "h200",
                            check=0 if all_served else 1)

    def test_caches_of_every_model(self):
        for model in MODELS:
            with self.subTest(model.stem):
                report = self.heddle_json("build", self.folder_of(model), "--kv", "int8:head",
                                          "--list", "--target", "h200")
                kinds = [layer for layer in report["layers"] if layer["kind"] == "cache"]
                self.assertTrue(kinds)
                blocks = report["model"]["blocks"]
                attending = sum(len(block["layers"]) for block in blocks if "attention" in block)
                served = sum(len(kind["layers"]) for kind in kinds
                             if re.match("decode_attention", kind["name"]) or kind["kernel"] is None)
                self.assertEqual(served, attending)


class Writer(PublishedTest):
    """python3 tests/models/test_published.py Writer.write makes published.json again."""

    test_every_model_is_listed = None
    test_caches_of_every_model = None

    def write(self):
        want = {model.stem: summary(self.heddle_json("build", self.folder_of(model), "--list",
                                                     "--target", "h200")) for model in MODELS}
        WANT.write_text(json.dumps(want, indent=1) + "\n")


if __name__ == "__main__":
    unittest.main()
