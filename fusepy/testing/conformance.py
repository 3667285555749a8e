"""The checks of `fusepy.testing.check_marshal`, which hold for every marshal.

They test the protocol first, then every way of calling: plain, mapped, cast, declared, fused and captured.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fusepy.arguments.mapping import vcast, vmap, vmapping
from fusepy.arguments.spelled import type_of
from fusepy.backend.device.open import default_device
from fusepy.backend.marshals.base import Description
from fusepy.backend.marshals.generators import Grid
from fusepy.backend.marshals.registry import ACCESSES, KINDS, RESULTS, Marshal, host_array
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import FusepyError
from fusepy.functions.fused import fuse
from fusepy.ir.types import Kind, Type
from fusepy.modules.module import Module

Array = np.ndarray[Any, Any]
SLOWEST_KEY = 200e-6  # seconds; the key of a Tensor takes 0.1 µs, that of a list of a hundred numbers 20 µs


class ConformanceError(AssertionError):
    """The error for a marshal that breaks the protocol. The message lists every failed check, with the example."""


@dataclass(frozen=True)
class Example:
    """An example: a value with its meaning.

    Attributes:
        value: an argument that the marshal takes.
        type: the Slang type of one element, e.g. ``"float2"``; a struct as ``m.Ray``.
        expected: the numbers that Slang should receive, with the components of an element on the last axes.
        like: another value of equal code, whose key must be equal; sizes and numbers may differ.
    """

    value: Any
    type: Any
    expected: Any
    like: Any = None

    @property
    def element(self) -> Type:
        """The Slang type of one element."""
        return type_of(self.type)

    @property
    def batch(self) -> int:
        """The number of batch axes."""
        return np.asarray(self.expected).ndim - len(self.element.shape)

    def __str__(self) -> str:
        return f"{type(self.value).__name__} as {self.element}"


@dataclass(frozen=True)
class Check:
    """One check of one example. A call runs it."""

    name: str
    about: str
    run: Callable[[], None]

    def __call__(self) -> None:
        self.run()

    def __str__(self) -> str:
        return f"{self.name} ({self.about})" if self.about else self.name


def marshal_checks(
    marshal: Marshal, examples: Sequence[Example], *, refused: Sequence[Any] = (), same: Any = None, device: Any = None
) -> Iterator[Check]:
    """Yields the checks of `check_marshal` one by one, for a test framework to name and run."""
    suite = _Suite(marshal, same, device)
    yield Check("kinds of results", "", suite.returns)
    for example in examples:
        for name in _EACH:
            yield Check(name.replace("_", " "), str(example), partial(getattr(suite, name), example))
    for i, first in enumerate(examples):
        for second in examples[i + 1 :]:
            yield Check("keys tell apart", f"{first}, {second}", partial(suite.keys_tell_apart, first, second))
    for value in refused:
        yield Check("refused with a hint", repr(value)[:40], partial(suite.refused, value))


# in the order of a call: the first failure explains the rest
_EACH = (
    "registered", "key", "equal_code_has_an_equal_key", "description", "placing", "value_is_left_alone", "round_trip",
    "second_call", "under_vmap", "under_vcast", "declared", "fused", "captured", "explained",
)  # fmt: skip


class _Suite:
    def __init__(self, marshal: Marshal, same: Any, device: Any):
        self.marshal = marshal
        self.same = same
        self._device = device
        self._functions: dict[str, Any] = {}

    @property
    def device(self) -> Any:
        return default_device() if self._device is None else self._device

    def identity(self, example: Example) -> Any:
        """Returns a Slang function that returns elements of this type unchanged."""
        if example.element.kind is Kind.NAMED:
            require(self.same is not None, f"pass same=, a function of the module that declares {example.element}")
            return self.same
        name = example.element.name
        found = self._functions.get(name)
        if found is None:
            text = f"{name} same({name} x) {{ return x; }}\n"
            found = self._functions[name] = Module.load_from_source(self.device, "conformance", text).find_function("same")
        return found

    # ---- the protocol -------------------------------------------------------------------------------------------

    def returns(self) -> None:
        require(self.marshal.returns in RESULTS, f"returns is {self.marshal.returns!r}, and not one of {', '.join(RESULTS)}")

    def registered(self, example: Example) -> None:
        found = next((KINDS[c].marshal for c in type(example.value).__mro__ if c in KINDS), None)
        name = type(example.value).__name__
        require(type(found) is type(self.marshal), f"{name} has {_named(found)}; call fusepy.register({name}, …) first")

    def key(self, example: Example) -> None:
        first, second = self.marshal.key(example.value), self.marshal.key(example.value)
        try:
            require(hash(first) == hash(second) and first == second, f"two keys of one value differ: {first!r} and {second!r}")
        except TypeError:
            raise ConformanceError(f"the key cannot be hashed: {first!r}") from None
        seconds = min(_timed(lambda: self.marshal.key(example.value)) for _ in range(20))
        require(
            seconds <= SLOWEST_KEY, f"a key takes {seconds * 1e6:.0f} µs, on every call; {SLOWEST_KEY * 1e6:.0f} µs is the most"
        )

    def equal_code_has_an_equal_key(self, example: Example) -> None:
        if example.like is not None:
            keys = self.marshal.key(example.value), self.marshal.key(example.like)
            require(keys[0] == keys[1], f"values that share code have keys {keys[0]!r} and {keys[1]!r}: each would compile anew")

    def keys_tell_apart(self, first: Example, second: Example) -> None:
        if self.marshal.key(first.value) == self.marshal.key(second.value):
            ours, theirs = self.marshal.describe(first.value), self.marshal.describe(second.value)
            require(ours == theirs, f"one key for what is described as {_told(ours)} and as {_told(theirs)}")

    def description(self, example: Example) -> None:
        told = self.marshal.describe(example.value)
        require(isinstance(told, Description), f"describe() returns {told!r}, and not a Description")  # pyright: ignore
        require(
            told.arrival in ACCESSES,
            f"there is no container {told.container!r}, only {', '.join(repr(a.name) for a in ACCESSES)}",
        )
        require(not told.arrival.plain or not told.dims, f"{_told(told)} has axes and no container")
        require(
            all(n is None or n > 0 for n in told.dims), f"{_told(told)}: an axis is None, or a small extent that a vector takes"
        )
        require(told == self.marshal.describe(example.value), "two descriptions of one value differ")

    def placing(self, example: Example) -> None:
        told, wanted = self.marshal.describe(example.value), example.element
        placed = self.marshal.place(example.value, told.type if wanted.kind is Kind.NAMED else _stored(told, wanted), self.device)
        if told.arrival.array:
            require(isinstance(placed, Tensor), f"{_told(told)} is placed as a {type(placed).__name__}, and not as a Tensor")
            require(placed.device is self.device, "it is placed on another device than the one asked for")
            fits = len(placed.shape) == len(told.dims) and all(n in (None, m) for n, m in zip(told.dims, placed.shape))
            require(fits, f"described as {_told(told)}, placed with shape {placed.shape}")
        elif told.arrival.grid:
            require(isinstance(placed, Grid), f"{_told(told)} is placed as a {type(placed).__name__}, and not as a Grid")
        elif told.arrival.plain:
            require(isinstance(placed, (bool, int, float)), f"{_told(told)} is placed as {placed!r}, and not as a Python number")

    def value_is_left_alone(self, example: Example) -> None:
        before = _frozen(example.value)
        self.marshal.key(example.value)
        self.marshal.describe(example.value)
        self.identity(example)(example.value)
        require(_frozen(example.value) == before, "the call has changed the value")

    # ---- every way of calling -----------------------------------------------------------------------------------

    def round_trip(self, example: Example) -> None:
        self._expect(example, self.identity(example)(example.value))

    def second_call(self, example: Example) -> None:
        function = self.identity(example)
        function(example.value)
        misses = self.device.counters.plan_misses
        self._expect(example, function(example.value))
        require(self.device.counters.plan_misses == misses, "the same value is compiled for twice: its key is not stable")

    def under_vmap(self, example: Example) -> None:
        if example.batch:
            self._expect(example, self.identity(example)(vmap(example.value, tuple(range(example.batch)))))

    def under_vcast(self, example: Example) -> None:
        self._expect(example, self.identity(example)(vcast(example.value, example.type)))

    def declared(self, example: Example) -> None:
        function = self.identity(example)
        self._expect(example, function.declare(example.type)(example.value))
        if example.batch:
            self._expect(example, function.declare(vmapping(*range(example.batch)))(example.value))

    def fused(self, example: Example) -> None:
        function = self.identity(example)

        def through(x: Any) -> Any:
            return function(x)

        self._expect(example, fuse(through)(example.value))

    def captured(self, example: Example) -> None:
        function = self.identity(example)
        self._expect(example, fuse(lambda: function(example.value)).return_type("tensor")())

    def explained(self, example: Example) -> None:
        function = self.identity(example)
        kernels = function.explain(example.value).kernels
        require(kernels == 1, f"explain() reports {kernels} kernels for one call of one function")
        require(f"{function.__name__}(" in function.source(example.value), "source() does not show the call")

    def refused(self, value: Any) -> None:
        try:
            told = self.marshal.describe(value)
            self.marshal.key(value)
            self.marshal.place(value, told.type, self.device)
        except FusepyError as error:
            require(bool(error.hint), f"the error has no hint: {error}")
        else:
            raise ConformanceError("no error is raised")

    def _expect(self, example: Example, actual: Any) -> None:
        want = np.asarray(example.expected)
        have = numbers(actual)
        if have.dtype.hasobject:  # of a class that NumPy does not know: what Slang would see of it
            placed = self.marshal.place(actual, example.element, self.device)
            have = numbers(placed)
        if have.dtype.names is not None and want.dtype.names is None:
            have = np.asarray(have.tolist())
        require(have.shape == want.shape, f"shape {have.shape} comes back, {want.shape} was expected")
        if have.dtype.names is not None:
            same = have == want.astype(have.dtype)
        else:  # half has three digits
            same = np.isclose(have, want, rtol=1e-3, atol=1e-6 * float(np.max(np.abs(want), initial=0)), equal_nan=True)
        require(bool(np.all(same)), f"{have.tolist()!r:.200} comes back, {want.tolist()!r:.200} was expected")


def require(condition: bool, message: str) -> None:
    """Raises `ConformanceError` if the condition is false."""
    if not condition:
        raise ConformanceError(message)


def _named(marshal: Marshal | None) -> str:
    return "no marshal" if marshal is None else f"a {type(marshal).__name__}"


def _told(described: Description) -> str:
    dims = ",".join("?" if n is None else str(n) for n in described.dims)
    return f"{'weak ' * described.weak}{described.container or 'one'}<{described.type}>[{dims}]"


def _stored(told: Description, wanted: Type) -> Type:
    """Returns the element type of an uploaded value if Slang wants `wanted`: weak numbers adopt it, others keep their type."""
    return told.type.with_scalar(wanted.scalar) if told.weak and told.type.is_numeric and wanted.scalar is not None else told.type


def numbers(value: Any) -> Array:
    """Returns a result as an array."""
    held = host_array(value)
    return np.asarray(value) if held is None else held


def _timed(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def _frozen(value: Any) -> bytes | str:
    """Returns an object that differs after the value has changed."""
    try:
        return pickle.dumps(value)
    except (TypeError, AttributeError, pickle.PicklingError):
        return repr(value)
