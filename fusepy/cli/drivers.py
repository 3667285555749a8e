"""What each system must install so that a graphics device exists: the one place that knows package names and versions.

Both `fusepy doctor`, which only advises, and ``tools/setup_driver.py``, which installs, read it. Nothing here runs a command.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# Measured: Mesa 22.3 lacks VK_KHR_shader_non_semantic_info in its software driver and slangpy opens no device; 25.0 works.
MESA_TOO_OLD = (22, 3)
# The releases that ship such a Mesa and still have a Python that fusepy supports.
_OLD_RELEASES = {"bookworm"}

# Family -> the command that installs, the packages that bring the software driver and the Vulkan loader.
_DRIVERS = {
    "debian": ("apt-get install", ("mesa-vulkan-drivers", "libvulkan1")),
    "fedora": ("dnf install", ("mesa-vulkan-drivers", "vulkan-loader")),
    "arch": ("pacman -S", ("vulkan-swrast", "vulkan-icd-loader")),
    "suse": ("zypper install", ("libvulkan_lvp", "libvulkan1")),
}
# Family -> the packages of the system libraries that slangpy's wheel needs (libatomic, libX11) and that a bare image may lack.
_LIBRARIES = {
    "debian": ("libatomic1", "libx11-6"),
    "fedora": ("libatomic", "libX11"),
    "arch": ("gcc-libs", "libx11"),
    "suse": ("libatomic1", "libX11-6"),
}
_ALIASES = {"ubuntu": "debian", "rhel": "fedora", "centos": "fedora", "opensuse": "suse", "archlinux": "arch"}
_ICD_VARIABLES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")


@dataclass(frozen=True)
class System:
    """The operating system as far as drivers are concerned; `family` names a package manager, or is None where we know none."""

    platform: str
    name: str
    family: str | None = None
    id: str = ""
    codename: str = ""

    @property
    def drivers(self) -> tuple[str, ...]:
        """The packages that bring a software Vulkan driver; empty where we know none."""
        return _DRIVERS[self.family][1] if self.family else ()

    @property
    def libraries(self) -> tuple[str, ...]:
        """The packages that bring the system libraries of slangpy; empty where we know none."""
        return _LIBRARIES[self.family] if self.family else ()


def system_from(os_release: Mapping[str, str]) -> System:
    """Reads a Linux system off the fields of its os-release file.

    Example:
        >>> system_from({"ID": "linuxmint", "ID_LIKE": "ubuntu debian", "PRETTY_NAME": "Linux Mint 22"}).family
        'debian'
    """
    id = os_release.get("ID", "linux")
    family = None
    for word in (id, *os_release.get("ID_LIKE", "").split()):
        word = _ALIASES.get(word, word)
        if word in _DRIVERS:
            family = word
            break
    name = os_release.get("PRETTY_NAME", id)
    return System("linux", name, family, id, os_release.get("VERSION_CODENAME", ""))


def this_system() -> System:
    """The system that this process runs on."""
    if sys.platform != "linux":
        return System(sys.platform, f"{platform.system()} {platform.release()}")
    try:
        return system_from(platform.freedesktop_os_release())
    except OSError:
        return System("linux", "a Linux without an os-release file")


def mesa_version(package_version: str) -> tuple[int, int]:
    """Mesa's own version inside a distribution's package version.

    Raises:
        ValueError: when the text does not begin with a version.

    Example:
        >>> mesa_version("1:22.3.6-1+deb12u1")
        (22, 3)
    """
    major, minor, *_ = package_version.split(":")[-1].split("-")[0].split(".")
    return int(major), int(minor)


def backports_suite(system: System) -> str | None:
    """The suite that has a newer Mesa for a release whose own is too old, where the distribution keeps one."""
    return f"{system.codename}-backports" if system.id == "debian" and system.codename else None


def environment_problem(environ: Mapping[str, str] = os.environ) -> str | None:
    """Says so when a variable points the Vulkan loader at drivers that do not exist: no package can cure that."""
    for variable in _ICD_VARIABLES:
        paths = [Path(path) for path in environ.get(variable, "").split(os.pathsep) if path]
        if paths and not any(path.exists() for path in paths):
            return f"{variable} names no file that exists ({environ[variable]}), which hides every Vulkan driver: unset it"
    return None


def lacks_library(error: str | None) -> bool:
    """True when an error is the loader's about a system library that is not there."""
    return error is not None and "cannot open shared object file" in error


def advice_on_library(system: System) -> str:
    """What to install when slangpy cannot be imported because a system library is missing."""
    if not system.family:
        return "install the system libraries libatomic and libX11"
    return f"as root: {_DRIVERS[system.family][0]} {' '.join(system.libraries)}"


def advice(system: System) -> str:
    """What to install, and how, so that this system has a device that fusepy can use.

    Example:
        >>> print(advice(System("linux", "Fedora Linux 42", "fedora", "fedora")))
        as root: dnf install mesa-vulkan-drivers vulkan-loader    (a software driver; a GPU's own driver is faster)
    """
    if system.platform == "darwin":
        return "fusepy uses Metal here: it needs macOS 14 or later on a Mac with a Metal GPU; no package can replace that"
    if system.platform == "win32":
        return "install the graphics driver of your GPU's maker, which brings Direct3D 12 and Vulkan, and restart"
    if not system.family:
        return (
            "install Mesa's software Vulkan driver, newer than {}.{} (often packaged as mesa-vulkan-drivers, vulkan-swrast or "
            "libvulkan_lvp), and the Vulkan loader"
        ).format(*MESA_TOO_OLD)
    command, packages = _DRIVERS[system.family]
    suite = backports_suite(system)
    if suite and system.codename in _OLD_RELEASES:
        return (
            f"this release's own Mesa is too old, its backports suite has a newer one. In a clone of fusepy, "
            f"`sudo .venv/bin/python tools/setup_driver.py` installs it; by hand, add the suite {suite} of your own mirror to "
            f"apt's sources, then as root: apt-get update && {command} -t {suite} {' '.join(packages)}"
        )
    return f"as root: {command} {' '.join(packages)}    (a software driver; a GPU's own driver is faster)"


def nvrtc_advice() -> str:
    """How CUDA's run-time compiler gets where Slang looks for it."""
    # Slang asks the system's loader for exactly "libnvrtc.so"; the wheel brings only a file with a version behind that name.
    return (
        "a CUDA device is there, and its run-time compiler NVRTC is not: install the CUDA toolkit, or the Python package "
        "nvidia-cuda-nvrtc and link its libnvrtc.so.* as libnvrtc.so; then put that folder on LD_LIBRARY_PATH first"
    )
