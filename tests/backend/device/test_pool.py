"""The memory pool: blocks never overlap, the books are right, and memory goes back when it must."""

from __future__ import annotations

import copy
import gc
import itertools
import os
import pickle
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import slangpy as spy
from hypothesis import given, settings
from hypothesis import strategies as st

from fusepy.backend.device.block import ALIGNMENT, APART, PAGE, Block, size_class
from fusepy.backend.device.device import Device
from fusepy.backend.device.pool import MAX_BUFFER_BYTES, Pool
from fusepy.errors import OutOfDeviceMemory, ShapeError
from tests.support import child
from tests.support.python_calls import python_calls

MIB = 1 << 20


@pytest.fixture(scope="session")
def device(device: Device) -> spy.Device:
    if device.raw.info.type is spy.DeviceType.vulkan:
        return device.raw
    return spy.Device(type=spy.DeviceType.vulkan, enable_rhi_validation=False, enable_hot_reload=False)


@pytest.fixture(scope="session")
def host_device(device: spy.Device) -> spy.Device:
    """A device whose memory is the process's own, so that the operating system tells what was given back."""
    if "llvmpipe" not in device.info.adapter_name:
        pytest.skip(f"the memory of {device.info.adapter_name} does not show in this process")
    return device


def assert_apart(blocks: list[Block]) -> None:
    ordered = sorted(blocks, key=lambda block: block.address)
    for block, after in itertools.pairwise(ordered):
        assert block.address + block.capacity <= after.address


@given(st.integers(0, 1 << 33))
def test_a_size_class_fits_is_aligned_and_wastes_little(nbytes: int):
    capacity = size_class(nbytes)
    assert capacity >= max(nbytes, 1)
    assert capacity % ALIGNMENT == 0
    assert capacity - nbytes <= max(ALIGNMENT, nbytes // 8)
    assert size_class(capacity) == capacity


def test_there_are_few_size_classes():
    assert len({size_class(n) for n in range(0, 64 * MIB, 1000)}) < 150


SIZES = st.one_of(st.integers(0, 5000), st.integers(0, 300_000), st.sampled_from([256 * 1024, 700_000, 3 * MIB]))


@given(steps=st.lists(st.one_of(SIZES, st.floats(0, 1, exclude_max=True), st.sampled_from(["trim", "look"])), max_size=60))
@settings(deadline=None, max_examples=120)
def test_blocks_never_overlap_and_the_books_are_right(device: spy.Device, steps: list[int | float | str]):
    cache_bytes = 2 * MIB
    pool = Pool(device, slab_bytes=MIB, cache_bytes=cache_bytes)
    blocks: list[Block] = []
    peak = 0
    for step in steps:
        if step == "trim":
            before = pool.reserved_bytes
            assert pool.trim() == before - pool.reserved_bytes
        elif isinstance(step, int):
            block = pool.allocate(step)
            blocks.append(block)
            assert (block.nbytes, block.capacity) == (step, size_class(step))
            assert block.address % ALIGNMENT == 0
            assert block.address == block.buffer.device_address + block.offset
            assert block.offset + block.capacity <= block.buffer.size
            del block
        elif isinstance(step, float) and blocks:
            del blocks[int(step * len(blocks))]
        live = sum(block.capacity for block in blocks)
        peak = max(peak, live)
        assert pool.peak_bytes == peak
        if step == "look":  # not at every step, because looking settles the books
            assert pool.live_bytes == live
        assert pool.reserved_bytes >= live
        assert_apart(blocks)
    blocks.clear()
    assert pool.live_bytes == 0
    pool.trim()
    assert pool.reserved_bytes == 0


@given(sizes=st.lists(st.integers(MIB // 2, 4 * MIB), min_size=1, max_size=30))
@settings(deadline=None, max_examples=50)
def test_free_dedicated_memory_is_bounded(device: spy.Device, sizes: list[int]):
    pool = Pool(device, slab_bytes=MIB, cache_bytes=3 * MIB)
    for size in sizes:
        pool.allocate(size)
        assert pool.reserved_bytes <= pool.peak_bytes + 3 * MIB + 4 * ALIGNMENT * len(sizes)


@pytest.mark.parametrize(("keeps", "buffers"), [(False, 12), (True, 3)])
def test_large_results_of_several_sizes_take_turns_without_the_driver(device: spy.Device, keeps: bool, buffers: int):
    pool = Pool(device, slab_bytes=MIB, cache_bytes=MIB, keeps_peak=keeps)
    slabs: set[object] = set()
    for size in (2 * MIB, 4 * MIB, 8 * MIB) * 4:
        pool.allocate(size)
        slabs.update(pool._slabs)
        assert pool.reserved_bytes <= (3 * pool.peak_bytes if keeps else pool.peak_bytes + MIB) + 4 * ALIGNMENT
    assert len(slabs) == buffers
    pool.trim()
    assert pool.reserved_bytes == 0


def test_blocks_of_a_cpu_begin_at_different_distances_from_a_page(device: spy.Device):
    """Elements of arrays of one size would share a set of the cache; the room between blocks goes to small ones."""
    pool = Pool(device)
    pool.apart = APART
    kept = [pool.allocate(n) for n in (1 << 16, 1 << 16, 1 << 16, 1 << 24, 1 << 25, 1 << 25, 1200, 1280)]
    large, small = kept[:-2], kept[-2:]
    assert [(b.address - large[0].address) % PAGE for b in large] == [k * APART % PAGE for k in (0, 1, 2, 3, 1, 2)]
    assert all(large[0].address < b.address < large[3].address for b in small)
    ends = sorted((b.address, b.address + b.capacity) for b in kept)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ends))
    assert pool.live_bytes == sum(b.capacity for b in kept)
    del kept, large, small
    pool.trim()
    assert (pool.live_bytes, pool.reserved_bytes) == (0, 0)


def test_a_dropped_block_is_handed_out_again(device: spy.Device):
    pool = Pool(device)
    for nbytes in (1000, 100 * MIB):
        block = pool.allocate(nbytes)
        address, reserved = block.address, pool.reserved_bytes
        other = pool.allocate(nbytes)
        assert other.address != address
        del block
        assert pool.allocate(nbytes - 10).address == address
        del other
        assert pool.reserved_bytes >= reserved


def test_zero_bytes_give_a_valid_block_and_less_is_an_error(device: spy.Device):
    pool = Pool(device)
    a, b = pool.allocate(0), pool.allocate(0)
    assert (a.nbytes, a.capacity) == (0, ALIGNMENT)
    assert a.address != b.address
    with pytest.raises(ShapeError, match="-1"):
        pool.allocate(-1)
    assert pool.live_bytes == 2 * ALIGNMENT


def test_a_block_is_real_memory(device: spy.Device):
    pool = Pool(device)
    staging = device.create_buffer(size=4096, usage=spy.BufferUsage.copy_source)
    blocks = [pool.allocate(4096) for _ in range(20)] + [pool.allocate(20 * MIB)]
    for i, block in enumerate(blocks):
        staging.copy_from_numpy(np.full(4096, i, np.uint8))
        encoder = device.create_command_encoder()
        encoder.copy_buffer(block.buffer, block.offset, staging, 0, 4096)
        device.submit_command_buffer(encoder.finish())
    for i, block in enumerate(blocks):
        assert (block.buffer.to_numpy()[block.offset : block.offset + 4096] == i).all()


def test_drifting_sizes_do_not_grow_the_pool(device: spy.Device):
    pool = Pool(device, slab_bytes=MIB)
    for size in range(1000, 200_000, 997):  # about 60 size classes, each of which would keep its share of the slabs
        blocks = [pool.allocate(size) for _ in range(4)]
        del blocks
    assert pool.reserved_bytes <= 2 * (MIB + ALIGNMENT)


def test_the_limit_is_named_and_the_next_good_call_works(device: spy.Device):
    pool = Pool(device, slab_bytes=MIB, limit_bytes=4 * MIB)
    kept = pool.allocate(3 * MIB)
    with pytest.raises(OutOfDeviceMemory) as caught:
        pool.allocate(2_000_000)
    assert isinstance(caught.value, MemoryError)
    for part in ("asked 2,000,000", f"in use {3 * MIB:,}", f"limit of {4 * MIB:,}", "hint"):
        assert part in str(caught.value)
    assert pool.live_bytes == 3 * MIB
    assert pool.allocate(100_000).nbytes == 100_000  # a whole slab is over the limit too: the block gets a smaller one
    del kept
    assert pool.allocate(2_000_000).nbytes == 2_000_000


def test_cached_memory_is_released_under_pressure(device: spy.Device):
    pool = Pool(device, slab_bytes=MIB, limit_bytes=4 * MIB)
    kept = pool.allocate(1000)
    for size in (2 * MIB, int(2.5 * MIB), 1 * MIB):  # no two of them fit side by side with the slab
        assert pool.allocate(size).nbytes == size
    assert pool.reserved_bytes <= 4 * MIB
    assert kept.nbytes == 1000


def test_blocks_in_reference_cycles_are_found_under_pressure(device: spy.Device):
    pool = Pool(device, slab_bytes=MIB, limit_bytes=4 * MIB)
    gc.disable()
    try:
        cycle: list[object] = [pool.allocate(3 * MIB)]
        cycle.append(cycle)
        del cycle
        assert pool.live_bytes == 3 * MIB
        assert pool.allocate(3 * MIB).nbytes == 3 * MIB
    finally:
        gc.enable()


def test_more_than_one_buffer_holds_is_refused(device: spy.Device):
    with pytest.raises(OutOfDeviceMemory, match=f"{MAX_BUFFER_BYTES:,}"):
        Pool(device).allocate(1 << 32)
    with pytest.raises(OutOfDeviceMemory, match="more than one buffer holds"):
        Pool(device).allocate(1 << 50)


@pytest.mark.parametrize("answer", [0, 2**64 - 1, RuntimeError("createBuffer failed: SLANG_E_OUT_OF_MEMORY\nfile:line")])
def test_each_way_of_a_driver_to_refuse_is_understood(device: spy.Device, answer: int | RuntimeError):
    asked: list[int] = []

    def refuse(*, size: int, usage: spy.BufferUsage) -> SimpleNamespace:
        asked.append(size)
        if isinstance(answer, RuntimeError):
            raise answer
        return SimpleNamespace(device_address=answer, size=size)

    driver = SimpleNamespace(create_buffer=device.create_buffer, wait=device.wait, set_cuda_context_current=lambda: None)
    pool = Pool(driver, slab_bytes=MIB)  # type: ignore[arg-type]
    kept = pool.allocate(100)
    pool.allocate(MIB)
    driver.create_buffer = refuse
    with pytest.raises(OutOfDeviceMemory, match=r"gave no address|SLANG_E_OUT_OF_MEMORY"):
        pool.allocate(2 * MIB)
    assert asked == [2 * MIB + ALIGNMENT] * 2  # once more after the free buffer was given back
    assert pool.reserved_bytes == MIB + ALIGNMENT
    driver.create_buffer = device.create_buffer
    assert pool.allocate(2 * MIB).nbytes == 2 * MIB
    assert kept.nbytes == 100


def test_trim_waits_first_and_gives_memory_back(host_device: spy.Device):
    calls: list[int] = []
    pool = Pool(host_device, before_release=lambda: calls.append(pool.reserved_bytes))
    assert pool.trim() == 0
    assert calls == []
    block = pool.allocate(96 * MIB)
    before = resident()
    block.buffer.copy_from_numpy(np.ones(block.buffer.size, np.uint8))
    host_device.wait()
    assert resident() - before > 75 * MIB
    assert pool.trim() == 0
    reserved = pool.reserved_bytes
    del block
    assert pool.trim() == reserved
    assert calls == [reserved]
    assert resident() - before < 25 * MIB


def test_trim_spares_what_the_hook_takes_into_use(device: spy.Device):
    taken: list[Block] = []
    pool = Pool(device, slab_bytes=MIB, before_release=lambda: taken.append(pool.allocate(5000)))
    first = pool.allocate(5000).address
    pool.allocate(MIB)
    reserved = pool.reserved_bytes
    assert pool.trim() == MIB + ALIGNMENT
    assert pool.reserved_bytes == reserved - MIB - ALIGNMENT
    assert taken[0].address == first
    assert pool.live_bytes == size_class(5000)


def test_a_hook_that_takes_the_callers_lock_cannot_deadlock(device: spy.Device):
    shared = threading.RLock()

    def hook() -> None:
        with shared:
            device.wait()

    pool = Pool(device, slab_bytes=MIB, before_release=hook, lock=shared)

    def allocate() -> None:
        for _ in range(300):
            with shared:
                pool.allocate(3000)

    thread = threading.Thread(target=allocate, daemon=True)
    thread.start()
    while thread.is_alive():
        pool.allocate(2 * MIB)
        pool.trim()
    thread.join(20)
    assert not thread.is_alive()


def test_peak_can_be_measured_anew(device: spy.Device):
    pool = Pool(device)
    kept = pool.allocate(1000)
    pool.allocate(10_000)
    assert pool.peak_bytes == 1024 + 10_240
    pool.reset_peak()
    assert (pool.peak_bytes, kept.nbytes) == (1024, 1000)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_block_cannot_be_duplicated(device: spy.Device, duplicate):
    pool = Pool(device)
    block = pool.allocate(1000)
    with pytest.raises(TypeError, match="free its memory twice"):
        duplicate(block)
    assert pool.live_bytes == block.capacity


def test_threads_share_a_pool(device: spy.Device):
    pool = Pool(device, slab_bytes=MIB)
    owners: dict[int, int] = {}
    wrong: list[str] = []

    def run(seed: int) -> None:
        held: list[Block] = []
        for step in range(2000):
            block = pool.allocate((step * 37 + seed * 101) % 9000)
            if owners.setdefault(block.address, seed) != seed:
                wrong.append(f"{block} belongs to two threads")
            held.append(block)
            if len(held) > 20:
                old = held.pop(step % 20)
                del owners[old.address]
                del old
            del block
        for block in held:
            del owners[block.address]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []
    assert (pool.live_bytes, pool.trim() > 0, pool.reserved_bytes) == (0, True, 0)


def test_a_pool_dies_with_its_last_block_and_frees_its_memory(host_device: spy.Device):
    pool = Pool(host_device)
    block = pool.allocate(96 * MIB)
    before = resident()
    block.buffer.copy_from_numpy(np.ones(block.buffer.size, np.uint8))
    host_device.wait()
    gc.disable()
    try:
        del pool
        assert resident() - before > 75 * MIB
        del block
        host_device.wait()
        assert resident() - before < 25 * MIB
    finally:
        gc.enable()


@pytest.mark.rest
def test_interpreter_exit_is_silent():
    code = """
import slangpy as spy
from fusepy.backend.device.pool import Pool
device = spy.Device(type=spy.DeviceType.vulkan, enable_rhi_validation=False, enable_hot_reload=False)
pool = Pool(device)
block = pool.allocate(1000)
cycle = [pool.allocate(10**8)]
cycle.append(cycle)
"""
    out = child.run(code)
    assert (out.returncode, out.stdout, out.stderr) == (0, "", "")


def test_a_warm_allocation_runs_next_to_nothing(device: spy.Device):
    """Nor do those of several sizes in turn, as in a call of several kernels."""
    pool = Pool(device)
    held = [pool.allocate(1000) for _ in range(10)]
    pool.allocate(1000)
    reserved = pool.reserved_bytes
    one = python_calls(lambda: pool.allocate(1000))
    assert one <= 11
    dropped = {n: pool.allocate(n) for n in (1000, 5000, 90_000)}

    def several() -> None:
        for n in dropped:  # the size that was dropped last is not the one that is asked for next
            dropped[n] = None
        for n in dropped:
            dropped[n] = pool.allocate(n)

    assert python_calls(several) <= 3 * one
    assert pool.reserved_bytes == reserved
    assert len(held) == 10


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
