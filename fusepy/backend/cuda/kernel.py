"""`CudaKernel`: a compiled kernel as the CUDA driver launches it."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Callable, Sequence
from ctypes import c_uint, c_void_p
from functools import partial
from typing import Any

from fusepy.backend.cuda.driver import CudaDriver


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

    __slots__ = ("_after", "_before", "_boxed", "_driver", "_keep", "_launch", "_parameters", "_retired", "_shape", "block")

    def __init__(
        self, driver: CudaDriver, module: int, name: str, threads: Sequence[int], nbytes: int, keep: Any, retired: list[Any]
    ):
        self._driver = driver
        self._launch = driver.launch
        self._keep, self._retired = keep, retired
        # made once, since ctypes passes them as they are: a call with numbers or with objects of ctypes converts each in 0.1 µs
        self._before = c_void_p.from_param(driver.function(module, name))
        self._after = tuple(map(c_uint.from_param, (*threads, 0)))
        self._prepare(nbytes)

    def _prepare(self, nbytes: int) -> None:
        """Makes memory for parameters."""
        self.block = ctypes.create_string_buffer(nbytes)
        self._parameters = (c_void_p * 1)(ctypes.addressof(self.block))  # kernels have one: 0.7 µs less than a buffer of all
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
            self._shape = groups[:]  # of the same class: a list is never equal to a tuple
        boxed = self._boxed.get(stream)
        if boxed is None:
            boxed = self._boxed[stream] = self._arguments(groups, stream)
        code = self._launch(*boxed)
        if code:
            raise self._driver.error(code, "cuLaunchKernel")

    def launcher(self, groups: Sequence[int], stream: int) -> Callable[[], int]:
        """Returns a function that launches these groups on this stream, with the parameters in `block`, and returns a code."""
        return partial(self._launch, *self._arguments(groups, stream))

    def _arguments(self, groups: Sequence[int], stream: int) -> tuple[Any, ...]:
        """Returns all arguments of ``cuLaunchKernel``."""
        last = c_void_p.from_param(stream or None), c_void_p.from_param(ctypes.addressof(self._parameters)), None
        return self._before, *map(c_uint.from_param, groups), *self._after, *last

    def __del__(self) -> None:
        self._retired.append(self._keep)
