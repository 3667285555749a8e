"""A graphics device for fusepy: installs Mesa's software Vulkan driver if there is none.

`make` runs it with the virtual environment's Python, in which fusepy is installed. It changes the system only through apt, as
root, on Debian and its relatives. On other systems it prints the packages to install and exits with 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from aptget import Apt, SetupError


def _load(path: str) -> ModuleType:
    """Loads one file of fusepy without the package: the package imports slangpy, which may fail on a bare system."""
    file = Path(__file__).resolve().parent.parent / path
    spec = importlib.util.spec_from_file_location(f"fusepy_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module by name
    spec.loader.exec_module(module)
    return module


drivers = _load("fusepy/cli/drivers.py")
probing = _load("fusepy/backend/device/probe.py")


def choose_suite(system: drivers.System, candidate: str | None) -> str | None:
    """Returns the suite for the driver: None for the release's own, else one with a newer Mesa.

    Args:
        system: the system to install on.
        candidate: the version of the driver package that apt would install, None if apt does not know it.

    Raises:
        SetupError: if neither has a driver that works.
    """
    package = system.drivers[0]
    if candidate is None:
        raise SetupError(f"apt knows no package {package}; enable the component of {system.name} that has it (Ubuntu: universe)")
    if drivers.mesa_version(candidate) > drivers.MESA_TOO_OLD:
        return None
    suite = drivers.backports_suite(system)
    if suite is None:
        raise SetupError(f"{system.name} offers {package} {candidate}, which is too old, and has no backports suite that we know")
    return suite


def install_driver(system: drivers.System, apt: Apt) -> None:
    """Installs the software Vulkan driver. Adds the backports suite first if the release's own driver is too old."""
    print(f"Installing a software Vulkan driver ({', '.join(system.drivers)}); a minute or two", flush=True)
    suite = choose_suite(system, apt.candidate(system.drivers[0]))
    if suite:
        apt.add_suite(system.codename, suite)
    apt.install(*system.drivers, suite=suite)


def look() -> list[probing.Probe]:
    """Tries every device type that counts as a graphics device."""
    return probing.probe_all([type for type in probing.TYPES if type != "cpu"])


def lacks_library(probes: Sequence[probing.Probe]) -> bool:
    """True if slangpy cannot be loaded because system libraries are missing."""
    return any(p.broken_install and drivers.lacks_library(p.error) for p in probes)


def obstacle(probes: Sequence[probing.Probe], system: drivers.System) -> str | None:
    """Returns the reason why installing packages would be wrong or impossible, with an alternative, or None."""
    if all(p.broken_install for p in probes) and not lacks_library(probes):
        return "slangpy cannot even be imported, which no driver cures: mend the environment first (`make clean` removes it)"
    if problem := drivers.environment_problem():
        return problem
    return None if system.family == "debian" else remedy(probes, system)


def remedy(probes: Sequence[probing.Probe], system: drivers.System) -> str:
    """Returns the packages that the user must install."""
    first = [drivers.advice_on_library(system)] if lacks_library(probes) else []
    return "\n".join([*first, drivers.advice(system)])


def set_up(probes: list[probing.Probe], system: drivers.System) -> list[probing.Probe]:
    """Installs missing packages, system libraries first, and tries the devices again after each step.

    Raises:
        SetupError: if apt cannot be used or fails.
    """
    apt = Apt()
    print(f"No graphics device found.\n{reasons(probes)}", flush=True)
    apt.update()
    if lacks_library(probes):
        print(f"Installing system libraries that slangpy needs ({', '.join(system.libraries)})", flush=True)
        apt.install(*system.libraries)
        probes = look()
    if probing.best(probes) is None:
        install_driver(system, apt)
        probes = look()
    return probes


def reasons(probes: Sequence[probing.Probe]) -> str:
    """Returns the reason why each device type cannot be used."""
    return "\n".join(f"  {p.type}: {p.error}" for p in probes if p.error)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the set-up. Returns 0 if a usable device exists at the end, else 1, with reason and remedy on stderr."""
    parser = argparse.ArgumentParser(description="Makes sure that a usable graphics device exists.")
    parser.add_argument("--check", action="store_true", help="only look; install nothing")
    arguments = parser.parse_args(argv)
    system = drivers.this_system()
    probes = look()
    problem = None
    if probing.best(probes) is None:
        problem = obstacle(probes, system) or (remedy(probes, system) if arguments.check else None)
        if problem is None:
            try:
                probes = set_up(probes, system)
                problem = "the driver is installed, and still no device works; `make doctor` says more"
            except SetupError as error:
                problem = f"{error}\n{remedy(probes, system)}"
    if found := probing.best(probes):
        kind = "software" if found.software else "hardware"
        print(f"Graphics device: {found.adapter} ({found.api}, {kind})")
        return 0
    print(f"No graphics device that fusepy can use:\n{reasons(probes)}\n{problem}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
