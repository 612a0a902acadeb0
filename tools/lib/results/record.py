"""Saves what a measuring script has found, with all that must be known of the run."""

import datetime
import itertools
import json
import pathlib
import shlex
import subprocess
import sys
import typing

from results import data

# Any kernel tells which compiler made it.
_SPEC = {"heddle": 1, "op": "gemm", "shape": {"n": 1024, "k": 1024}, "weight": {"bits": 8},
         "activation": {"dtype": "fp16"}}


def command_line(arguments: typing.Sequence[str] | None = None) -> str:
    """The command as it can be given again, without the file that it was to save to."""
    arguments = list(sys.argv if arguments is None else arguments)
    kept = ["tools/" + pathlib.Path(arguments[0]).name]
    for previous, argument in itertools.pairwise(arguments):
        if previous != "--save" and argument != "--save" and not argument.startswith("--save="):
            kept.append(argument)
    return shlex.join(kept)


def versions(heddle: pathlib.Path,
             cache: pathlib.Path | None = None) -> dict[str, str]:
    """Of Heddle, the driver and NVRTC, as far as this machine tells them."""
    found = {}
    name, _, version = _output([str(heddle), "--version"]).strip().partition(" ")
    if name == "heddle" and version:
        found["heddle"] = version
    driver = _output(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"])
    if driver.strip():
        found["driver"] = driver.split()[0]
    inspected = _output([str(heddle), "inspect", json.dumps(_SPEC), "--target", "sm_80", "--m", "1",
                         "--json",
                         *(["--cache", str(cache)] if cache else [])])
    try:
        compiler = json.loads(inspected)["kernels"][0]["compiler"].split()
        found[compiler[0]] = compiler[1]
    except (ValueError, KeyError, IndexError):
        pass
    return found


def _output(command: typing.Sequence[str]) -> str:
    """What a command prints; nothing where it fails or is not there."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              check=False).stdout
    except OSError:
        return ""


class Recorder:
    """Writes the data file anew after each part of a run. What does not change is asked for once."""

    def __init__(self, path: pathlib.Path, what: str, heddle: pathlib.Path,
                 cache: pathlib.Path | None = None,
                 command: str | None = None) -> None:
        self.path = path
        self.what = what
        self.command = command or command_line()
        self.date = datetime.date.today().isoformat()
        self.versions = versions(heddle, cache)

    def save(self, card: str, tables: dict[str, data.Table]) -> None:
        data.save(self.path, data.Data(self.what, self.command, card, self.date, self.versions,
                                       tables))
