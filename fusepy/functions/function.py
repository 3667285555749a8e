"""`Function`: a Slang function (or constructor) as a Python callable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from fusepy.arguments.nested import check_finite, naming
from fusepy.backend.device.device import Device
from fusepy.errors import ArgumentError
from fusepy.functions.device_function import DeviceFunction
from fusepy.functions.dispatch import Dispatch, dispatch, thread_count
from fusepy.functions.parts import STATIC
from fusepy.functions.slang_tracer import Loaded, SlangTracer
from fusepy.inspect.lowered import Inspectable, Lowered
from fusepy.inspect.resolution import Resolved, resolved_call
from fusepy.ir.argmap import UNSAID
from fusepy.ir.names import split_path
from fusepy.program.slangpy_calls import GlobalsCursor
from fusepy.program.stacked import REFUSED, for_each
from fusepy.trace.setup import CallContext
from fusepy.trace.standin import stand_in
from fusepy.trace.trace import Trace


class Function(DeviceFunction):
    """A Slang function. A call runs it over the broadcast shape of its arguments; under `fuse` the call is recorded.

    Functions are immutable: `declare`, `return_type` and the like return a new one.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_add", "float add(float a, float b) { return a + b; }")
        >>> m.add([10, 20, 30], 20)
        [30.0, 40.0, 50.0]
    """

    __slots__ = ()
    tracer: SlangTracer  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, device: Device, loaded: Loaded, name: str, module: Any = None):
        super().__init__(SlangTracer(device, loaded, name))
        self.module = module  # in `__dict__`, which the variants share

    @property
    def name(self) -> str:
        """The name in Slang, without the type or namespace that it belongs to."""
        return split_path(self.__name__)[1]

    def named_in(self, trace: Trace) -> tuple[str, str]:
        """Returns the module and name that nodes of a trace call this function by; adds its globals and options to the trace."""
        trace.adopt(self.setup, self.config.options, self.__name__)
        return self.tracer.module_in(trace), self.__name__

    # ---- raw dispatch -------------------------------------------------------------------------------------------

    def dispatch(self, threads: Any = None, *args: Any, vars: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        """Runs a compute entry point as it is written, over this number of threads, rounded up to whole groups.

        A function that is no entry point runs too: its first parameter is the thread id, and no thread beyond `threads` runs it.

        Args:
            threads: one to three numbers; sgl's spelling ``thread_count=`` works too.
            args: uniform parameters in order; ``kwargs`` parameters and globals by name. Tensors are bound to pointers directly;
                for structured buffers they are copied, and copied back.
            vars: globals by name, nested dicts for structs and parameter blocks.

        Raises:
            ArgumentError, UnknownNameError: for missing and unknown names.
            UnsupportedArgumentError, RangeError, ShapeError: for a value that does not fit.
            CompileError: if Slang or the driver rejects the program.

        Example:
            >>> import fusepy as fp
            >>> source = "void count(uint tid, uint* to) { to[tid] = 2 * tid; }"
            >>> m = fp.Module.load_from_source(fp.default_device(), "doc_raw", source)
            >>> to = fp.Tensor.empty(m.device, 3, "uint")
            >>> m.count.dispatch(3, to=to)
            >>> to.to_numpy()
            array([0, 2, 4], dtype=uint32)
        """
        if threads is None:
            threads = kwargs.pop("thread_count", ())
        dispatch(self, thread_count([threads], self.__name__), args, kwargs, vars)

    def threads(self, *counts: Any) -> Dispatch:
        """Returns this entry point with a number of threads: ``m.main.threads(width, height).call()``; see `dispatch`.

        Raises:
            ArgumentError: unless one to three integers are given.
        """
        return Dispatch(self, thread_count(counts, self.__name__))

    def resolve(self, *args: Any, **kwargs: Any) -> Resolved:
        """Resolves a call like this one, with values or types as arguments; see `fusepy.resolve`."""
        names, config = self.tracer.parameter_names(), self.config
        given, named = config.as_structs(names, args, kwargs)
        with naming(self.__name__):
            for name, value in [*zip(names, given), *named.items()]:
                check_finite(value, name)
        types = [stand_in(a) for a in given], {k: stand_in(v) for k, v in named.items()}
        try:
            return resolved_call(self.tracer.record(*types, config))
        except REFUSED as error:  # as a call, for each value of a list
            return for_each(error, args, kwargs, lambda given, named: self.resolve(*given, **named))

    def bind(self, this: Any) -> BoundFunction:
        """Returns this method for an object: a call takes the arguments without the object.

        Example:
            >>> import fusepy as fp
            >>> source = "struct Ray { float at; float after(float t) { return at + t; } };"
            >>> m = fp.Module.load_from_source(fp.default_device(), "doc_bind", source)
            >>> m.Ray.after.bind({"at": 2.0})(0.5)
            2.5
        """
        return BoundFunction(self, this)

    def prelude(self, code: str) -> Function:
        """Returns this function compiled with more Slang: `code` stands in its kernels behind the imports.

        It may define what the module declares ``extern``, such as constants and types, and sees what the module exports.

        Raises:
            ArgumentError: for anything but a string; `CompileError` in the call, if Slang rejects it.

        Example:
            >>> import fusepy as fp
            >>> source = "interface IBy { static float by(); }; extern struct K : IBy; float f(float x) { return x * K::by(); }"
            >>> m = fp.Module.load_from_source(fp.default_device(), "doc_prelude", source)
            >>> twice = "struct Twice : IBy { static float by() { return 2; } }; export struct K : IBy = Twice;"
            >>> m.f.prelude(twice)(3.0)
            6.0
        """
        if not isinstance(code, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            what = f"{self.__name__}: prelude() takes Slang text"
            raise ArgumentError(what, saw=repr(code)[:60], hint='write prelude("export static const int N = 4;")')
        options = replace(self.config.options, prelude=(*self.config.options.prelude, code))
        return self.variant(self.setup, replace(self.config, options=options))

    def write(self, writer: Callable[..., object], *args: Any, **kwargs: Any) -> Function:
        """Returns this function with a hook that sets globals through a cursor: ``writer(cursor, *args, **kwargs)``.

        Example:
            >>> import fusepy as fp
            >>> source = "uniform float k; float f(float x) { return k * x; }"
            >>> m = fp.Module.load_from_source(fp.default_device(), "doc_write", source)
            >>> m.f.write(lambda cursor, by: cursor.write({"k": by}), by=3.0)(2.0)
            6.0
        """

        def write_globals(context: CallContext) -> None:
            writer(GlobalsCursor(context), *args, **kwargs)

        return self.hook(write_globals)

    def thread_group_size(self, size: Any) -> Function:
        """Returns this function with thread groups of this size, for raw dispatch: ``options(numthreads=size)``."""
        return self.options(numthreads=size)

    def as_func(self) -> Function:
        """Returns the function itself; slangpy's spelling of "this name is a function"."""
        return self

    def __repr__(self) -> str:
        return f"<Slang function {self.__name__} of {self.tracer.loaded.source.alias}>"


_TAKE_ARGUMENTS = frozenset(("call", "resolve"))


class BoundFunction(Inspectable):
    """A method of a Slang type bound to an object: a `Function` whose first argument is known.

    It is called, declared and configured like the function, but without the object.
    """

    def __init__(self, function: DeviceFunction, this: Any):
        self._function = function
        self._this = this
        self.__name__ = function.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the method, or records the call inside a fused function.

        Raises:
            ArgumentError, ResolveError, ShapeError, RangeError: if the arguments do not fit.
        """
        return self._function(self._this, *args, **kwargs)

    def declare(self, *specs: Any, **named: Any) -> BoundFunction:
        """Returns this method with its arguments, without the object, mapped and typed in advance; see `Function.declare`."""
        return BoundFunction(self._function.declare(UNSAID, *specs, **named), self._this)

    def map(self, *specs: Any, **named: Any) -> BoundFunction:
        """Returns `declare` in slangpy's spelling; see `Function.map`."""
        return BoundFunction(self._function.map(None, *specs, **named), self._this)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Traces a call without running it; see `Function.lower`."""
        return self._function.lower(self._this, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._function, name)
        if name in _TAKE_ARGUMENTS:
            return partial(found, self._this)
        if name == "append_to":
            return lambda encoder, *args, **kwargs: found(encoder, self._this, *args, **kwargs)  # pyright: ignore
        if isinstance(found, DeviceFunction):
            return BoundFunction(found, self._this)
        return partial(self._configured, found) if callable(found) else found

    def _configured(self, configure: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        made = configure(*args, **kwargs)
        return BoundFunction(made, self._this) if isinstance(made, DeviceFunction) else made

    def __repr__(self) -> str:
        return f"<Slang method {self.__name__} of a {type(self._this).__name__}>"


STATIC.add(Function)  # as an argument of a fused function
