"""The published wheels of NVRTC, in a folder of the build."""

import pathlib
import shutil
import subprocess
import sys

# Which wheel stands for a release.
RELEASES = {
    "12.0": "12.0.76", "12.1": "12.1.105", "12.4": "12.4.127", "12.6": "12.6.77",
    "12.8": "12.8.93", "12.9": "12.9.86", "13.0": "13.0.88",
}


class WheelError(Exception):
    """The wheel cannot be had; one line says why."""


def package_of(version):
    """CUDA 12 has its number in the name of the package, CUDA 13 has not."""
    return "nvidia-cuda-nvrtc-cu12" if version.startswith("12.") else "nvidia-cuda-nvrtc"


def take(version, folder):
    """The folder of libnvrtc of that wheel, which is fetched unless `folder` has it already.

    A folder that is there is complete: pip writes into another one, which then gets the name.
    """
    place = folder / version
    if not place.is_dir():
        new = folder / (version + ".new")
        shutil.rmtree(new, ignore_errors=True)
        package = f"{package_of(version)}=={version}"
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile",
             "--disable-pip-version-check", "--root-user-action", "ignore", "--target", str(new),
             package], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            why = (done.stderr.strip() or "pip failed").splitlines()[-1]
            raise WheelError(f"could not get {package} from PyPI: {why}")
        new.rename(place)
    for library in sorted(pathlib.Path(place).rglob("libnvrtc.so.[0-9]*")):
        return library.parent
    raise WheelError(f"no libnvrtc.so in {place}; remove that folder and try again")
