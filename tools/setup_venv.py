"""The virtual environment: creates .venv and installs fusepy with the named extras, unless that is done already.

`make` runs it with the system's Python, usually as ``python3 tools/setup_venv.py demo dev``. A stamp in .venv records the extras
and a digest of pyproject.toml. Nothing happens until that file or the requested extras change.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "fusepy-installed.json"
OLDEST = (3, 10)
TORCH = "torch==2.13.0+cpu"


def use_new_enough_python() -> None:
    """Restarts in a newer Python if this one is too old for fusepy and a newer one is available."""
    if sys.version_info >= OLDEST:
        return
    for minor in range(20, OLDEST[1] - 1, -1):
        newer = shutil.which(f"python3.{minor}")
        if newer and subprocess.run([newer, "-c", ""], capture_output=True).returncode == 0:
            os.execv(newer, [newer, *sys.argv])
    have, need = (".".join(map(str, version)) for version in (sys.version_info[:2], OLDEST))
    sys.exit(f"fusepy needs Python {need} or later; this is {have}. Install one, or name it: make PYTHON=/path/to/python3 …")


def works(python: Path) -> bool:
    """True if an interpreter starts; a virtual environment breaks when the system's Python is replaced."""
    return python.exists() and subprocess.run([str(python), "-c", "import pip"], capture_output=True).returncode == 0


def make_venv() -> None:
    """Creates a new .venv. Installs the part of Python that Debian omits first."""
    if any(importlib.util.find_spec(name) is None for name in ("venv", "ensurepip")):
        install_venv_module()
    print(f"Making {VENV.name} with Python {sys.version.split()[0]}", flush=True)
    # a new process, because this one has already looked for ensurepip and remembers that there was none
    if subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)]).returncode:
        sys.exit(f"`{sys.executable} -m venv` failed, see above")


def install_venv_module() -> None:
    """Installs Debian's pythonX.Y-venv, or exits with the missing package."""
    from aptget import Apt, SetupError

    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    missing = f"{sys.executable} cannot make virtual environments (no venv or ensurepip module)"
    if not Path(sys.base_prefix).samefile("/usr"):
        sys.exit(f"{missing}; it is not the system's Python: install a complete one, or name it: make PYTHON=/usr/bin/python3 …")
    print(f"{missing}: installing {package}", flush=True)
    try:
        apt = Apt()
        apt.update()
        apt.install(package)
    except SetupError as error:
        sys.exit(f"{missing}: {error}\nas root: apt-get install {package}    (or your system's package of Python's venv)")


def wanted(extras: set[str]) -> dict[str, object]:
    """Returns the contents of the stamp for these extras."""
    digest = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    return {"pyproject": digest, "extras": sorted(extras), "root": str(ROOT)}


def installed() -> dict[str, object]:
    """Returns the contents of the stamp; empty if there is none or it is unreadable."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def install_torch(pip: list[str]) -> None:
    """Installs torch's build for CPUs, which tests of tensors use, if pip has one; never the large build for GPUs."""
    if subprocess.run([*pip, TORCH], capture_output=True).returncode:
        print(f"pip has no {TORCH}: tests of torch are skipped unless a torch is installed into {VENV.name}", flush=True)


def main(extras: set[str]) -> None:
    """Updates .venv."""
    use_new_enough_python()
    if not works(PYTHON):
        make_venv()
    stamp = installed()
    have = set(stamp.get("extras", ()))
    if extras <= have and stamp == wanted(have):
        return
    extras |= have
    names = ", ".join(sorted(extras))
    print(f"Installing fusepy with its extras {names} into {VENV.name}; the first time takes a minute or two", flush=True)
    STAMP.unlink(missing_ok=True)
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, "--editable", f"{ROOT}[{','.join(sorted(extras))}]"]).returncode:
        sys.exit("pip could not install fusepy, see above")
    if "dev" in extras:
        install_torch(pip)
    STAMP.write_text(json.dumps(wanted(extras)), encoding="utf-8")


if __name__ == "__main__":
    main(set(sys.argv[1:]))
