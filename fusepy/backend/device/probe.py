"""Probes of device types, each in its own process: the child opens a device, runs one real kernel and checks the numbers.

A broken graphics driver often ends the process instead of raising, so code that only looks for devices must not open one itself.
`main` is the child's program, which prints lines of JSON; `probe` starts it and reads the last one.
"""

# slangpy's stubs omit the type parameters of arrays and paths
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import slangpy as spy

# Device types worth trying on each platform, in the order in which `init_device` prefers them. "cpu" is last and counts as a
# fallback only (it lacks atomics, textures and waves).
_TYPES = {"linux": ("cuda", "vulkan", "cpu"), "darwin": ("metal", "cpu"), "win32": ("cuda", "vulkan", "d3d12", "cpu")}
TYPES: tuple[str, ...] = _TYPES.get(sys.platform, ("vulkan", "cpu"))

# slangpy imports torch where it is installed, which takes longer than all the rest. Only CUDA needs the libraries of torch.
_CHILD = """
import sys
if sys.argv[1] != "cuda":
    sys.modules["torch"] = None
from fusepy.backend.device.probe import main
sys.exit(main())
"""


@dataclass
class Probe:
    """The report of one device type. `stage` is the last step begun; `error` is None if and only if all steps succeeded."""

    type: str
    stage: str = "start"
    error: str | None = None
    adapter: str | None = None
    api: str | None = None
    software: bool = False
    adapters: Sequence[str] = ()
    slang: str | None = None
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """True if a kernel ran and its result was right."""
        return self.error is None and self.stage == "done"

    @property
    def broken_install(self) -> bool:
        """True if the Python installation is at fault and not the driver."""
        return self.stage in ("start", "import")


def probe(type: str, timeout: float = 60.0) -> Probe:
    """Tries one device type in a child process. Failures of the child are reported, not raised.

    Args:
        type: a slangpy device type: "vulkan", "cuda", "metal", "d3d12" or "cpu".
        timeout: seconds to wait for a silent driver.
    """
    command = [sys.executable, "-c", _CHILD, type]
    try:
        child = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=timeout)
    except subprocess.TimeoutExpired:
        return Probe(type, "hung", f"no answer within {timeout:g} s")
    # drivers print to stdout too, before and after our lines
    reports = [line for line in child.stdout.splitlines() if line.startswith('{"type":')]
    found = Probe(**json.loads(reports[-1])) if reports else Probe(type)
    if found.error is None and not found.ok:
        found.error = _last_words(child)
    return found


def probe_all(types: Iterable[str]) -> list[Probe]:
    """Tries several device types at the same time, each in its own process. The results have the order of `types`."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        return list(pool.map(probe, types))


def best(probes: Iterable[Probe]) -> Probe | None:
    """Returns the best working device: hardware before software, and never the cpu fallback."""
    usable = [p for p in probes if p.ok and p.type != "cpu"]
    return min(usable, key=lambda p: p.software, default=None)


def _last_words(child: subprocess.CompletedProcess[str]) -> str:
    """Returns the reason why a child ended without a report: the signal that killed it, or the last line that it wrote."""
    if child.returncode < 0:
        names = {int(s): s.name for s in signal.Signals}
        return f"the process was ended by {names.get(-child.returncode, f'signal {-child.returncode}')}"
    said = [line.strip() for line in child.stderr.splitlines() if line.strip()]
    return said[-1] if said else f"the process ended with exit code {child.returncode} and said nothing"


def _attempt(report: Probe, log: list[str]) -> None:
    """Runs the child's steps. Each step is printed before it begins, so that a crash shows its place."""
    _enter(report, "import")
    import slangpy as spy

    from fusepy.backend.device.selfcheck import selfcheck

    report.slang = spy.SLANG_BUILD_TAG
    _silence(log)
    _enter(report, "open")
    kind = spy.DeviceType[report.type]
    report.adapters = [adapter.name for adapter in spy.Device.enumerate_adapters(kind)]
    device = spy.Device(type=kind, enable_rhi_validation=False, enable_hot_reload=False)
    report.adapter = device.info.adapter_name
    report.api = device.info.api_name
    report.software = spy.Feature.software_device in device.features

    report.error = selfcheck(device, lambda stage: _enter(report, stage))
    if report.error is not None:
        return
    _enter(report, "close")
    device.close()
    report.stage = "done"


def _silence(log: list[str]) -> None:
    """Redirects slangpy's log into a list. It would mix into stdout, and it has the best error messages."""
    import slangpy as spy

    class Collect(spy.LoggerOutput):
        def write(self, level: spy.LogLevel, name: str, msg: str) -> None:
            if level.value >= spy.LogLevel.error.value:
                log.append(msg)

    logger = spy.Logger.get()
    logger.remove_all_outputs()
    logger.add_output(Collect())


def _words(error: Exception, log: list[str]) -> str:
    """Returns one line for users: the log if there is one, else the exception without source positions."""
    text = "\n".join(log) or str(error)
    lines = [line.strip() for line in text.splitlines()]
    return "; ".join(line for line in lines if line and not line.startswith("/") and line != "RHI messages:")


def _enter(report: Probe, stage: str) -> None:
    report.stage = stage
    print(json.dumps(asdict(report)), flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the child, which prints a line of JSON at each stage. The exit code is 0 if the kernel's result was right."""
    parser = argparse.ArgumentParser(prog="python -m fusepy.backend.device.probe", description="Tries one device type.")
    parser.add_argument("type", choices=sorted({type for types in _TYPES.values() for type in types}))
    report, log = Probe(parser.parse_args(argv).type), list[str]()
    begin = time.perf_counter()
    try:
        _attempt(report, log)
    except (ImportError, RuntimeError) as error:
        report.error = _words(error, log)
    report.seconds = round(time.perf_counter() - begin, 3)
    print(json.dumps(asdict(report)), flush=True)
    return 0 if report.ok else 1
