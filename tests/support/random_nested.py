"""Random nested arguments: a struct's fields in any Python form and from any container, with what they mean in NumPy."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import fusepy as fp

SOURCE = """
struct Ray { float3 position; float3 direction; };
struct Mixed { half h; int i; bool b; double d; uint8_t u; float2x3 m; float arr[3]; int2 cell; half3 hhh; };
struct Sphere { Ray axis; float radius; Mixed mixed; };

Ray keep(Ray s, float t) { s.position += t; return s; }
Mixed keep(Mixed s, float t) { s.d += t; return s; }
Sphere keep(Sphere s, float t) { s.radius += t; return s; }
void change(inout Sphere s, float t) { s.radius += t; s.axis.position *= 2; s.mixed.i += 1; s.mixed.h = -s.mixed.h; }
void make(float3 p, float t, out Ray ray) { ray.position = p; ray.direction = p * t; }
float3 at(Ray ray, float t) { return ray.position + t * ray.direction; }
"""


class Member(NamedTuple):
    """A leaf of a struct: the Slang type, the NumPy dtype, the shape of its components, and their names if it is a vector."""

    type: str
    dtype: Any
    shape: tuple[int, ...] = ()

    @property
    def components(self) -> str:
        return "xyzw"[: self.shape[0]] if self.type[-1].isdigit() and len(self.shape) == 1 else ""


F3 = Member("float3", np.float32, (3,))
RAY: dict[str, Any] = {"position": F3, "direction": F3}
MIXED: dict[str, Any] = {
    "h": Member("half", np.float16),
    "i": Member("int", np.int32),
    "b": Member("bool", np.bool_),
    "d": Member("double", np.float64),
    "u": Member("uint8_t", np.uint8),
    "m": Member("float2x3", np.float32, (2, 3)),
    "arr": Member("array", np.float32, (3,)),
    "cell": Member("int2", np.int32, (2,)),
    "hhh": Member("half3", np.float16, (3,)),
}
SPHERE: dict[str, Any] = {"axis": RAY, "radius": Member("float", np.float32), "mixed": MIXED}
STRUCTS = {"Ray": RAY, "Mixed": MIXED, "Sphere": SPHERE}


class Plain:
    """An object with attributes."""

    def __init__(self, **fields: Any):
        self.__dict__.update(fields)
        self._private = "not read"


def slotted(**fields: Any) -> Any:
    made = type("Slotted", (), {"__slots__": (*fields, "_private")})()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


FORMS: dict[str, Any] = {
    "dict": dict,
    "object": Plain,
    "dataclass": lambda **f: make_dataclass("Data", list(f), frozen=True)(**f),
    "NamedTuple": lambda **f: NamedTuple("Named", [(n, Any) for n in f])(**f),  # type: ignore[misc]
    "slots": slotted,
}


@dataclass
class Argument:
    """A nested argument, and the array that each path below it stands for, batch axes first."""

    value: Any
    leaves: dict[str, Any]


class Drawn:
    """Draws arguments over one grid, of which each leaf has a part."""

    def __init__(self, draw: st.DrawFn, grid: tuple[int, ...], mapped: bool):
        self.draw = draw
        self.grid = grid
        self.mapped = mapped  # say the dimensions of every leaf with vmap, in any order
        self.random = np.random.default_rng(draw(st.integers(0, 999)))
        self.leaves: dict[str, Any] = {}

    def struct(self, module: Any, name: str, fields: dict[str, Any], path: str) -> Any:
        """A struct as a structured array or tensor, or from its fields."""
        way = self.draw(st.sampled_from(["fields"] * 6 + ["array", "tensor"] + ["vcast"] * (name == "Ray")))
        if way == "fields":
            order = self.draw(st.permutations(list(fields)))
            made = {f: self.field(module, fields[f], f"{path}.{f}") for f in order}
            named = self.draw(st.integers(0, 4)) == 0
            return FORMS[self.draw(st.sampled_from(list(FORMS)))](**made) if not named else {"_type": name, **made}
        batch, wrap = self.batch()
        if way == "vcast":
            numbers = self.numbers(Member("float", np.float32, (2, 3)), batch)
            self.leaves[f"{path}.position"] = self.spread(numbers[..., 0, :], wrap)
            self.leaves[f"{path}.direction"] = self.spread(numbers[..., 1, :], wrap)
            given = numbers if self.draw(st.booleans()) else numbers.reshape(*batch, 6)
            return wrap(fp.vcast(self.placed(given), getattr(module, name)))
        whole = np.zeros(batch, getattr(module, name).dtype)
        self.fill(fields, whole, path, wrap)
        return wrap(fp.Tensor.from_numpy(module.device, whole, getattr(module, name)) if way == "tensor" else whole)

    def fill(self, fields: dict[str, Any], whole: Any, path: str, wrap: Any) -> None:
        for name, member in fields.items():
            if isinstance(member, Member):
                numbers = self.numbers(member, whole.shape)
                whole[name] = numbers
                self.leaves[f"{path}.{name}"] = self.spread(numbers, wrap)
            else:
                self.fill(member, whole[name], f"{path}.{name}", wrap)

    def field(self, module: Any, member: Any, path: str) -> Any:
        if not isinstance(member, Member):
            return self.struct(module, next(n for n, f in STRUCTS.items() if f is member), member, path)
        if member.components and self.draw(st.integers(0, 2)) == 0:
            form = FORMS[self.draw(st.sampled_from(list(FORMS)))]
            scalar = Member(member.type[:-1], member.dtype)
            order = self.draw(st.permutations(member.components))
            made = form(**{c: self.leaf(module, scalar, f"{path}.{c}") for c in order})
            parts = np.broadcast_arrays(*(self.leaves.pop(f"{path}.{c}") for c in member.components))
            self.leaves[path] = np.stack(parts, -1)
            return made
        return self.leaf(module, member, path)

    def leaf(self, module: Any, member: Member, path: str) -> Any:
        batch, wrap = self.batch()
        numbers = self.numbers(member, batch)
        self.leaves[path] = self.spread(numbers, wrap)
        ways = ["array", "tensor"]
        ways += ["list"] if np.shape(numbers) and 0 not in np.shape(numbers) else []
        ways += ["number"] * 4 if not np.shape(numbers) else []
        ways += ["typed"] if member.components and member.type != "half3" else []
        way = self.draw(st.sampled_from(ways))
        if way == "number":
            return numbers.item()
        if way == "list":
            return wrap(numbers.tolist())
        if way == "typed":
            return wrap(fp.Tensor.from_numpy(module.device, numbers, getattr(module, member.type)))
        return wrap(self.placed(numbers, way == "tensor"))

    def placed(self, numbers: Any, tensor: bool | None = None) -> Any:
        """An array, or a tensor of the same numbers; now and then with strides of its own."""
        if self.draw(st.integers(0, 3)) == 0 and numbers.ndim > 1:
            numbers = np.ascontiguousarray(numbers[::-1])[::-1]
        if self.draw(st.booleans()) if tensor is None else tensor:
            return fp.Tensor.from_numpy(fp.default_device(), numbers)
        return numbers

    def batch(self) -> tuple[tuple[int, ...], Any]:
        """The batch axes of a leaf, and what is said about them."""
        rank = len(self.grid)
        if self.mapped:
            dims = tuple(self.draw(st.permutations(range(rank))))[: self.draw(st.integers(0, rank))]
            return tuple(self.grid[d] for d in dims), _Wrap(dims)
        kept = self.draw(st.integers(0, rank))
        whole = self.grid[rank - kept :]
        return tuple(1 if self.draw(st.integers(0, 5)) == 0 else n for n in whole), _Wrap(None)

    def numbers(self, member: Member, batch: tuple[int, ...]) -> Any:
        low = 0 if np.dtype(member.dtype).kind in "ub" else -8
        high = 2 if member.dtype is np.bool_ else 9
        drawn = self.random.integers(low, high, batch + member.shape)
        return (drawn / 4 if np.dtype(member.dtype).kind == "f" else drawn).astype(member.dtype)

    def spread(self, numbers: Any, wrap: _Wrap) -> Any:
        """A leaf along the grid, its batch axes where they were mapped to."""
        if wrap.dims is None:
            return numbers
        order = sorted(range(len(wrap.dims)), key=lambda axis: wrap.dims[axis])  # type: ignore[index]
        moved = np.transpose(numbers, [*order, *range(len(order), numbers.ndim)])
        return moved[tuple(slice(None) if d in wrap.dims else None for d in range(len(self.grid)))]


class _Wrap:
    def __init__(self, dims: tuple[int, ...] | None):
        self.dims = dims

    def __call__(self, value: Any) -> Any:
        return value if self.dims is None else fp.vmap(value, self.dims)


class Program(NamedTuple):
    """A call of ``keep`` or ``at``."""

    struct: str
    value: Any
    leaves: dict[str, Any]
    t: Any
    at: Any  # t along the grid
    how: str


def programs(module: Any) -> st.SearchStrategy[Program]:
    @st.composite
    def drawn(draw: st.DrawFn) -> Program:
        mapped = draw(st.integers(0, 2)) == 0
        grid = draw(st.sampled_from([(), (5,), (2, 3), (4, 5), (3, 2, 4)]))
        name = draw(st.sampled_from([*STRUCTS, "Ray"]))
        made = Drawn(draw, grid, mapped)
        value = made.struct(module, name, STRUCTS[name], "s")
        whole = mapped or draw(st.booleans())  # the other argument runs along all of the grid, so that all of it has extents
        numbers = made.numbers(Member("float", np.float32), grid if whole else ())
        t: Any = fp.vmap(numbers, tuple(range(len(grid)))) if mapped and grid else numbers if whole else numbers.item()
        how = draw(st.sampled_from(["eager", "fused", "by name"] + ["declared"] * (not mapped)))
        return Program(name, value, made.leaves, t, numbers, how)

    return drawn()


def expected(leaves: dict[str, Any], fields: dict[str, Any], dtype: Any, shape: tuple[int, ...], path: str = "s") -> Any:
    """The struct array that the leaves make over a grid of this shape."""
    whole = np.zeros(shape, dtype)
    for name, member in fields.items():
        below = f"{path}.{name}"
        whole[name] = leaves[below] if isinstance(member, Member) else expected(leaves, member, dtype[name], shape, below)
    return whole


def grid_of(leaves: dict[str, Any], fields: dict[str, Any], t: Any, path: str = "s") -> tuple[int, ...]:
    """What the batch axes of all leaves broadcast to."""
    shapes = [np.shape(t)]
    for name, member in fields.items():
        if isinstance(member, Member):
            array = leaves[f"{path}.{name}"]
            shapes.append(array.shape[: array.ndim - len(member.shape)])
        else:
            shapes.append(grid_of(leaves, member, t, f"{path}.{name}"))
    return np.broadcast_shapes(*shapes)


class Writable(Drawn):
    """Draws arguments of `change`: leaves are arrays and tensors over the whole grid, which are written, or constants."""

    def __init__(self, draw: st.DrawFn, grid: tuple[int, ...]):
        super().__init__(draw, grid, mapped=False)
        self.targets: dict[str, Any] = {}

    def struct(self, module: Any, name: str, fields: dict[str, Any], path: str) -> Any:
        way = self.draw(st.sampled_from(["fields"] * 4 + ["array", "tensor"] + ["vcast"] * (name == "Ray")))
        if way == "fields":
            order = self.draw(st.permutations(list(fields)))
            return FORMS[self.draw(st.sampled_from(list(FORMS)))](
                **{f: self.field(module, fields[f], f"{path}.{f}") for f in order}
            )
        whole = np.zeros(self.grid, getattr(module, name).dtype)
        self.fill(fields, whole, path, _Wrap(None))
        if way == "vcast":
            flat = np.ascontiguousarray(whole).view(np.float32).reshape(*self.grid, 2, 3)
            self.keep(fields, path, flat, lambda f: flat[..., list(fields).index(f), :])
            return fp.vcast(flat, getattr(module, name))
        made: Any = fp.Tensor.from_numpy(module.device, whole, getattr(module, name)) if way == "tensor" else whole
        self.keep(fields, path, made, lambda f: np.asarray(made)[f])
        return made

    def keep(self, fields: dict[str, Any], path: str, made: Any, read: Any) -> None:
        for name, member in fields.items():
            if isinstance(member, Member):
                self.targets[f"{path}.{name}"] = lambda name=name: read(name)
            else:
                self.keep(member, f"{path}.{name}", made, lambda f, name=name: read(name)[f])

    def leaf(self, module: Any, member: Member, path: str) -> Any:
        if self.draw(st.integers(0, 2)) == 0:
            numbers = self.numbers(member, ())
            self.leaves[path] = numbers
            return numbers.tolist()
        numbers = self.numbers(member, self.grid)
        self.leaves[path] = numbers.copy()
        made: Any = fp.Tensor.from_numpy(module.device, numbers) if self.draw(st.booleans()) else numbers
        self.targets[path] = lambda: np.asarray(made)
        return made


class Change(NamedTuple):
    value: Any
    leaves: dict[str, Any]  # before the call
    targets: dict[str, Any]  # what reads a leaf that is written, by path; components of vectors have paths of their own
    t: Any


def changes(module: Any) -> st.SearchStrategy[Change]:
    @st.composite
    def drawn(draw: st.DrawFn) -> Change:
        grid = draw(st.sampled_from([(5,), (2, 3)]))
        made = Writable(draw, grid)
        value = made.struct(module, "Sphere", SPHERE, "s")
        return Change(value, made.leaves, made.targets, made.numbers(Member("float", np.float32), grid))

    return drawn()


def changed(leaves: dict[str, Any], path: str, t: Any) -> Any:
    """What `change` leaves at a path."""
    array = np.asarray(leaves[path])
    if path == "s.radius":
        return array + t
    if path == "s.axis.position":
        return array * 2
    if path == "s.mixed.i":
        return array + 1
    return -array if path == "s.mixed.h" else array
