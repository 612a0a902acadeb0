"""Specs, and how a benchmark script has the heddle command time them."""

import argparse
import json
import os
import pathlib
import subprocess
import sys

from results import record, tables

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Failed(Exception):
    """heddle could not do it and has said why; args[0] is its exit code."""


def gemm(n, k, weight, dtype="fp16", **more):
    return {"heddle": 1, "op": "gemm", "shape": {"n": n, "k": k}, "weight": weight,
            "activation": {"dtype": dtype}, **more}


def parser(description, groups=(), quick="the main table with symmetric weights and FP16 only"):
    """The options of every script; groups are the parts that can be run by themselves, if any."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--heddle", type=pathlib.Path, metavar="PATH",
                         default=pathlib.Path(os.environ.get("HEDDLE",
                                                             ROOT / "build/release/bin/heddle")),
                         help="the command to measure with; default $HEDDLE or build/release's")
    if groups:
        options.add_argument("--quick", action="store_true", help=quick)
        options.add_argument("--groups", type=lambda text: text.split(","), metavar="NAME,NAME...",
                             help="parts to run, in this order; default all: " + ",".join(groups))
    options.add_argument("--cache", type=pathlib.Path, help="folder of compiled kernels")
    options.add_argument("--json", action="store_true",
                         help="print one JSON document instead of tables")
    options.add_argument("--save", type=pathlib.Path, metavar="FILE",
                         help="also save the results as a data file that tools/results reads")
    options.add_argument("--specs", action="store_true",
                         help="only print the specs, as a list that heddle build takes: what it "
                              "makes on a machine without a GPU need not be made where there is one")
    return options


def add_ms(options):
    """How long to measure: what --ms and --rest of heddle bench take."""
    options.add_argument("--ms", type=float, default=50, help="how long to measure each cell")
    options.add_argument("--rest", type=float, default=0, metavar="TIMES",
                         help="leave the GPU idle for so many times as long after each replay, so "
                              "that it keeps below its limit of power; default 0")


def parse(options, arguments):
    """The namespace of the command line."""
    parsed = options.parse_args(arguments)
    if not parsed.specs:
        check_heddle(options, parsed)
    return parsed


def check_heddle(options, parsed):
    """Refuses a --heddle that cannot be run."""
    if not os.access(parsed.heddle, os.X_OK):
        options.error(f"{parsed.heddle} is no program; build it with tools/quickstart, or name one "
                      "with --heddle")


def parse_groups(options, groups, quick, arguments):
    """The same of a script with groups; its groups are those to run."""
    parsed = parse(options, arguments)
    chosen = parsed.groups or (quick if parsed.quick else groups)
    for name in chosen:
        if name not in groups:
            options.error(f"there is no group {name}; there are {', '.join(groups)}")
    parsed.groups = chosen
    return parsed


def has_gpu(options):
    """Whether the command finds a GPU to measure on."""
    command = [str(options.heddle), "targets", "--device"]
    return subprocess.run(command, capture_output=True).returncode == 0


def time(options, specs, m_list, *more):
    """What heddle bench --json says of a spec, or of a list of gemms; its messages go to stderr as
    they are. Without `m_list` it chooses the sizes."""
    command = [str(options.heddle), "bench", "-", "--json", "--ms", str(options.ms),
               "--rest", str(options.rest), *more]
    if m_list:
        command += ["--m", ",".join(map(str, m_list))]
    if options.cache:
        command += ["--cache", str(options.cache)]
    done = subprocess.run(command, input=json.dumps(specs), stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Failed(done.returncode)
    return json.loads(done.stdout)


def rows_of(report, count):
    """The rows of each of `count` specs, by M."""
    rows = [{} for _ in range(count)]
    for row in report["benches"]:
        rows[row["spec"]][row["m"]] = row
    return rows


def print_specs(specs):
    unique = {json.dumps(spec): None for spec in specs}
    print("[\n  " + ",\n  ".join(unique) + "\n]")


def recorder(options, what):
    """What --save saves to; None without it."""
    return options.save and record.Recorder(options.save, what, options.heddle, options.cache)


def tell(options, saved, document, text, found=None):
    """After each group: its text, and all that is known so far for the recorder, if there is one:
    `found`, or the tables of the document."""
    if saved and "device" in document:
        saved.save(document["device"], found or tables.tables_of(document))
    if not options.json:
        print(text, end="", flush=True)


def finish(options, document):
    if options.json:
        print(json.dumps(document, indent=2))


def main(run, arguments):
    """Calls run(arguments) and returns the exit code."""
    try:
        run(arguments)
        return 0
    except Failed as failed:
        return failed.args[0]
    except BrokenPipeError:
        # Python would complain of the pipe once more when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
