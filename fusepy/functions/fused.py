"""`fuse`: runs the Slang calls of a Python function as few kernels."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, MethodType
from typing import Any, cast, overload

from fusepy.arguments.copies import Copied, filled
from fusepy.arguments.forms import other_parts
from fusepy.arguments.objects import is_method_like, split
from fusepy.backend.device.device import Device
from fusepy.errors import ArgumentError
from fusepy.functions.configure import OPTIONS
from fusepy.functions.device_function import DeviceFunction
from fusepy.functions.parts import STATIC, AnyFunction
from fusepy.functions.python_tracer import PythonTracer
from fusepy.trace.trace import Trace

_STATE = "self_"  # the parameter of the values of an object


class HoldingTracer(PythonTracer):
    """A tracer of a function that reads the values of an object: a method, or a graph with nodes of methods.

    The floats, arrays and tensors of the object are arguments of each call, also those in its lists, dicts and objects.
    Everything else is part of the program: integers, strings and flags by value, other objects by identity.
    """

    owner: Any
    state: Mapping[str, Any] = MappingProxyType({})  # the arguments, by path

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any = None) -> Any:
        """Binds a call to the values that the object has now."""
        if not self.holds():
            return super().bind(args, kwargs, result)
        bound, key, named, result = self.named(args, kwargs, result)
        state: dict[str, Any] = {}
        kept = split(self.owner, "", state)
        made = cast("HoldingTracer", copy.copy(bound))
        made.state = state
        if state:
            last = inspect.Parameter(_STATE, inspect.Parameter.KEYWORD_ONLY)
            vars(made).update(other_parts(bound.others, "state", bound.signature, lambda before: [*before, last]))
            named = {**named, _STATE: {f"value_{i}": value for i, value in enumerate(state.values())}}
        return made, ("method", self.owner.__class__, kept, key), (), named, result

    def call(self, trace: Any, args: Sequence[Any], kwargs: Mapping[str, Any], config: Any) -> Any:
        """Calls the function inside a trace: the object's values are those that it has now, or those that the trace passes."""
        if not self.holds():
            return super().call(trace, args, kwargs, config)
        named, owner = dict(kwargs), self.owner
        state: dict[str, Any] = {}
        if _STATE in named:  # the way back through a call, see `pullback`
            split(owner, "", state)
            owner = filled(owner, "", dict(zip(state, named.pop(_STATE).values())), [])
        return self._plain(owner).call(trace, args, named, config)

    def holds(self) -> bool:
        """True if there is an object whose values it reads."""
        return True

    def _plain(self, owner: Any) -> PythonTracer:
        """Returns the tracer of the function of `owner` as a plain function."""
        made = object.__new__(PythonTracer)
        vars(made).update(vars(self), function=self.function_of(owner))
        return made

    def function_of(self, owner: Any) -> Callable[..., Any]:
        """Returns the function that reads `owner`."""
        return MethodType(self.function, owner)

    def _called(self, passed: Mapping[str, Any], trace: Trace) -> Any:
        if not self.holds():
            return super()._called(passed, trace)
        named = dict(passed)
        traced = dict(zip(self.state, named.pop(_STATE, {}).values()))
        made: list[Copied] = []
        found = self._plain(filled(self.owner, "", traced, made))._called(named, trace)
        for copied in made:
            copied.check_unchanged(self.__name__)
        return found


def _method_tracer(tracer: PythonTracer, owner: Any) -> HoldingTracer:
    """Returns the tracer of a function as a method of `owner`."""

    def without_object(parameters: Sequence[inspect.Parameter]) -> Sequence[inspect.Parameter]:
        first = next(iter(parameters), None)
        if first is None or first.kind not in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD, first.VAR_POSITIONAL):
            raise ArgumentError(
                f"{tracer.__name__}() takes no object, and is read from one",
                hint="write @staticmethod above @fp.fuse, or give it a parameter self",
            )
        return parameters if first.kind is first.VAR_POSITIONAL else [p for p in parameters if p is not first]

    made = object.__new__(HoldingTracer)
    parts = other_parts(tracer.others, "method", tracer.signature, without_object)
    vars(made).update(vars(tracer), owner=owner, positional=-1, **parts)
    return made


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

    def __get__(self, owner: Any, cls: type | None = None) -> FusedFunction:
        """Returns the function as a method of an object, as Python's own functions do."""
        if owner is None:
            return self
        made = cast("FusedFunction", bound_to(self, owner))
        own = {**vars(self), "__signature__": cast("PythonTracer", made.tracer).signature, "__self__": owner, "__func__": self}
        object.__setattr__(made, "__dict__", own)
        return made

    def __repr__(self) -> str:
        return f"<fused function {self.__name__}>"


STATIC.add(FusedFunction)


def bound_to(function: AnyFunction, owner: Any) -> AnyFunction:
    """Returns a function whose first argument is an object as a method of the object."""
    return function.variant(function.setup, tracer=_method_tracer(cast("PythonTracer", function.tracer), owner))


def of_object(function: Callable[..., Any]) -> tuple[Callable[..., Any], Any] | None:
    """Returns a method as a function of its object and its arguments, and the object; ``None`` for other functions.

    The gradient of a method, and the like, is made from this function, so that it takes the object's values at each call.
    """
    if isinstance(function, MethodType):
        return function.__func__, function.__self__
    if is_method_like(function):
        return type(function).__call__, function
    own = function.tracer if isinstance(function, FusedFunction) else None
    if not isinstance(function, FusedFunction) or not isinstance(own, HoldingTracer) or not own.holds():
        return None

    def method(owner_: Any, *args: Any, **kwargs: Any) -> Any:
        tracer = copy.copy(own)
        tracer.owner = owner_
        return function.variant(function.setup, tracer=tracer)(*args, **kwargs)

    first = inspect.Parameter("owner_", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    vars(method)["__signature__"] = inspect.Signature([first, *own.signature.parameters.values()])
    method.__name__ = function.__name__
    return method, own.owner


@overload
def fuse(function: Callable[..., Any], *, static: Sequence[str] = ..., device: Device | None = ...) -> FusedFunction: ...
@overload
def fuse(
    function: None = ..., *, static: Sequence[str] = ..., device: Device | None = ...
) -> Callable[[Callable[..., Any]], FusedFunction]: ...
def fuse(function: Any = None, *, static: Sequence[str] = (), device: Device | None = None, **others: Any) -> Any:
    """Fuses a Python function that calls Slang functions: it runs in as few kernels as its data flow allows.

    Inside, Slang functions, operators and fusepy's math functions are recorded instead of run. The first call with arguments
    of a kind traces and compiles; later calls only pack and dispatch.

    Args:
        function: the function; without it, a decorator is returned.
        static: names of parameters that are part of the program; their values are hashed, not recorded. Strings, ``None``,
            functions and classes are static in any case.
        device: where to run; by default that of the first tensor among the arguments, else the default device.

    A method of a class can be fused too. Attributes of its object that hold floats, arrays and tensors are arguments of each
    call; integers, strings and flags are part of the program, like static arguments, and so are values of its class.

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
    if others:
        name = next(iter(others))
        hint = 'write fp.fuse(f, static=["x"]), with the names of static parameters; there are no other settings'
        raise ArgumentError(f"fuse() takes no {name}=", hint=f"write fp.fuse(f).options({name}=…)" if name in OPTIONS else hint)
    if function is None:
        return functools.partial(fuse, static=static, device=device)
    if isinstance(function, (classmethod, staticmethod)):
        wrapped = cast("Any", function)
        return wrapped.__class__(fuse(wrapped.__func__, static=static, device=device))
    if not callable(function):
        raise ArgumentError("fuse() takes a function", saw=repr(function)[:60], hint="write @fuse above a def, or fuse(f)")
    method = None if isinstance(function, FusedFunction) else of_object(function)
    if method is not None:
        return FusedFunction(method[0], static, device).__get__(method[1])
    return FusedFunction(function, static, device)
