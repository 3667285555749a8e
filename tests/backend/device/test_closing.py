"""A device is closed while other threads use it, by a finaliser, twice, at exit and in the child of a fork."""

from __future__ import annotations

import pytest

from tests.support import child

START = """
import os, sys, threading, time
import numpy as np
import fusepy as fp

SOURCE = "float twice(float x) { return 2 * x; } float add(float x, float y) { return x + y; }"
ones = np.ones(1000, "f4")
"""

STRESS = (
    START
    + """
def fused(m):
    @fp.fuse
    def norm(x):
        return m.twice(x) - fp.sum(x)
    return norm

def lazily(m, t):
    with fp.lazy():
        u = m.add(m.twice(t), t)
    return u.to_numpy()

def newly(m, t, i=[0]):
    i[0] += 1
    return fp.Module.load_from_source(m.device, f"new{i[0]}", f"float f(float x) {{ return x + {i[0] % 7}; }}").f(t)

def exported(t):
    try:
        t.__dlpack__()
    except fp.ExportError:  # a GPU's Vulkan memory, which no other framework reaches
        assert not t.device.transfer.host_addressable

def uses(m, t, norm):
    return [
        lambda: m.twice(t), lambda: m.twice(ones), lambda: m.twice([1.0, 2.0]), lambda: m.twice(2.0), lambda: norm(t).to_numpy(),
        lambda: lazily(m, t), lambda: t.to_numpy(), lambda: t.copy_from_numpy(ones), lambda: exported(m.twice(t)),
        lambda: m.twice(t).buffer, lambda: repr(t), lambda: fp.Tensor.zeros(m.device, 50000), lambda: newly(m, t),
        lambda: m.device.wait(), lambda: fp.clear_cache(device=m.device), lambda: fp.stats(m.device), lambda: m.device.sgl,
        lambda: norm.explain(t), lambda: t[::2].copy(), lambda: np.asarray(t[::2]),
    ]

def worker(device, jobs, offset, other, ready):
    i = offset
    ready.wait()
    while True:
        i += 7
        try:
            jobs[i % len(jobs)]()
        except fp.DeviceLostError as error:
            if device.is_open or "it was closed" not in str(error):
                other.append(error)
            break
        except BaseException as error:
            other.append(error)
            break
    for job in jobs:  # and for good
        try:
            job()
            other.append(AssertionError("used after close"))
        except fp.DeviceLostError:
            pass
        except BaseException as error:
            other.append(error)

import random, traceback
rounds, seed = int(sys.argv[1]), int(sys.argv[2])
rng = random.Random(seed)
warm = False
for round in range(rounds):
    device = fp.init_device(deferred=round % 5 != 4)
    m = fp.Module.load_from_source(device, "stress", SOURCE)
    t = fp.Tensor.from_numpy(device, ones)
    jobs = uses(m, t, fused(m))
    if round % 2 == 0:
        for job in jobs:
            job()
    other, ready = [], threading.Event()
    threads = [threading.Thread(target=worker, args=(device, jobs, rng.randrange(100), other, ready)) for _ in range(5)]
    for thread in threads:
        thread.start()
    closers = [threading.Thread(target=device.close) for _ in range(round % 3)]
    ready.set()
    time.sleep(rng.random() * 0.05)
    for closer in closers:
        closer.start()
    device.close()
    assert not device.is_open
    for thread in (*threads, *closers):
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    for error in other:
        traceback.print_exception(error)
    assert not other, other
print("done")
"""
)


def run(program: str, *arguments: str, seconds: int = 300) -> str:
    done = child.run(program, *arguments, seconds=seconds)
    assert done.returncode == 0, (done.returncode, done.stdout[-2000:], done.stderr[-6000:])
    return done.stdout


def test_threads_use_a_device_that_another_one_closes() -> None:
    assert run(STRESS, "6", "1").endswith("done\n")


@pytest.mark.long
def test_threads_use_many_devices_that_others_close() -> None:
    for seed in range(2, 6):
        assert run(STRESS, "60", str(seed)).endswith("done\n")


ELSEWHERE = (
    START
    + """
import atexit, gc

def lost(device, t, m):
    assert not device.is_open
    for use in (lambda: m.twice(t), lambda: m.twice(1.0), lambda: t.to_numpy(), lambda: t.__dlpack__(), lambda: t.buffer):
        try:
            use()
        except fp.DeviceLostError as error:
            assert "it was closed" in str(error)
        else:
            raise AssertionError("used after close")

def opened():
    device = fp.init_device()
    m = fp.Module.load_from_source(device, "elsewhere", SOURCE)
    return device, m, m.twice(fp.Tensor.from_numpy(device, ones))

class Owner:
    def __init__(self, device):
        self.device = device
    def __del__(self):
        self.device.close()

# a finaliser that the collector runs wherever it likes, inside calls too
device, m, t = opened()
gc.freeze()  # collections look at what is made from here on
owner = Owner(device)
owner.itself = owner
del owner
gc.set_threshold(1)
try:
    for _ in range(200):
        m.twice(t)
except fp.DeviceLostError:
    pass
gc.set_threshold(700, 10, 10)
gc.collect()
gc.unfreeze()
for thread in threading.enumerate():
    if thread.name == "fusepy-close":
        thread.join()
lost(device, t, m)

# a finaliser inside a call on the device, whose lock is held then
device, m, t = opened()
with device.lock:
    Owner(device)
    assert device.is_open
for thread in threading.enumerate():
    if thread.name == "fusepy-close":
        thread.join()
lost(device, t, m)

# an array that is shared outlives its device
device, m, t = opened()
if device.transfer.host_addressable:
    shared = np.from_dlpack(t)
    del t
    device.close()
    other, n, u = opened()
    assert shared.sum() == 2000 and u.to_numpy().sum() == 2000
    assert shared.max() == 2
    other.close()

# the default device is opened anew
before = fp.default_device()
before.close()
assert fp.default_device() is not before and fp.default_device().is_open

# more kinds of devices than are kept idle
import tempfile
kinds = [fp.init_device(include_paths=[tempfile.gettempdir()] * n) for n in range(5)]
made = [fp.Module.load_from_source(d, "kinds", SOURCE).twice(fp.Tensor.from_numpy(d, ones)) for d in kinds]
for device in kinds:
    device.close()
device = fp.init_device()
assert fp.Module.load_from_source(device, "kinds", SOURCE).twice(ones).sum() == 2000

# in the child of a fork, devices of the parent are lost, those that are idle too
if hasattr(os, "fork"):
    pid = os.fork()
    if pid == 0:
        try:
            device.wait()
        except fp.DeviceLostError as error:
            os._exit(0 if "fork" in str(error) else 3)
        os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0

# threads that still call when the process ends
device, m, t = opened()

def forever(use):
    try:
        while True:
            use()
    except fp.DeviceLostError:
        pass

for use in (lambda: m.twice(t), lambda: m.twice(2.0), lambda: t.to_numpy(), lambda: t.copy_from_numpy(ones)):
    threading.Thread(target=forever, args=(use,), daemon=True).start()
last = opened()[0]
atexit.register(last.close)
time.sleep(0.1)
print("done", flush=True)
"""
)


@pytest.mark.rest
def test_close_by_a_finaliser_at_exit_and_what_outlives_it() -> None:
    assert run(ELSEWHERE, seconds=240).endswith("done\n")
