"""Uploads and downloads: every byte and no other, in the order of the queue, by pointer and staged."""

from __future__ import annotations

import itertools
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import slangpy as spy

from fusepy.backend.device import waiting
from fusepy.backend.device.block import BUFFER_USAGE
from fusepy.backend.device.target import is_host_addressable
from fusepy.backend.device.transfer import PIECE_BYTES, RING_SLOTS, SMALL_UPLOAD, Transfer
from fusepy.backend.device.waiting import wait_for_submission
from fusepy.backend.lost import Losses
from fusepy.errors import ShapeError, UnsupportedArgumentError
from tests.support.selection import daily

KERNEL = """
struct P { uint* data; uint count; uint rounds; };
uniform P fz;
[shader("compute")] [numthreads(64, 1, 1)]
void step(uint3 thread: SV_DispatchThreadID)
{
    if (thread.x >= fz.count) return;
    uint x = fz.data[thread.x];
    for (uint i = 0; i < fz.rounds; i++) x = x * 1664525u + 1013904223u;
    fz.data[thread.x] = x;
}
"""


@pytest.fixture(scope="session")
def device() -> spy.Device:
    return spy.Device(type=spy.DeviceType.vulkan, enable_rhi_validation=False, enable_hot_reload=False)


@pytest.fixture(scope="session")
def cpu_device() -> spy.Device:
    return spy.Device(type=spy.DeviceType.cpu, enable_rhi_validation=False, enable_hot_reload=False)


@pytest.fixture(params=["vulkan by pointer", "vulkan staged", "cpu by pointer", "cpu staged"])
def transfer(request: pytest.FixtureRequest, device: spy.Device, cpu_device: spy.Device) -> Transfer:
    return by_way(cpu_device if request.param.startswith("cpu") else device, request.param.endswith("pointer"))


@pytest.fixture(params=[True, False], ids=["by pointer", "staged"])
def vulkan(request: pytest.FixtureRequest, device: spy.Device) -> Transfer:
    return by_way(device, request.param)


def by_way(device: spy.Device, pointer: bool, **options) -> Transfer:
    if pointer and not is_host_addressable(device):
        pytest.skip(f"{device.info.adapter_name} has memory of its own: following its addresses would end the process")
    return Transfer(device, host_addressable=pointer, **options)


@pytest.fixture(scope="session")
def kernel(device: spy.Device) -> spy.ComputeKernel:
    module = device.load_module_from_source("transfer_step", KERNEL)
    return device.create_compute_kernel(device.link_program([module], [module.entry_point("step")]))


def stepped(data: np.ndarray, rounds: int) -> np.ndarray:
    for _ in range(rounds):
        data = data * np.uint32(1664525) + np.uint32(1013904223)
    return data


def make_buffer(transfer: Transfer, size: int) -> spy.Buffer:
    return transfer._device.create_buffer(size=size, usage=BUFFER_USAGE)


def noise(nbytes: int) -> np.ndarray:
    return np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8)


EDGES = [1, 4, 255, 256, 257, 16 << 10, (16 << 10) + 1, (128 << 10) + 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1]


@pytest.mark.parametrize("nbytes", [*EDGES, (RING_SLOTS + 2) * PIECE_BYTES + 3])
@pytest.mark.parametrize("offset", [0, 1001])
def test_every_byte_and_no_other(transfer: Transfer, nbytes: int, offset: int):
    size = offset + nbytes + 77
    buffer = make_buffer(transfer, size)
    around, data = noise(size), noise(nbytes)
    transfer.upload(buffer, 0, around)
    transfer.upload(buffer, offset, data)
    around[offset : offset + nbytes] = data
    assert np.array_equal(transfer.download(buffer, 0, size), around)
    assert np.array_equal(transfer.download(buffer, offset, nbytes), data)


STRUCT = np.dtype([("position", np.float32, 3), ("id", np.uint16), ("on", np.bool_)])
COUNT = np.arange(24, dtype=np.float32)
ARRAYS = {
    "float32": COUNT,
    "half": COUNT.astype(np.float16),
    "int64": COUNT.astype(np.int64),
    "bool": COUNT > 7,
    "struct": np.array([((1, 2, 3), 4, True), ((5, 6, 7), 8, False)], STRUCT),
    "0-d": np.array(7.0),
    "3-d": COUNT.reshape(2, 3, 4),
    "transposed": COUNT.reshape(4, 6).T,
    "reversed": COUNT[::-1],
    "strided": COUNT[::3],
    "strided struct": np.zeros(6, STRUCT)[::2],
    "broadcast": np.broadcast_to(COUNT, (3, 24)),
    "read-only": np.frombuffer(b"abcdefgh", np.uint16),
    "large read-only": np.broadcast_to(np.arange(2_000_000, dtype=np.uint32), (1, 2_000_000)),
    "unaligned": np.frombuffer(bytearray(33), np.uint8)[1:].view(np.float64),
    "empty": np.zeros((3, 0)),
    "large transposed": np.arange(2_000_000, dtype=np.uint32).reshape(1000, 2000).T,
}


@pytest.mark.parametrize("name", ARRAYS)
def test_any_array_goes_up_and_comes_down_in_c_order(transfer: Transfer, name: str):
    array = ARRAYS[name]
    buffer = make_buffer(transfer, array.nbytes + 8)
    transfer.upload(buffer, 4, array)
    down = transfer.download(buffer, 4, array.nbytes).view(array.dtype).reshape(array.shape)
    assert np.array_equal(down, array)


def test_a_download_is_the_callers_own(transfer: Transfer):
    buffer = make_buffer(transfer, 4096)
    transfer.upload(buffer, 0, noise(4096))
    for nbytes in (4, 4096):
        first = transfer.download(buffer, 0, nbytes)
        expected = first.copy()
        transfer.upload(buffer, 0, ~noise(4096))
        assert np.array_equal(transfer.download(buffer, 0, nbytes), ~expected)
        assert np.array_equal(first, expected)
        first[:] = 0
        transfer.upload(buffer, 0, noise(4096))


def test_the_array_may_be_changed_after_an_upload(transfer: Transfer):
    nbytes = 9 * PIECE_BYTES
    buffer, data = make_buffer(transfer, nbytes), noise(nbytes)
    transfer.upload(buffer, 0, data)
    data[:] = 0
    assert np.array_equal(transfer.download(buffer, 0, nbytes), noise(nbytes))


@pytest.mark.parametrize(("offset", "nbytes"), [(-1, 4), (0, 1001), (997, 4), (2000, 0), (0, -1)])
def test_a_range_outside_the_buffer_is_refused(transfer: Transfer, offset: int, nbytes: int):
    buffer = make_buffer(transfer, 1000)
    with pytest.raises(ShapeError, match="1000 bytes"):
        transfer.download(buffer, offset, nbytes)
    if nbytes >= 0:
        with pytest.raises(ShapeError, match=f"at byte {offset}"):
            transfer.upload(buffer, offset, np.zeros(nbytes, np.uint8))


def test_python_objects_are_refused(transfer: Transfer):
    with pytest.raises(UnsupportedArgumentError, match="object"):
        transfer.upload(make_buffer(transfer, 1000), 0, np.array([object(), 1], object))


@pytest.mark.parametrize("count", daily([64, 400_000], 64))
def test_copies_keep_their_place_among_the_kernels(vulkan: Transfer, kernel: spy.ComputeKernel, count: int):
    buffer = make_buffer(vulkan, 4 * count)
    fz = {"data": buffer.device_address, "count": count, "rounds": 5}
    for seed in range(12):
        data = np.arange(seed, seed + count, dtype=np.uint32)
        vulkan.upload(buffer, 0, data)
        for _ in range(3):
            kernel.dispatch([count, 1, 1], vars={"fz": fz})
        if seed % 3 == 0:  # else the next upload has to wait for the kernels of this round
            assert np.array_equal(vulkan.download(buffer, 0, 4 * count).view(np.uint32), stepped(data, 15))
        if seed % 3 == 1:
            assert vulkan.download(buffer, 4, 4).view(np.uint32) == stepped(data[1:2], 15)


@pytest.mark.parametrize("pointer", [True, False], ids=["by pointer", "staged"])
def test_what_is_recorded_is_flushed_first(device: spy.Device, kernel: spy.ComputeKernel, pointer: bool):
    recorded: list[spy.CommandEncoder] = []
    flushes: list[int] = []

    def flush() -> int | None:
        if not recorded:
            return flushes[-1] if flushes else None
        flushes.append(device.submit_command_buffer(recorded.pop().finish()))
        return flushes[-1]

    transfer = by_way(device, pointer, flush=flush)
    buffer = make_buffer(transfer, 4 * 64)
    data = np.arange(64, dtype=np.uint32)
    for rounds in (3, 500_000):
        transfer.upload(buffer, 0, data)
        recorded.append(device.create_command_encoder())
        fz = {"data": buffer.device_address, "count": 64, "rounds": rounds}
        kernel.dispatch([64, 1, 1], vars={"fz": fz}, command_encoder=recorded[0])
        if rounds == 3:
            assert np.array_equal(transfer.download(buffer, 0, 256).view(np.uint32), stepped(data, 3))
        else:  # the upload must wait for the slow kernel, or be overwritten by it
            transfer.upload(buffer, 0, data)
            assert np.array_equal(transfer.download(buffer, 0, 256).view(np.uint32), data)
        assert recorded == []


def test_staging_buffers_are_few_and_kept(device: spy.Device):
    created: list[int] = []

    def create(**arguments) -> spy.Buffer:
        created.append(arguments["size"])
        return device.create_buffer(**arguments)

    names = ("create_command_encoder", "submit_command_buffer", "is_submit_finished")
    counting = SimpleNamespace(create_buffer=create, **{name: getattr(device, name) for name in names})
    transfer = Transfer(counting, host_addressable=False)  # type: ignore[arg-type]
    buffer = device.create_buffer(size=20 * PIECE_BYTES, usage=BUFFER_USAGE)
    for _ in range(50):
        transfer.upload(buffer, 0, noise(100))
        device.wait()
    assert created == [SMALL_UPLOAD]
    for _ in range(50):
        assert np.array_equal(transfer.download(buffer, 96, 4), noise(100)[96:])
    assert created == [SMALL_UPLOAD, 256]
    for _ in range(3):
        transfer.upload(buffer, 0, noise(20 * PIECE_BYTES))
        transfer.download(buffer, 0, 20 * PIECE_BYTES)
    assert sorted(created) == [256, SMALL_UPLOAD] + [PIECE_BYTES] * len(created[2:])
    assert len(created) <= 2 + 2 * RING_SLOTS


def test_threads_share_a_transfer(vulkan: Transfer):
    part = 3 * PIECE_BYTES + 5
    buffer = make_buffer(vulkan, 4 * part)
    wrong: list[int] = []

    def run(seed: int) -> None:
        for step in range(8):
            data = np.roll(noise(part), 31 * seed + step)
            vulkan.upload(buffer, seed * part, data)
            if not np.array_equal(vulkan.download(buffer, seed * part, part), data):
                wrong.append(seed)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.rest
def test_other_threads_run_during_a_wait(device: spy.Device, kernel: spy.ComputeKernel):
    buffer = device.create_buffer(size=256, usage=BUFFER_USAGE)
    encoder = device.create_command_encoder()
    fz = {"data": buffer.device_address, "count": 64, "rounds": 20_000_000}
    kernel.dispatch([64, 1, 1], vars={"fz": fz}, command_encoder=encoder)
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    submission = device.submit_command_buffer(encoder.finish())
    wait_for_submission(device, submission, Losses())
    waited = time.perf_counter() - start
    done.set()
    thread.join()
    assert device.is_submit_finished(submission)
    assert waited > 0.02, "the kernel is too short to show anything"
    assert ticks > 2, "the wait held the interpreter"


def test_a_wait_for_a_gpu_keeps_the_core_for_a_while_and_then_sleeps(monkeypatch: pytest.MonkeyPatch):
    now = itertools.count(step=10e-6)
    slept: list[str] = []
    clock = SimpleNamespace(perf_counter=lambda: next(now), sleep=lambda seconds: slept.append("sleep"))
    monkeypatch.setattr(waiting, "time", clock)
    monkeypatch.setattr(waiting, "_yield", lambda: slept.append("offer"))

    def waited(looks: int, busy: bool) -> list[str]:
        answers = iter([False] * looks + [True])
        native = SimpleNamespace(is_submit_finished=lambda submission: next(answers))
        slept.clear()
        wait_for_submission(native, 7, Losses(), busy=busy)  # type: ignore[arg-type]
        assert next(answers, None) is None
        return slept

    assert waited(6, busy=False) == ["offer"] * 5
    assert waited(6, busy=True) == []
    assert waited(120, busy=True) == ["sleep"] * 20  # a look each 10 µs: 1 ms without a pause
    assert "sleep" in waited(40, busy=False)


def test_the_device_says_whether_its_addresses_are_host_pointers(device: spy.Device, cpu_device: spy.Device):
    assert is_host_addressable(device) == ("llvmpipe" in device.info.adapter_name)
    assert is_host_addressable(cpu_device)
    for kind, name in ((spy.DeviceType.vulkan, "NVIDIA H100 80GB HBM3"), (spy.DeviceType.cuda, "NVIDIA H100 80GB HBM3")):
        assert not is_host_addressable(SimpleNamespace(info=SimpleNamespace(type=kind, adapter_name=name)))  # type: ignore[arg-type]
