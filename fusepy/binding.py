"""What a function object carries beside its program: values of globals, hooks, and where to record.

None of it is part of a program's identity: functions that differ only in what they have set share their programs and kernels, and
the values go along with each call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from fusepy.backend.recorder import Written, recording_into
from fusepy.backend.values import freeze
from fusepy.compile import Program
from fusepy.errors import ArgumentError, UnknownNameError, did_you_mean
from fusepy.nested import flat
from fusepy.place import user_line

if TYPE_CHECKING:
    from fusepy.backend.runtime import Device

Hook = Callable[["CallContext"], object]


class Bindings:
    """Values of globals by name; never changed once made, so one is compared with another by identity.

    Attributes:
        names: of the values. What was found out about names holds for all bindings that have the same.
    """

    __slots__ = ("last", "names", "values")

    def __init__(self, values: Mapping[str, Any]):
        self.values = values
        self.names = tuple(values)
        self.last: tuple[Bindings, Bindings] | None = None  # with what it was last joined, and what came of it

    def updated(self, values: Mapping[str, Any]) -> Bindings:
        """With other values."""
        return Bindings(merged(self.values, values))

    def check(self, program: Program) -> None:
        """Raises `UnknownNameError` for a name that no module of a program declares."""
        if program.may_set != self.names:
            for name in self.names:
                if name not in program.global_names:
                    raise no_global(name, program.global_names, program.graph.name)
            program.may_set = self.names


class Setup(Bindings):
    """The run-time configuration of a function. One object with the values of globals, since these may be set every frame.

    Attributes:
        hooks: called before each call, in order.
        encoder: the user's command encoder, where a call is recorded instead of run.
    """

    __slots__ = ("encoder", "hooks")

    def __init__(self, values: Mapping[str, Any], hooks: tuple[Hook, ...] = (), encoder: Any = None):
        self.values = values
        self.names = tuple(values)
        self.last = None
        self.hooks = hooks
        self.encoder = encoder

    def joined(self, other: Setup, what: str) -> Setup:
        """This setup with that of another function in the same kernel.

        Raises:
            ArgumentError: if both set a global, to different values.
        """
        return Setup(joined(self, other, what).values, (*self.hooks, *other.hooks), self.encoder)


NO_SETUP = Setup({})


class CallContext:
    """What a hook is given: the call that is about to run.

    Attributes:
        function: the function that is called; args, kwargs: its arguments.
        device: where it will run.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_hook", "uniform float k; float f(float x) { return k * x; }")
        >>> f = m.f.hook(lambda context: context.set(k=len(context.args[0])))
        >>> f([1.0, 2.0]), f([1.0, 2.0, 3.0])
        ([2.0, 4.0], [3.0, 6.0, 9.0])
    """

    def __init__(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], device: Device, bindings: Bindings):
        self.function = function
        self.args = tuple(args)
        self.kwargs = dict(kwargs)
        self.device = device
        self._bindings = bindings

    def set(self, *values: Any, **named: Any) -> None:
        """Sets globals for this call; see ``Function.set``."""
        self._bindings = self._bindings.updated(given(self.function.__name__, values, named))


def given(what: str, values: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a ``set`` as snapshots by name.

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
    return {name: freeze(value, f"{what}: {name}") for name, value in asked.items()}


def no_global(name: str, known: Sequence[str], what: str) -> UnknownNameError:
    """The error for a name that is not among the `known` globals."""
    return UnknownNameError(f"{what}: there is no global {name!r}", place=user_line(), hint=did_you_mean(name, known))


def hook_of(hook: Any, method: Any) -> Hook:
    """The callable behind ``hook(callback)`` and ``hook(obj, Class.method)``.

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
    except ValueError:  # a builtin that does not tell its signature
        pass
    return cast("Hook", found)


def joined(a: Bindings, b: Bindings, what: str) -> Bindings:
    """The values of both; the same object for the same two, so that kernels need not be bound again.

    Raises:
        ArgumentError: if they differ about one.
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
    found = Bindings(values)
    a.last = (b, found)
    return found


def run(setup: Setup, caller: Any, program: Program, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> Any:
    """Runs a program, or records it, with what its function has set, after the hooks."""
    bindings: Bindings = setup
    device = program.device
    if setup.hooks or setup.encoder is not None:
        bindings = after_hooks(setup, caller, device, args[: len(args) - len(kwargs)], kwargs)
    leaves = flat(args) if program.nested else args
    with device.lock:
        before = device.bindings
        alone = before is None and program.may_set == bindings.names  # as `entered` would find out
        device.bindings = bindings if alone else entered(bindings, before, program)
        try:
            if setup.encoder is None:
                return program(leaves, result)
            with recording_into(device, setup.encoder, caller.__name__) as keep:
                keep.append(Written(bindings.values.values()))  # user code may write what it is given
                return program.record(leaves, result, keep)
        finally:
            device.bindings = before


def entered(bindings: Bindings, before: Bindings | None, program: Program) -> Bindings:
    """What a program sees: its own values, beside those that were set around it."""
    if before is not None:  # a program whose functions have set globals of their own, in a call that sets some, too
        bindings = joined(before, bindings, program.graph.name)
    bindings.check(program)
    return bindings


def after_hooks(setup: Setup, caller: Any, device: Device, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Bindings:
    """What is set for one call once its hooks have run."""
    bindings = Bindings(setup.values)  # kernels remember what was set last, and must keep nothing else of the function
    for hook in setup.hooks:
        context = CallContext(caller, args, kwargs, device, bindings)
        hook(context)
        bindings = context._bindings  # pyright: ignore[reportPrivateUsage]
    return bindings


@contextmanager
def bound(device: Device, bindings: Bindings, program: Program | None) -> Generator[None, None, None]:
    """Within, what is launched on `device` by this thread sees these globals; other threads wait."""
    with device.lock:
        before = device.bindings
        device.bindings = bindings if program is None else entered(bindings, before, program)
        try:
            yield
        finally:
            device.bindings = before


class SetUpProgram(Program):
    """A program in which functions are called that have set globals or hooks of their own."""

    caller: Any

    def __call__(self, args: Sequence[Any], result: Any = None) -> Any:
        return self._set_up(args, lambda: super(SetUpProgram, self).__call__(args, result))

    def record(self, args: Sequence[Any], result: Any, keep: list[Any]) -> Any:
        return self._set_up(args, lambda: super(SetUpProgram, self).record(args, result, keep))

    def _set_up(self, args: Sequence[Any], call: Callable[[], Any]) -> Any:
        setup = self.recording.trace.setup
        assert setup is not None
        with bound(self.device, after_hooks(setup, self.caller, self.device, args, {}), self):
            return call()


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Old values with new ones in their place; dicts are merged, so that a part of a parameter block can be set by itself."""
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
    """Whether two snapshots are one value. Resources are compared by identity, which is what ``==`` does for them."""
    return a is b or (type(a) is type(b) and bool(a == b))
