"""The arguments of a program: their numbers, and how they are passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tests.fuzz.program import Arg, Program
from tests.fuzz.uploads import as_texture, way
from tests.fuzz.values import SCALARS, TEXTURE, Val, is_float, make

CALLS = 2  # the first call, and one with other numbers and extents


def numbers(arg: Arg, place: int, program: Program, call: int) -> Any:
    """What the argument holds in a call: the axes of its grid, then its components."""
    random = np.random.default_rng([program.seed, arg.seed, place, call])
    grid = arg.shape(program.sizes[call])
    shape = grid
    if arg.layout == "repeated" and grid:
        shape = (1, *grid[1:])
    shape = shape + arg.comp
    dtype = SCALARS.get(arg.scalar, np.float32)
    if arg.scalar == "bool":
        found = random.integers(0, 2, shape).astype(dtype)
    elif is_float(arg.scalar) or arg.scalar == "Ray":
        if arg.data == "rough":
            found = (random.standard_normal(shape) * 2).astype(dtype)
        elif arg.data == "unit":
            found = random.uniform(-0.9, 0.9, shape).astype(dtype)
        elif arg.data == "positive":
            found = (random.integers(1, 17, shape) / 4).astype(dtype)
        elif arg.data == "large":
            found = (random.integers(-4000, 4001, shape) / 8).astype(dtype)
        else:
            found = (random.integers(-12, 13, shape) / 4).astype(dtype)
            if arg.data == "special":
                chosen = random.integers(0, 6, shape)
                found = np.where(chosen < 3, np.asarray([np.nan, np.inf, -np.inf], dtype)[np.minimum(chosen, 2)], found).astype(
                    dtype
                )
    else:
        info = np.iinfo(dtype)
        if arg.data == "large":
            reach = min(int(info.max), 1 << {1: 6, 2: 13, 4: 24, 8: 50}[info.bits // 8])
            found = random.integers(-reach if info.min else 0, reach, shape).astype(dtype)
            if not info.min:
                found = (found + np.asarray(info.max // 2, dtype)).astype(dtype)
        elif arg.data == "positive":
            found = random.integers(1, 7, shape).astype(dtype)
        else:
            found = random.integers(-9 if info.min else 0, 10, shape).astype(dtype)
    return np.broadcast_to(found, grid + arg.comp) if arg.layout == "repeated" and grid else np.asarray(found)


def meant(program: Program, call: int) -> list[Val]:
    """The arguments as values."""
    found = []
    for i, arg in enumerate(program.args):
        weak = arg.passed in ("number", "list")
        scalar = "float" if arg.scalar == "Ray" else arg.scalar
        made = make(scalar, arg.comp, numbers(arg, i, program, call), weak=weak)
        made.scalar, made.arrives = arg.scalar, way(arg)
        found.append(made)
    return found


def given(program: Program, call: int, module: Any) -> list[Any]:
    """The arguments as they are passed."""
    return [passed(arg, numbers(arg, i, program, call), module) for i, arg in enumerate(program.args)]


def passed(arg: Arg, array: Any, module: Any) -> Any:
    """`array` in the container of the argument, lying as it should."""
    import fusepy as fp

    device = module.device
    if arg.scalar == "Ray":
        rays = as_rays(array, module)
        load = (lambda a: fp.Tensor.from_numpy(device, a, dtype=module.Ray)) if arg.passed == "tensor" else (lambda a: a)
        return laid(rays, arg.layout, len(arg.dims), load)

    if arg.passed == "number":
        return array.item()
    if arg.passed == "list":
        return array.tolist()
    axes = len(arg.dims)
    if arg.passed == TEXTURE and axes:
        return as_texture(arg, array, device)
    if arg.passed in ("tensor", TEXTURE):
        return laid(array, arg.layout, axes, lambda a: fp.Tensor.from_numpy(device, a, dtype=arg.type))
    if arg.passed == "torch":
        import torch

        made = laid(array, arg.layout if arg.layout in ("F", "strided", "shifted") else "C", axes, torch.from_numpy)
    else:
        made = laid(array, arg.layout, axes, lambda a: a)
    return fp.vcast(made, arg.type) if arg.comp else made


def as_rays(array: Any, module: Any) -> Any:
    """Numbers as structs: three of `at`, then `t`; an `id` that says nothing."""
    rays = np.zeros(array.shape[:-1], module.Ray.dtype)
    rays["at"], rays["t"], rays["id"] = array[..., :3], array[..., 3], 7
    return rays


def contiguous(array: Any) -> Any:
    """A copy in C order; NumPy's own function gives an array without axes one."""
    return np.array(array, order="C")


def laid(array: Any, layout: str, axes: int, load: Any) -> Any:
    """What `load` makes of an array that holds these numbers somewhere, seen so that they are `array`."""
    if not axes or not array.size:
        return load(contiguous(array))
    if layout == "F":
        order = (*reversed(range(axes)), *range(axes, array.ndim))
        turned = load(contiguous(np.transpose(array, order)))
        if hasattr(turned, "permute"):
            return turned.permute(order)
        return np.transpose(turned, order) if isinstance(turned, np.ndarray) else turned.transpose(tuple(reversed(range(axes))))
    axis = axes - 1
    if layout == "strided":
        index = (*(slice(None),) * axis, slice(0, None, 2))
        holder = np.full((*array.shape[:axis], 2 * array.shape[axis], *array.shape[axis + 1 :]), 77).astype(array.dtype)
    elif layout == "shifted":
        index = (*(slice(None),) * axis, slice(1, None))
        holder = np.full((*array.shape[:axis], 1 + array.shape[axis], *array.shape[axis + 1 :]), 77).astype(array.dtype)
    elif layout == "reversed":
        return load(contiguous(array[::-1]))[::-1]
    elif layout == "repeated":
        one = load(contiguous(array[:1]))
        if isinstance(one, np.ndarray):
            return np.broadcast_to(one, array.shape)
        return one.broadcast_to(*array.shape[:axes])
    else:
        return load(contiguous(array))
    holder[index] = array
    return load(holder)[index]


def of_tensors(program: Program, values: Sequence[Val]) -> Program:
    """Returns a program with vectors on tensors: as a NumPy array, list or torch array a vector is numbers, as in eager calls."""
    if not any(value.comp for value in values):
        return program
    args = [replace(a, passed="tensor") if a.passed in ("numpy", "torch", "list") else a for a in program.args]
    return replace(program, args=args)


def container(program: Program) -> str:
    """What the results of the program are handed out as."""
    kinds = {"tensor" if a.passed == TEXTURE else a.passed for a in program.args}
    kinds |= {"tensor" for step in program.steps if step.attrs.get("form") == "tensor" and not kinds & {"torch", "numpy", "list"}}
    return next((k for k in ("tensor", "torch", "numpy", "list") if k in kinds), "number")
