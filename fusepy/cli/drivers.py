"""Packages that each system must install for a graphics device: the only place with package names and versions.

`fusepy doctor` prints this advice, and ``tools/setup_driver.py`` installs the packages. This module runs no commands.
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
# the releases with such a Mesa and a Python that fusepy supports
_OLD_RELEASES = {"bookworm"}

# by family: the command that installs, and the packages of the software driver and the Vulkan loader
_DRIVERS = {
    "debian": ("apt-get install", ("mesa-vulkan-drivers", "libvulkan1")),
    "fedora": ("dnf install", ("mesa-vulkan-drivers", "vulkan-loader")),
    "arch": ("pacman -S", ("vulkan-swrast", "vulkan-icd-loader")),
    "suse": ("zypper install", ("libvulkan_lvp", "libvulkan1")),
}
# by family: the packages of system libraries that slangpy's wheel needs (libatomic, libX11) and that a bare image may lack
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
    """The operating system for driver advice; `family` is a package manager's, or None for an unknown system."""

    platform: str
    name: str
    family: str | None = None
    id: str = ""
    codename: str = ""

    @property
    def drivers(self) -> tuple[str, ...]:
        """The packages of a software Vulkan driver; empty for an unknown system."""
        return _DRIVERS[self.family][1] if self.family else ()

    @property
    def libraries(self) -> tuple[str, ...]:
        """The packages of slangpy's system libraries; empty for an unknown system."""
        return _LIBRARIES[self.family] if self.family else ()


def system_from(os_release: Mapping[str, str]) -> System:
    """Returns the Linux system for the fields of an os-release file.

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
    """Returns the system of this process."""
    if sys.platform != "linux":
        return System(sys.platform, f"{platform.system()} {platform.release()}")
    try:
        return system_from(platform.freedesktop_os_release())
    except OSError:
        return System("linux", "a Linux without an os-release file")


def mesa_version(package_version: str) -> tuple[int, int]:
    """Returns Mesa's own version from a distribution's package version.

    Raises:
        ValueError: if the text does not begin with a version.

    Example:
        >>> mesa_version("1:22.3.6-1+deb12u1")
        (22, 3)
    """
    major, minor, *_ = package_version.split(":")[-1].split("-")[0].split(".")
    return int(major), int(minor)


def backports_suite(system: System) -> str | None:
    """Returns the suite with a newer Mesa for a release whose own is too old, or None."""
    return f"{system.codename}-backports" if system.id == "debian" and system.codename else None


def environment_problem() -> str | None:
    """Returns an error if a variable points the Vulkan loader at drivers that do not exist: no package can repair that."""
    for variable in _ICD_VARIABLES:
        paths = [Path(path) for path in os.environ.get(variable, "").split(os.pathsep) if path]
        if paths and not any(path.exists() for path in paths):
            return f"{variable} names no file that exists ({os.environ[variable]}), which hides every Vulkan driver: unset it"
    return None


def lacks_library(error: str | None) -> bool:
    """True if an error is the loader's message about a missing system library."""
    return error is not None and "cannot open shared object file" in error


def advice_on_library(system: System) -> str:
    """Returns the packages to install if slangpy cannot be imported because a system library is missing."""
    if not system.family:
        return "install the system libraries libatomic and libX11"
    return f"as root: {_DRIVERS[system.family][0]} {' '.join(system.libraries)}"


def advice(system: System) -> str:
    """Returns the packages to install for a device that fusepy can use, and the command.

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
    """Returns instructions to install CUDA's run-time compiler for Slang."""
    # Slang asks the system's loader for exactly "libnvrtc.so"; the wheel has only a file with a version after that name.
    return (
        "a CUDA device is there, and its run-time compiler NVRTC is not: install the CUDA toolkit, or the Python package "
        "nvidia-cuda-nvrtc and link its libnvrtc.so.* as libnvrtc.so; then put that folder on LD_LIBRARY_PATH first"
    )
