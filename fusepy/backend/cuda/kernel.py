"""`CudaKernel`: a compiled kernel as the CUDA driver launches it."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Sequence
from ctypes import c_size_t, c_uint, c_void_p
from typing import Any

from fusepy.backend.cuda.driver import CudaDriver

_BUFFER, _SIZE, _END = 1, 2, 0  # CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE, _END


class CudaKernel:
    """A compiled kernel with memory for its parameters.

    Args:
        module: the handle of a loaded module.
        threads: the threads of a group along x, y and z.
        nbytes: the size of the parameters.
        keep: the owner of the module; it goes to `retired` when this object is dropped, since a kernel may still run.

    Attributes:
        block: the parameters of the next launch; the driver copies them.
    """

    __slots__ = ("_after", "_before", "_boxed", "_driver", "_keep", "_launch", "_memory", "_retired", "_shape", "block")

    def __init__(
        self, driver: CudaDriver, module: int, name: str, threads: Sequence[int], nbytes: int, keep: Any, retired: list[Any]
    ):
        self._driver = driver
        self._launch = driver.launcher()
        self._keep, self._retired = keep, retired
        # objects of ctypes, which it passes as they are: 0.6 µs a launch, and 1.2 with numbers
        self._before = c_void_p(driver.function(module, name))
        self._after = (*map(c_uint, threads), c_uint(0))
        self._prepare(nbytes)

    def _prepare(self, nbytes: int) -> None:
        """Makes memory for parameters."""
        self.block = ctypes.create_string_buffer(nbytes)
        size = c_size_t(nbytes)
        extra = (c_void_p * 5)(_BUFFER, ctypes.addressof(self.block), _SIZE, ctypes.addressof(size), _END)
        self._memory = size, extra
        self._shape: Sequence[int] = ()
        self._boxed: dict[int, tuple[Any, ...]] = {}  # all arguments by stream, for groups of the last shape

    def copy(self) -> CudaKernel:
        """Returns the same kernel with these parameters in memory of its own."""
        made = copy.copy(self)
        made._prepare(len(self.block))
        ctypes.memmove(made.block, self.block, len(self.block))
        return made

    def launch(self, groups: Sequence[int], stream: int) -> None:
        """Launches groups along x, y and z on a stream, with the parameters in `block`."""
        if groups != self._shape:
            self._boxed.clear()
            self._shape = tuple(groups)
        boxed = self._boxed.get(stream)
        if boxed is None:
            last = c_void_p(stream), c_void_p(None), c_void_p(ctypes.addressof(self._memory[1]))
            boxed = self._boxed[stream] = (self._before, *map(c_uint, groups), *self._after, *last)
        code = self._launch(*boxed)
        if code:
            raise self._driver.error(code, "cuLaunchKernel")

    def __del__(self) -> None:
        self._retired.append(self._keep)
