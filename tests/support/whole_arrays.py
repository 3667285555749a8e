"""What the tests of whole arrays share: Slang functions for every element type and rank, and views of random tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fusepy.backend.memory.tensor import Tensor

# Slang element types with the dtype and components that they have in NumPy
ELEMENTS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "float": (np.float32, ()),
    "int": (np.int32, ()),
    "uint": (np.uint32, ()),
    "int64_t": (np.int64, ()),
    "half": (np.float16, ()),
    "double": (np.float64, ()),
    "bool": (np.bool_, ()),
    "float2": (np.float32, (2,)),
    "float3": (np.float32, (3,)),
    "int4": (np.int32, (4,)),
    "half3": (np.float16, (3,)),
    "float2x3": (np.float32, (2, 3)),
}
RANKS = (1, 2, 3, 4)
COORDINATES = {1: "int", 2: "int2", 3: "int3", 4: "int4"}


def source(library: str, elements: Any = tuple(ELEMENTS), ranks: Any = RANKS) -> str:
    """Reading, writing and copying for each element type and rank."""
    lines = [f"import {library};", "public struct Particle { public float3 at; public int id; public half weight; };"]
    for element in (*elements, "Particle"):
        for rank in ranks:
            name, at, of = f"{element}_{rank}", COORDINATES[rank], f"{element},{rank}"
            lines.append(f"public {element} get_{name}({at} p, Tensor<{of}> t) {{ return t[p]; }}")
            lines.append(f"public void put_{name}({at} p, {element} v, WTensor<{of}> t) {{ t[p] = v; }}")
            lines.append(f"public {element} swap_{name}({at} p, {element} v, RWTensor<{of}> t)")
            lines.append(f"{{ {element} old = t[p]; t[p] = v; return old; }}")
    return "\n".join(lines) + "\n"


@st.composite
def shapes(draw: Any, most: int = 5) -> tuple[int, ...]:
    rank = draw(st.integers(1, 4))
    return tuple(draw(st.integers(1, most)) for _ in range(rank))


def numbers(random: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    if dtype is np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    return random.integers(0 if np.dtype(dtype).kind == "u" else -50, 50, shape).astype(dtype)


@st.composite
def views(draw: Any, device: Any, element: str, rank: int | None = None, repeats: bool = True) -> tuple[Tensor, Any]:
    """A tensor of `element` with any strides, and its contents; of a larger tensor, backwards, with steps, or repeating."""
    dtype, parts = ELEMENTS[element]
    shape = draw(shapes()) if rank is None else tuple(draw(st.integers(1, 5)) for _ in range(rank))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    array = numbers(random, shape + parts, dtype)
    made = Tensor.from_numpy(device, array, dtype=element)
    index: list[Any] = []
    for extent in shape:
        if draw(st.booleans()):
            index.append(slice(None))
            continue
        step = draw(st.sampled_from([1, 2, -1, -2]))
        start = draw(st.integers(0, extent - 1))
        index.append(slice(start, None, step))
    tensor, array = made[tuple(index)], array[tuple(index)]
    if repeats and draw(st.integers(0, 4)) == 0:
        axis = draw(st.integers(0, len(shape) - 1))
        first = [slice(None)] * len(shape)
        first[axis] = slice(0, 1)
        tensor, array = repeated(tensor[tuple(first)], axis, 3), np.repeat(array[tuple(first)], 3, axis)
    return tensor, array


def repeated(tensor: Tensor, axis: int, count: int) -> Tensor:
    """A tensor whose one element along `axis` is seen `count` times, by a stride of 0."""
    shape, strides = list(tensor.shape), list(tensor.strides)
    shape[axis], strides[axis] = count, 0
    block, origin = tensor.block, tensor.origin
    return Tensor(tensor.device, tensor.element, tuple(shape), block=block, offset=origin, strides=tuple(strides))


def positions(random: np.random.Generator, shape: tuple[int, ...], count: int = 17) -> tuple[Any, tuple[Any, ...]]:
    """Random places in an array: as Slang wants them, last axis first, and as NumPy does."""
    places = tuple(random.integers(0, n, count).astype(np.int32) for n in shape)
    return (places[0] if len(shape) == 1 else np.stack(places[::-1], -1)), places


def everywhere(random: np.random.Generator, shape: tuple[int, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Every place in an array once, in random order."""
    order = random.permutation(math.prod(shape))
    places = tuple(a.astype(np.int32) for a in np.unravel_index(order, shape))
    return (places[0] if len(shape) == 1 else np.stack(places[::-1], -1)), places


def particles(module: Any, random: np.random.Generator, shape: tuple[int, ...]) -> Any:
    array = np.zeros(shape, module.Particle.dtype)
    array["at"] = random.random((*shape, 3))
    array["id"] = random.integers(0, 99, shape)
    array["weight"] = random.integers(0, 99, shape)
    return array
