"""The command `heddle` of a wheel: the program that lies in the package."""

from __future__ import annotations

import os
import pathlib
import sys

PROGRAM = pathlib.Path(__file__).parent / "bin/heddle"


def main() -> None:
    """Becomes the program."""
    if not PROGRAM.is_file():
        sys.exit("heddle: this package was built without the command, of an installed Heddle"
                 " that has none")
    os.execv(PROGRAM, ["heddle", *sys.argv[1:]])
