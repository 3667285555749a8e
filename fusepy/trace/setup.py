"""The setup of a function: values of globals, hooks, and the encoder to record into.

The setup is no part of a program's identity: functions that differ only in their setup share programs and kernels, and
each call brings its values.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from fusepy.backend.device.device import Device
from fusepy.backend.kernels.values import freeze
from fusepy.backend.sealed import Sealed
from fusepy.errors import ArgumentError, UnknownNameError, UnsupportedArgumentError, did_you_mean

Hook = Callable[["CallContext"], object]


class GlobalValues:
    """Values of globals by name. Bindings are immutable, so they are compared by identity.

    Attributes:
        names: the names of the values. Checks of names hold for all bindings with the same names.
    """

    __slots__ = ("last", "names", "values")

    def __init__(self, values: Mapping[str, Any]):
        self.values = values
        self.names = tuple(values)
        self.last: tuple[GlobalValues, GlobalValues] | None = None  # the bindings that it was last joined with, and the result

    def updated(self, values: Mapping[str, Any]) -> GlobalValues:
        """Returns these bindings with other values."""
        return GlobalValues(merged(self.values, values))


class Setup(GlobalValues):
    """The run-time configuration of a function. It is one object with the values of globals, since these may be set every frame.

    Attributes:
        hooks: called before each call, in order.
        encoder: the user's command encoder, if a call is recorded instead of run.
    """

    __slots__ = ("encoder", "hooks")

    def __init__(self, values: Mapping[str, Any], hooks: tuple[Hook, ...] = (), encoder: Any = None):
        self.values = values
        self.names = tuple(values)
        self.last = None
        self.hooks = hooks
        self.encoder = encoder

    def joined(self, other: Setup, what: str) -> Setup:
        """Joins this setup with that of another function in the same kernel.

        Raises:
            ArgumentError: if both set a global, to different values.
        """
        return Setup(joined(self, other, what).values, (*self.hooks, *other.hooks), self.encoder)


NO_SETUP = Setup({})


class CallContext(Sealed):
    """The call that is about to run; the argument of hooks.

    Attributes:
        function: the function that is called; ``args`` and ``kwargs`` are its arguments.
        device: the device that it will run on.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_hook", "uniform float k; float f(float x) { return k * x; }")
        >>> f = m.f.hook(lambda context: context.set(k=len(context.args[0])))
        >>> f([1.0, 2.0]), f([1.0, 2.0, 3.0])
        ([2.0, 4.0], [3.0, 6.0, 9.0])
    """

    _assigning = {"": "a hook gives values to globals: context.set(k=2.0)"}

    def __init__(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], device: Device, bindings: GlobalValues):
        self.function = function
        self.args = tuple(args)
        self.kwargs = dict(kwargs)
        self.device = device
        self._bindings = bindings

    def set(self, *values: Any, **named: Any) -> None:
        """Sets globals for this call; see ``Function.set``."""
        self._bindings = self._bindings.updated(given(self.function.__name__, values, named))


def given(what: str, values: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a ``set`` as snapshots by name.

    Raises:
        ArgumentError: for anything but one dict, or names.
        UnsupportedArgumentError: for values that no global can hold.
    """
    asked = named
    if values:
        if len(values) > 1 or not isinstance(values[0], Mapping):
            raise ArgumentError(
                f"{what}: set() takes names or one dict",
                saw=repr(values)[:60],
                hint="write set(exposure=2) or set({'exposure': 2})",
            )
        asked = {**cast("Mapping[Any, Any]", values[0]), **named}
        for name in asked:
            if not isinstance(name, str):
                raise ArgumentError(f"{what}: set() takes names", saw=repr(name), hint="name the global by a string")
    return {name: _frozen(value, f"{what}: {name}") for name, value in asked.items()}


def _frozen(value: Any, path: str) -> Any:
    try:
        return freeze(value, path)
    except RecursionError:
        raise UnsupportedArgumentError(
            f"{path} cannot be set to a {type(value).__name__}: its attributes refer to each other without an end",
            hint="give numbers, arrays, dicts or resources; meshes become a resource by fp.Scene(mesh)",
        ) from None


def no_global(name: str, known: Sequence[str], what: str) -> UnknownNameError:
    """Returns the error for a name that is not among the `known` globals."""
    return UnknownNameError(f"{what}: there is no global {name!r}", hint=did_you_mean(name, known))


def hook_of(hook: Any, method: Any) -> Hook:
    """Returns the callable for ``hook(callback)`` and ``hook(obj, Class.method)``.

    Raises:
        ArgumentError: if it cannot be called with one context.
    """

    def bound_method(context: CallContext) -> object:
        return method(hook, context)

    found: Any = hook if method is None else bound_method
    takes = hook if method is None else method
    wanted = 1 if method is None else 2
    if not callable(takes):
        raise ArgumentError(
            "hook() takes a callable, or an object and a method", saw=repr(takes)[:60], hint="pass hook(callback)"
        )
    try:
        inspect.signature(takes).bind(*[None] * wanted)
    except TypeError:
        raise ArgumentError(
            f"a hook is called with {'a context' if wanted == 1 else 'the object and a context'}",
            saw=f"{getattr(takes, '__name__', takes)}{inspect.signature(takes)}",
            hint="write def callback(context): …, or def method(self, context): …",
        ) from None
    except ValueError:  # a builtin without a signature
        pass
    return cast("Hook", found)


def joined(a: GlobalValues, b: GlobalValues, what: str) -> GlobalValues:
    """Joins the values of both. The same two give the same object, so that kernels need not be bound again.

    Raises:
        ArgumentError: if they have different values for a name.
    """
    if not a.values:
        return b
    if not b.values or b is a:
        return a
    if a.last is not None and a.last[0] is b:
        return a.last[1]
    values = dict(a.values)
    for name, value in b.values.items():
        if not _same(values.setdefault(name, value), value):
            raise ArgumentError(
                f"{what}: the global {name!r} is set to two values in one kernel",
                saw=f"{values[name]!r} and {value!r}"[:120],
                hint="set it once, on the fused function",
            )
    found = GlobalValues(values)
    a.last = (b, found)
    return found


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Replaces old values by new ones; dicts are merged, so that a part of a parameter block can be set by itself."""
    made = dict(old)
    for name, value in new.items():
        before = made.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            kind = cast("type[dict[str, Any]]", type(cast("Any", value)))
            made[name] = kind(merged(cast("dict[str, Any]", before), cast("dict[str, Any]", value)))
        else:
            made[name] = value
    return made


def _same(a: Any, b: Any) -> bool:
    """True if two snapshots are equal. Resources are compared by identity, which is their ``==``."""
    return a is b or (type(a) is type(b) and bool(a == b))
