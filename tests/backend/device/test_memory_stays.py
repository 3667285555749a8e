"""What stays of devices that are closed and of modules that are dropped: docs/reliability.md has the numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import gc, os, time, weakref
import numpy as np
import fusepy as fp
from fusepy.backend.slang import session

SOURCE = "struct S { float3 a; float b; }; float f(float x) { return x + NUMBER; } float g(S s) { return s.b; }"
ones = np.ones(1000, "f4")

def seen():
    gc.collect()
    pages = int(open("/proc/self/statm").read().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") >> 20, len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

def load(device, number):
    return fp.Module.load_from_source(device, f"stays{number}", SOURCE.replace("NUMBER", str(number)))

def round(number):
    device = fp.init_device()
    m = load(device, number % 2)
    assert (m.f(ones) == 1 + number % 2).all()
    assert (fp.Tensor.from_numpy(device, ones)[::2].copy().to_numpy() == 1).all()
    device.close()
    return weakref.ref(device)

gone = [round(n) for n in range(3)]
memory, threads, files = seen()
gone += [round(n) for n in range(6)]
end = time.monotonic() + 10
while seen()[1] > threads and time.monotonic() < end:
    time.sleep(0.05)
after = seen()
assert after[0] <= memory + 30, ("memory of closed devices", memory, after)
assert after[1] <= threads, ("threads of closed devices", threads, after)
assert after[2] <= files, ("files of closed devices", files, after)
assert not any(device() for device in gone), "closed devices stay"

session.KERNELS_PER_SESSION = 8
device = fp.init_device()
for number in range(10, 20):
    dir(load(device, number))
memory = seen()[0]
for number in range(20, 80):
    dir(load(device, number))
assert seen()[0] <= memory + 30, ("memory of dropped modules", memory, seen())
open_sessions = [weakref.ref(s) for s in device.compiler._sessions._open.values()]
assert open_sessions
fp.clear_cache(device=device)
gc.collect()
assert not any(s() for s in open_sessions), "sessions stay after clear_cache"
assert (load(device, 1).f(ones) == 2).all()
print("done")
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory, threads and files are counted as Linux does")
@pytest.mark.long
def test_closed_devices_and_dropped_modules_leave_nothing_that_grows(tmp_path: Path) -> None:
    own = {**os.environ, "FUSEPY_CACHE_DIR": str(tmp_path)}  # a module that is known from the cache is not loaded at all
    own.pop("FUSEPY_CACHE", None)
    child = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, env=own)
    assert child.returncode == 0, (child.stdout[-2000:], child.stderr[-4000:])
    assert child.stdout.endswith("done\n")
