"""The CUDA driver, called through ctypes.

sgl submits to the null stream; to another stream it creates an event for each submission, and it has no order between streams.
The driver launches a kernel that sgl has compiled on any stream, at once, and no other object is made.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Callable
from ctypes import c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from typing import Any

from fusepy.backend.cuda.refusals import BROKEN, captured, refusal
from fusepy.backend.lost import lost_error
from fusepy.errors import DeviceError, FusepyError

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuGetErrorName": (c_int, c_void_p),
    "cuDeviceGet": (c_void_p, c_int),
    "cuDevicePrimaryCtxRetain": (c_void_p, c_int),
    "cuCtxSetCurrent": (c_void_p,),
    "cuModuleLoadData": (c_void_p, c_char_p),
    "cuModuleGetFunction": (c_void_p, c_void_p, c_char_p),
    "cuModuleGetGlobal_v2": (c_void_p, c_void_p, c_void_p, c_char_p),
    "cuEventCreate": (c_void_p, c_uint),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint),
    "cuStreamIsCapturing": (c_void_p, c_void_p),
    "cuStreamCreate": (c_void_p, c_uint),
    "cuStreamBeginCapture_v2": (c_void_p, c_int),
    "cuStreamEndCapture": (c_void_p, c_void_p),
    "cuGraphInstantiateWithFlags": (c_void_p, c_void_p, c_uint64),
    "cuGraphLaunch": (c_void_p, c_void_p),
    "cuGraphDestroy": (c_void_p,),
    "cuGraphExecDestroy": (c_void_p,),
    "cuStreamSynchronize": (c_void_p,),
    "cuStreamQuery": (c_void_p,),
    "cuMemHostAlloc": (c_void_p, c_size_t, c_uint),
    "cuMemcpyDtoHAsync_v2": (c_void_p, c_uint64, c_size_t, c_void_p),
}
_WITHOUT_TIMES = 2  # CU_EVENT_DISABLE_TIMING
_WITHOUT_NULL = 1  # CU_STREAM_NON_BLOCKING: no order with the null stream
_OF_THREAD = 1  # CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: other threads may do what a capture forbids
_NOT_READY = 600
_MAPPED = 2  # CU_MEMHOSTALLOC_DEVICEMAP
_LOOKS = 200  # some 0.6 µs each, before a wait of the driver, which takes 2 µs more and leaves the core to others
NULL_STREAM = 0


class CudaDriver:
    """The functions of the driver that fusepy uses. A context must be current on the calling thread.

    Args:
        library: the loaded driver, or an object with functions of the same names.
    """

    def __init__(self, library: Any):
        for name, arguments in _SIGNATURES.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, c_int
        self._library = library
        self.launch = library.cuLaunchKernel  # it takes objects of ctypes and returns an error code
        self.devices: list[weakref.ref[Any]] = []  # `Losses` of the CUDA devices, to be told that a context is broken
        self._event: int | None = None
        self._capture_stream: int | None = None
        self._call("cuInit", 0)

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code:
            raise self.error(code, name)

    def _answer(self, kind: Any, name: str, *arguments: Any) -> int:
        """Returns what the driver writes to the first argument of a function."""
        found = kind()
        self._call(name, ctypes.byref(found), *arguments)
        return found.value or 0

    def error(self, code: int, name: str) -> FusepyError:
        """Returns the error for a code that a function of the driver has returned."""
        text = c_char_p()
        self._library.cuGetErrorName(code, ctypes.byref(text))
        saw = f"{(text.value or b'?').decode()} ({code}) from {name}"
        if code in BROKEN:
            cause = f"a kernel has broken CUDA in this process ({saw}), perhaps by a pointer or an index outside of its memory"
            for losses in filter(None, [reference() for reference in self.devices[:]]):
                losses.report(cause)
            return lost_error(cause)
        return refusal(code, saw)

    def primary_context(self, index: int) -> int:
        """Makes the primary context of a device current, in which torch, JAX and CuPy allocate, and returns its handle.

        It stays until the process ends.
        """
        context = self._answer(c_void_p, "cuDevicePrimaryCtxRetain", self._answer(c_int, "cuDeviceGet", index))
        self._call("cuCtxSetCurrent", context)
        return context

    def module(self, ptx: str) -> int:
        """Returns the handle of a new module, which stays until the process ends."""
        return self._answer(c_void_p, "cuModuleLoadData", ptx.encode())

    def function(self, module: int, name: str) -> int:
        """Returns the handle of a kernel of a loaded module."""
        return self._answer(c_void_p, "cuModuleGetFunction", module, name.encode())

    def has_global(self, module: int, name: str) -> bool:
        """True if a loaded module has a variable of this name."""
        address, size = c_void_p(), c_size_t()
        found = ctypes.byref(address), ctypes.byref(size)
        return not self._library.cuModuleGetGlobal_v2(*found, module, name.encode())

    def captures(self, stream: int) -> bool:
        """True while the work of a stream is captured into a graph instead of run."""
        status = c_int()
        self._call("cuStreamIsCapturing", stream, ctypes.byref(status))
        return bool(status.value)

    def order(self, first: int, then: int) -> None:
        """Makes later work of stream `then` wait, on the device, for the earlier work of stream `first`.

        A capture begins after the work before it, so that nothing orders a stream that has begun to capture.

        Raises:
            ExportError: if `first` captures and `then` does not: what is captured has not run.
        """
        begun, begins = self.captures(first), self.captures(then)
        if begun and not begins:
            raise captured(f"work on stream {first:#x}, then on {then:#x}")
        if begins and not begun:
            return
        if self._event is None:
            self._event = self._answer(c_void_p, "cuEventCreate", _WITHOUT_TIMES)
        self._call("cuEventRecord", self._event, first)
        self._call("cuStreamWaitEvent", then, self._event, 0)  # it takes the state of the event, which can be recorded again

    def graph_of(self, record: Callable[[int], None]) -> int:
        """Returns the handle of a graph with what `record` launches on the stream that it gets."""
        if self._capture_stream is None:
            self._capture_stream = self._answer(c_void_p, "cuStreamCreate", _WITHOUT_NULL)
        self._call("cuStreamBeginCapture_v2", self._capture_stream, _OF_THREAD)
        graph = 0
        try:
            record(self._capture_stream)
        finally:
            graph = self._end_capture(self._capture_stream)
        try:
            return self._answer(c_void_p, "cuGraphInstantiateWithFlags", graph, 0)
        finally:
            self._call("cuGraphDestroy", graph)

    def _end_capture(self, stream: int) -> int:
        graph = c_void_p()
        self._call("cuStreamEndCapture", stream, ctypes.byref(graph))
        return graph.value or 0

    def launch_graph(self, graph: int, stream: int) -> None:
        """Launches a graph on a stream, after its earlier work."""
        self._call("cuGraphLaunch", graph, stream)

    def drop_graph(self, graph: int) -> None:
        """Frees a graph; one that runs is freed afterwards."""
        self._library.cuGraphExecDestroy(graph)

    def host_memory(self, nbytes: int) -> int:
        """Returns the address of new memory of the host that kernels and copies can write; it is never freed."""
        return self._answer(c_void_p, "cuMemHostAlloc", nbytes, _MAPPED)

    def copy_out(self, to: int, address: int, nbytes: int, stream: int) -> None:
        """Copies device memory to memory of `host_memory`, after the earlier work of a stream."""
        self._call("cuMemcpyDtoHAsync_v2", to, address, nbytes, stream)

    def wait(self, stream: int) -> None:
        """Waits until the work of a stream is done; other threads of Python run meanwhile."""
        self._call("cuStreamSynchronize", stream)

    def check(self) -> None:
        """Raises an error if a kernel has broken the context. slang-rhi would end the process in the next submission."""
        code = self._library.cuStreamQuery(NULL_STREAM)
        if code in BROKEN:
            raise self.error(code, "cuStreamQuery")

    def wait_soon(self, stream: int) -> None:
        """Waits for work that is done in microseconds, or else as `wait` does."""
        query, handle = self._library.cuStreamQuery, c_void_p(stream)
        for _ in range(_LOOKS):
            code = query(handle)
            if code != _NOT_READY:
                break
        else:
            self.wait(stream)
            return
        if code:
            raise self.error(code, "cuStreamQuery")


@cache
def cuda_driver() -> CudaDriver | None:
    """Returns the driver; ``None`` if there is none on this machine, or an incomplete one."""
    try:
        library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None
    try:
        return CudaDriver(library)
    except (AttributeError, DeviceError):  # a function is missing; there is no device
        return None
