"""A kind of a user's own, as an argument and as a result: an array with a unit; and the order of another framework's work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.marshals import registry
from fusepy.testing import Example, check_marshal
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
float half_of(float x) { return x / 2; }
float add(float a, float b) { return a + b; }
void grow(inout float x) { x += 1; }
void parts(float x, out float whole, out float rest) { whole = floor(x); rest = x - whole; }
"""


def telling(shape: tuple[int, ...]) -> tuple[int | None, ...]:
    """Batch axes: of the extents only a last one that a vector could take in."""
    return tuple(n if i == len(shape) - 1 and 2 <= n <= 4 else None for i, n in enumerate(shape))


class Quantity:
    def __init__(self, numbers: Any, unit: str):
        self.numbers, self.unit = np.asarray(numbers, F32), unit


class Metres(Quantity):
    def __init__(self, numbers: Any):
        super().__init__(numbers, "m")


class QuantityMarshal:
    returns = "quantity"

    def key(self, value: Quantity) -> Any:
        return ("quantity", telling(value.numbers.shape))

    def describe(self, value: Quantity) -> fp.Description:
        return fp.Description(fp.Type.parse("float"), telling(value.numbers.shape), "Tensor")

    def place(self, value: Quantity, type: fp.Type, device: fp.Device) -> fp.Tensor:
        return fp.Tensor.from_numpy(device, value.numbers, type)

    def extents(self, value: Quantity) -> tuple[int, ...]:
        return value.numbers.shape

    def array(self, value: Quantity) -> Any:
        return value.numbers

    def memory(self, value: Quantity, device: fp.Device, element: Any) -> Any:
        return value.numbers

    def make(self, device: fp.Device, shape: tuple[int, ...], element: Any, args: Sequence[Any]) -> Quantity | None:
        units = {a.unit for a in args if isinstance(a, Quantity)}
        return Quantity(np.empty(shape + element.shape, element.dtype), units.pop()) if len(units) == 1 else None

    def hand_out(self, tensor: fp.Tensor) -> Quantity:
        return Quantity(tensor.to_numpy(), "1")


class PlainMarshal(QuantityMarshal):
    """The same class once more, whose results are arrays."""

    returns = "numpy"
    hand_out = make = None  # type: ignore[assignment]


@pytest.fixture(scope="module")
def m(device: Any) -> Iterator[Any]:
    fp.register(Quantity, QuantityMarshal())
    yield fp.Module.load_from_source(device, "quantities", SOURCE)
    for table in (registry.KINDS, registry.RESULTS):
        table.pop(Quantity, None), table.pop("quantity", None)  # type: ignore[call-overload]


def test_a_users_kind_is_an_argument(m: Any) -> None:
    examples = [
        Example(Quantity(ramp(5), "m"), "float", ramp(5), like=Quantity(ramp(7), "s")),
        Example(Quantity(ramp(2, 3), "m"), "float3", ramp(2, 3)),
    ]
    check_marshal(QuantityMarshal(), examples)


def test_a_users_kind_is_a_result(m: Any) -> None:
    x = Metres(ramp(5))
    for made, unit in (
        (m.half_of(x), "m"),
        (m.add(x, ramp(5) * 0), "m"),  # it leads over NumPy's arrays, and over tensors
        (m.add(fp.Tensor.from_numpy(m.device, ramp(5)), Quantity(ramp(5) * 0, "s")), "s"),
        (m.half_of(ramp(5), _result=Quantity), "1"),
        (m.half_of.return_type("quantity")(2 * ramp(5)), "1"),
        (fp.fuse(lambda x: m.half_of(x) + 1)(x), "m"),
    ):
        assert type(made) is Quantity
        assert made.unit == unit
        assert made.numbers.shape == (5,)
    same(m.half_of(x).numbers, ramp(5) / 2)
    same(m.half_of(x, _result="numpy"), ramp(5) / 2)
    with fp.lazy():
        now = m.half_of(x)  # only tensors can be put off
    assert now.unit == "m"


def test_results_are_written_to_a_users_kind(m: Any) -> None:
    x, whole, rest = Quantity(ramp(4) + 0.25, "m"), Quantity(np.zeros(4), "a"), Quantity(np.zeros(4), "b")
    assert m.half_of(x, _result=whole) is whole
    same(whole.numbers, (ramp(4) + 0.25) / 2)
    m.parts(x, whole, rest)
    same(whole.numbers, F32([0, 0, 0, 1]))
    same(rest.numbers, F32([0.25, 0.5, 0.75, 0]))
    m.grow(x)
    same(x.numbers, ramp(4) + 1.25)
    with pytest.raises(fp.ShapeError, match="_result does not fit the result"):
        m.half_of(x, _result=Quantity(np.zeros(5), "m"))


def test_registering_a_base_again_reaches_derived_classes(m: Any) -> None:
    x = Metres(ramp(3))
    assert m.half_of(x).unit == "m"
    try:
        fp.register(Quantity, PlainMarshal())
        same(m.half_of.return_type("numpy")(x), ramp(3) / 2)
        assert isinstance(fp.Module.load_from_source(m.device, "again", SOURCE).half_of(x), np.ndarray)
    finally:
        fp.register(Quantity, QuantityMarshal())
    assert m.half_of(x).unit == "m"


def test_words_of_our_results_are_ours() -> None:
    class Taking(QuantityMarshal):
        returns = "numpy"

    with pytest.raises(fp.ArgumentError, match="returns is 'numpy', and hand_out\\(\\) is that of another kind"):
        fp.register(Quantity, Taking())
    with pytest.raises(fp.ArgumentError, match="not a container"):
        fp.Module.load_from_source(fp.default_device(), "named", SOURCE).half_of.return_type(np.float32)


def test_arrays_of_the_host_by_dlpack_are_uniforms(m: Any) -> None:
    """A small array becomes numbers of the parameter block, whichever framework holds it."""

    class Theirs:
        def __init__(self, array: Any):
            self._array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self._array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self._array.__dlpack_device__()

    small = Theirs(F32([1, 2, 3]))
    tint = fp.Module.load_from_source(m.device, "uniforms", "float3 tint(float3 c, float k) { return c * k; }").tint
    same(tint(small, ramp(2)), ramp(2)[:, None] * F32([1, 2, 3]))


def test_another_frameworks_work_is_waited_for(m: Any) -> None:
    done: list[str] = []

    class Stream:
        def synchronize(self) -> None:
            done.append("theirs")

    class Streamed(QuantityMarshal):
        def stream(self, value: Quantity) -> Any:
            return Stream()

        def place(self, value: Quantity, type: fp.Type, device: fp.Device) -> fp.Tensor:
            self.stream(value).synchronize()
            return super().place(value, type, device)

    class There(Quantity):
        pass

    fp.register(There, Streamed())
    waited, wait = [], m.device.wait
    m.device.wait = lambda: (waited.append(list(done)), wait())
    try:
        assert m.half_of(There(ramp(3), "m"), _result="tensor").shape == (3,)
    finally:
        del m.device.wait
    assert done == ["theirs"]
    assert waited[-1] == ["theirs"]  # the call is done before it returns
