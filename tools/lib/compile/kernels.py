"""The sources that a heddle command renders."""

import dataclasses
import json
import subprocess


@dataclasses.dataclass
class Kernel:
    name: str
    op: str
    arch: str
    text: str


def _json(command, given=None):
    done = subprocess.run([str(one) for one in command], input=given, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} {command[1]}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def of_spec(heddle, spec, target):
    """`spec`: the document."""
    sources = _json([heddle, "render", "-", "--target", target, "--all", "--json"],
                    json.dumps(spec))
    op = spec.get("op", "gemm")
    return [Kernel(one["kernel"], op, one["arch"], one["text"]) for one in sources["sources"]]


def of_model(heddle, config, target):
    """The kernels of a model's config.json, a folder or a list of specs; each text once, as several
    specs may share it."""
    specs = _json([heddle, "build", config, "--target", target, "--print-specs"])
    each = [kernel for spec in specs for kernel in of_spec(heddle, spec, target)]
    return list({(kernel.arch, kernel.text): kernel for kernel in each}.values())
