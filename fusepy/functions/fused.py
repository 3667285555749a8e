"""`fuse`: runs the Slang calls of a Python function as few kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, overload

from fusepy.backend.device.device import Device
from fusepy.errors import ArgumentError
from fusepy.functions.device_function import DeviceFunction
from fusepy.functions.python_tracer import PythonTracer


class FusedFunction(DeviceFunction):
    """A Python function that is traced, fused and run on the device; made by `fuse`.

    It is called, declared and inspected like a Slang function. Called inside another fused function, it becomes part of that
    one. Python numbers among its arguments are uniforms: another number needs no new kernel. Arguments named in `static` are
    part of the program instead, and may steer Python control flow.
    """

    __slots__ = ()

    def __init__(self, function: Callable[..., Any], static: Sequence[str] = (), device: Device | None = None):
        self._trace_by(PythonTracer(function, static, device))

    def _trace_by(self, tracer: PythonTracer) -> None:
        super().__init__(tracer)
        functools.update_wrapper(self, tracer.function)
        self.__name__ = tracer.__name__

    def __repr__(self) -> str:
        return f"<fused function {self.__name__}>"


@overload
def fuse(function: Callable[..., Any], *, static: Sequence[str] = ..., device: Device | None = ...) -> FusedFunction: ...
@overload
def fuse(
    function: None = ..., *, static: Sequence[str] = ..., device: Device | None = ...
) -> Callable[[Callable[..., Any]], FusedFunction]: ...
def fuse(function: Any = None, *, static: Sequence[str] = (), device: Device | None = None) -> Any:
    """Fuses a Python function that calls Slang functions: it runs in as few kernels as its data flow allows.

    Inside, Slang functions, operators and fusepy's math functions are recorded instead of run. The first call with arguments
    of a kind traces and compiles; later calls only pack and dispatch.

    Args:
        function: the function; without it, a decorator is returned.
        static: names of parameters that are part of the program; their values are hashed, not recorded.
        device: where to run; by default that of the first tensor among the arguments, else the default device.

    Raises:
        ArgumentError: if a static name is no parameter.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_fuse", "float twice(float x) { return 2 * x; }")
        >>> @fp.fuse
        ... def look(x, gain):
        ...     return m.twice(m.twice(x)) * gain
        >>> look([1.0, 2.0], 10.0)
        [40.0, 80.0]
    """
    if function is not None and not callable(function):
        raise ArgumentError("fuse() takes a function", saw=repr(function)[:60], hint="write @fuse above a def, or fuse(f)")
    if function is None:
        return functools.partial(FusedFunction, static=static, device=device)
    return FusedFunction(function, static, device)
