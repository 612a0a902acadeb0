"""python -m heddle: what of Heddle's command needs PyTorch."""

from __future__ import annotations

import argparse
import sys

from ._errors import Error


def numbers(text: str) -> list[int]:
    """"1,8" as [1, 8]."""
    made = [int(part) for part in text.split(",")]
    if min(made) < 1:
        raise ValueError
    return made


def count(text: str) -> int:
    """"8", and nothing below 1."""
    made = int(text)
    if made < 1:
        raise ValueError
    return made


def parser() -> argparse.ArgumentParser:
    """Of the whole command line."""
    top = argparse.ArgumentParser(prog="python -m heddle")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    bench = commands.add_parser(
        "bench-model",
        help="time a token of a model with random weights, on Heddle and by Transformers in BF16",
    )
    bench.add_argument("config", metavar="FOLDER|CONFIG", help="a folder with a config.json, or it")
    bench.add_argument("--batch", type=numbers, default=[1], metavar="B,B...", help="default 1")
    bench.add_argument("--context", type=count, default=1024, metavar="TOKENS", help="default 1024")
    bench.add_argument("--kv", default="int8:head", help="the cache; default int8:head")
    bench.add_argument(
        "--bits", type=count, default=4, help="of weights that the config leaves in 16 bits"
    )
    bench.add_argument(
        "--lm-head", type=int, choices=(8, 4), default=0, help="bits of lm_head; else it stays"
    )
    bench.add_argument("--layers", type=count, metavar="N", help="only so many decoder layers")
    bench.add_argument("--no-compile", action="store_true", help="leave out torch.compile")
    bench.add_argument("--json", action="store_true", help="print JSON")
    return top


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code: 0, 1 for an error of Heddle, 2 for a wrong command line."""
    options = parser().parse_args(arguments)
    try:
        from .transformers._bench import bench_model  # noqa: PLC0415

        print(bench_model(options))
    except ImportError as error:
        print(f"heddle: {error}; in a clone: pip install '.[transformers]'", file=sys.stderr)
        return 1
    except (Error, OSError) as error:
        print(f"heddle: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
