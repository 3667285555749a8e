"""The CUDA driver: what is passed to it, the order of streams, and its errors. A fake stands for the library."""

from __future__ import annotations

import ctypes
import struct
import threading
import weakref
from contextlib import nullcontext
from typing import Any

import pytest

from fusepy.backend.cuda.driver import CudaDriver
from fusepy.backend.cuda.kernel import CudaKernel
from fusepy.backend.cuda.reads import CudaReads
from fusepy.backend.cuda.small_copy import LIMIT
from fusepy.backend.cuda.streams import Streams
from fusepy.errors import DeviceError, DeviceLostError, ExportError, OutOfDeviceMemory

MODULE, KERNEL, EVENT, COPIES, COPY = 0x70, 0x71, 0x72, 0x73, 0x74


_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3)


class FakeFunction:
    """A function of the library: `run` gets the arguments and returns the code."""

    def __init__(self, run: Any):
        self.run = run

    def __call__(self, *arguments: Any) -> int:
        return self.run(*arguments) or 0


class FakeLibrary:
    """Records calls; streams in `capturing` capture; the functions in `codes` fail; with `quick` copies need no wait."""

    def __init__(self) -> None:
        self.log: list[tuple[Any, ...]] = []
        self.capturing: set[int] = set()
        self.codes: dict[str, int] = {}
        self.quick = False
        self.hosts: list[Any] = []
        self._entry = _LAUNCH(self._launch)
        self.cuLaunchKernel: Any = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.cast(self._entry, ctypes.c_void_p).value)

    def __getattr__(self, name: str) -> FakeFunction:
        special = getattr(type(self), f"_{name[2:].lower()}", None)

        def run(*arguments: Any) -> int:
            if name in self.codes:
                return self.codes[name]
            if special is not None:
                special(self, *arguments)
            else:
                self.log.append((name, *arguments))
            return 0

        found = self.__dict__[name] = FakeFunction(run)
        return found

    def _geterrorname(self, code: int, out: Any) -> None:
        out._obj.value = b"CUDA_ERROR"

    def _modulegetfunction(self, out: Any, module: int, name: bytes) -> None:
        assert (module, name) in ((MODULE, b"twice_kernel"), (COPIES, b"fz_small_copy"))
        out._obj.value = KERNEL if module == MODULE else COPY

    def _moduleloaddata(self, out: Any, ptx: bytes) -> None:
        assert b".visible .entry fz_small_copy(" in ptx
        out._obj.value = COPIES

    def _eventcreate(self, out: Any, flags: int) -> None:
        out._obj.value = EVENT

    def _streamiscapturing(self, stream: int, out: Any) -> None:
        out._obj.value = int(stream in self.capturing)

    def _memhostalloc(self, out: Any, nbytes: int, flags: int) -> None:
        self.hosts.append(ctypes.create_string_buffer(b"\x01\0\0\0" * (nbytes // 4), nbytes))
        out._obj.value = ctypes.addressof(self.hosts[-1])

    def _memcpydtohasync_v2(self, to: int, address: int, nbytes: int, stream: int) -> None:
        self.log.append(("copy", address, nbytes, stream))
        self.pending = lambda: ctypes.memmove(to, bytes(k % 256 for k in range(nbytes)), nbytes)

    def _streamsynchronize(self, stream: int) -> None:
        self.log.append(("wait", stream))
        self.pending()

    def _launch(self, function: int, *rest: Any) -> int:
        """Is called through ctypes, as the driver's own is: the arguments are objects that only ctypes can read."""
        *shape, stream, parameters, _ = rest
        address = ctypes.c_void_p.from_address(parameters).value or 0
        if function == COPY:
            source, to, mark, nbytes, stamp = struct.unpack("<QQQII", ctypes.string_at(address, 32))
            self.log.append(("copy", source, nbytes, stream or 0))

            def finish() -> None:
                ctypes.memmove(to, bytes(k % 256 for k in range(nbytes)), nbytes)
                ctypes.c_uint32.from_address(mark).value = stamp

            self.pending = finish
            if self.quick:
                finish()
            return self.codes.get("cuLaunchKernel", 0)
        block = ctypes.string_at(address, 12)
        self.log.append(("launch", function, tuple(shape), stream or 0, block))
        return self.codes.get("cuLaunchKernel", 0)


@pytest.fixture
def library() -> FakeLibrary:
    return FakeLibrary()


def test_a_launch_passes_groups_threads_stream_and_the_block(library: FakeLibrary) -> None:
    retired: list[Any] = []
    function = CudaKernel(CudaDriver(library), MODULE, "twice_kernel", (256, 2, 1), 12, "pipeline", retired)
    library.log.clear()
    function.block[:] = b"abcdefghijkl"
    groups = [5, 1, 1]
    function.launch(groups, 0)
    function.block[:2] = b"AB"
    function.launch(groups, 9)
    groups[0] = 7  # a kernel changes its list in place
    function.launch(groups, 9)
    assert library.log == [
        ("launch", KERNEL, (5, 1, 1, 256, 2, 1, 0), 0, b"abcdefghijkl"),
        ("launch", KERNEL, (5, 1, 1, 256, 2, 1, 0), 9, b"ABcdefghijkl"),
        ("launch", KERNEL, (7, 1, 1, 256, 2, 1, 0), 9, b"ABcdefghijkl"),
    ]
    assert not retired
    del function
    assert retired == ["pipeline"]  # its module may not be unloaded while a kernel runs


@pytest.mark.parametrize("groups", [[5, 1, 1], (5, 1, 1)], ids=["list", "tuple"])
def test_a_launch_of_the_last_groups_makes_no_arguments(
    library: FakeLibrary, monkeypatch: pytest.MonkeyPatch, groups: Any
) -> None:
    function = CudaKernel(CudaDriver(library), MODULE, "twice_kernel", (256, 1, 1), 4, None, [])
    function.launch(groups, 0)
    monkeypatch.setattr(CudaKernel, "_arguments", None)
    function.launch(groups, 0)
    assert library.log[-1] == library.log[-2]


def test_a_stream_waits_for_another_and_a_capture_for_none(library: FakeLibrary) -> None:
    driver = CudaDriver(library)
    library.log.clear()
    driver.order(0, 8)
    assert library.log == [("cuEventRecord", EVENT, 0), ("cuStreamWaitEvent", 8, EVENT, 0)]
    library.log.clear()
    library.capturing = {8}
    driver.order(0, 8)  # torch waits for the device before a capture
    assert library.log == []
    with pytest.raises(ExportError, match="captured"):
        driver.order(8, 0)
    library.capturing = {8, 9}
    driver.order(8, 9)
    assert len(library.log) == 2


class FakeQueue(Streams):
    """A queue with work on stream 9; other threads can take its lock while a read waits."""

    def __init__(self, library: FakeLibrary):
        super().__init__(CudaDriver(library))
        self.log, self.lock, self.stream = library.log, threading.Lock(), 9

    def _check(self) -> None:
        self.log.append("check")

    def _submit(self) -> None:
        self.log.append("submit")

    def _enter(self) -> None:
        self.log.append("enter")


@pytest.mark.req("P3")
def test_a_read_follows_the_work_of_the_queue_and_waits_for_its_stream(library: FakeLibrary) -> None:
    queue = FakeQueue(library)
    read = CudaReads(queue, queue.lock)
    library.log.clear()
    library.codes["cuStreamQuery"] = 600  # the kernel runs for long
    for nbytes in (4, 1, LIMIT, LIMIT + 1, 4):
        assert read(64, nbytes) == bytes(k % 256 for k in range(nbytes))
        assert library.log == ["check", "submit", "enter", ("copy", 64, nbytes, 9), ("wait", 9)]
        library.log.clear()
    library.quick = True
    assert read(64, 8) == bytes(range(8))
    assert library.log[-1] == ("copy", 64, 8, 9)  # and no wait
    library.quick = False
    library.codes["cuStreamSynchronize"] = 900
    for nbytes in (4, LIMIT + 1):
        with pytest.raises(ExportError, match="captured"):
            read(64, nbytes)
    library.codes["cuLaunchKernel"] = 700
    with pytest.raises(DeviceError, match="a kernel has broken CUDA"):
        read(64, 4)
    library.codes.clear()
    library.codes["cuStreamQuery"] = 600
    assert read(64, 3) == bytes(range(3))
    assert queue.lock.acquire(blocking=False)


@pytest.mark.req("P3")
def test_a_number_is_read_where_the_kernel_wrote_it(library: FakeLibrary) -> None:
    queue = FakeQueue(library)
    address, read = CudaReads(queue, queue.lock).seen(4)
    ctypes.memmove(address, b"abcd", 4)
    library.log.clear()
    assert read() == b"abcd"
    assert [one if isinstance(one, str) else one[0] for one in library.log] == ["check", "submit", "enter", "cuStreamQuery"]
    assert library.log[-1][1].value == 9
    library.pending = lambda: ctypes.memmove(address, b"efgh", 4)
    library.codes["cuStreamQuery"] = 600  # the kernel runs for long
    assert read() == b"efgh"
    assert library.log[-1] == ("wait", 9)
    library.codes["cuStreamQuery"] = 700
    with pytest.raises(
        DeviceLostError, match=r"a kernel has broken CUDA in this process \(CUDA_ERROR \(700\) from cuStreamQuery\)"
    ):
        read()


def test_devices_learn_that_their_context_is_broken_before_their_next_submission(library: FakeLibrary) -> None:
    class Losses:
        def report(self, cause: str) -> None:
            told.append(cause)

    told: list[str] = []
    driver, losses, dropped = CudaDriver(library), Losses(), Losses()
    driver.devices += [weakref.ref(losses), weakref.ref(dropped)]
    del dropped
    for code, ends in ((0, False), (600, False), (906, False), (719, True)):
        library.codes["cuStreamQuery"] = code
        with pytest.raises(DeviceLostError) if ends else nullcontext():
            driver.check()
        assert len(told) == ends
    assert not isinstance(driver.error(1, "cuLaunchKernel"), DeviceLostError)


@pytest.mark.parametrize(("code", "kind"), [(2, OutOfDeviceMemory), (700, DeviceError), (701, DeviceError), (901, ExportError)])
def test_codes_become_errors(library: FakeLibrary, code: int, kind: type[Exception]) -> None:
    function = CudaKernel(CudaDriver(library), MODULE, "twice_kernel", (1, 1, 1), 4, None, [])
    library.codes["cuLaunchKernel"] = code
    with pytest.raises(kind, match=rf"CUDA_ERROR \({code}\) from cuLaunchKernel"):
        function.launch([1, 1, 1], 0)
