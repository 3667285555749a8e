"""A stand-in for Slang: `FakeOracle` reads the declarations in `SOURCE` and answers by Slang's conversion rules.

`SOURCE` is real Slang, so that ``tests/backend/slang/test_oracle.py`` can hold the fake to the compiler's own answers.
`FUNCTIONS` has the meaning of each function in NumPy, as `fusepy.ir.interpret` wants it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fusepy.errors import UnknownNameError, did_you_mean
from fusepy.ir.ops.promotion import promote
from fusepy.ir.oracle import IN, INOUT, THIS, Answer, Layout, Param, Signature, StructMember
from fusepy.ir.types import VOID, Kind, Type

# one declaration a line, continued behind a backslash: that is all the grammar that the fake knows
SOURCE = """
public struct Ray { public float3 origin; public float3 dir; public double tmax; public half weight; \
    public float3 ahead(float t) { return origin + t * dir; } \
    public float cast(float t) { return t; } \
    public float cast(float3 v) { return (v.x + v.y) + v.z; } \
    [mutating] public float move(float t) { origin = origin + t * dir; return t; } \
    public static Ray aim(float3 o, float3 d) { return make_ray(o, d); } };
public struct Sphere { public Ray axis; public float radius; public bool solid; };
public interface IShape { float area(); };
public struct Disc : IShape { public float radius; public float area() { return 3.0 * radius * radius; } };
public struct Scene { public IShape shape; public float gain; };
public float3 exposure(float3 c, float gain) { return c * gain; }
public float luma(float3 c) { return (c.x + c.y) + c.z; }
public float3 transform(float3x3 m, float3 v) { return mul(m, v); }
public float scale(float x, float k = 2.0) { return x * k; }
public float plus(float a, float b) { return a + b; }
public int plus(int a, int b) { return a + b; }
public float norm(float x) { return abs(x); }
public float norm(float3 x) { return (abs(x.x) + abs(x.y)) + abs(x.z); }
public T same<T>(T x) { return x; }
public T pick<T>(T a, T b, bool second) { return second ? b : a; }
public T total<T : IArithmetic>(T a, T b) { return a + b; }
public void split(float v, out float whole, out float rest) { whole = floor(v); rest = v - whole; }
public float bump(inout float v, float by) { float old = v; v = v + by; return old; }
public void note(float v) { }
public float3 at(Ray r, float t) { return r.origin + t * r.dir; }
public Ray make_ray(float3 o, float3 d) { Ray r; r.origin = o; r.dir = d; r.tmax = 0; r.weight = half(1); return r; }
public double twice(double x) { return x + x; }
public half small(half x) { return x; }
public int2 coord(int2 p) { return p; }
public bool flip(bool b) { return !b; }
public uint bits(uint b) { return b; }
public float sum4(float[4] a) { return (a[0] + a[1]) + (a[2] + a[3]); }
public float fetch(Ptr<float> p, int i) { return p[i]; }
public float3 fetch3(Ptr<float3> p, int i) { return p[i]; }
public float3 grade(float3 c, Texture2D<float4> t, SamplerState s, float2 uv) { return c * t.SampleLevel(s, uv, 0).rgb; }
public float3 pick_item(StructuredBuffer<float3> b, int i) { return b[i]; }
public void mark(RWTexture2D<float> t, int2 p, float x) { t[p] = x; }
public float area_of(IShape s) { return s.area(); }
public float lit(Scene s) { return s.shape.area() * s.gain; }
public float area_gen<T : IShape>(T s) { return s.area(); }
"""

RAY = np.dtype(
    {
        "names": ["origin", "dir", "tmax", "weight"],
        "formats": [(np.float32, 3), (np.float32, 3), np.float64, np.float16],
        "offsets": [0, 12, 24, 32],
        "itemsize": 40,
    }
)


def _make_ray(o: Any, d: Any) -> Any:
    rays = np.zeros(np.broadcast_shapes(o.shape, d.shape)[:-1], RAY)
    rays["origin"], rays["dir"], rays["weight"] = o, d, 1
    return rays


def _fetch(p: Any, i: Any, width: int = 1) -> Any:
    # memory has no shape; what is too short repeats, so that every read has an answer
    elements = p.reshape(-1) if width == 1 else np.resize(p, (max(1, p.size // width), width))
    return elements[np.clip(i, 0, len(elements) - 1)]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exposure": lambda c, gain: c * gain[..., None],
    "luma": lambda c: (c[..., 0] + c[..., 1]) + c[..., 2],
    "transform": lambda m, v: np.matmul(m, v[..., None])[..., 0],
    "scale": lambda x, k=2: x * k,
    "plus": lambda a, b: a + b,
    "same": lambda x: x,
    "total": lambda a, b: a + b,
    "split": lambda v: (np.floor(v), v - np.floor(v)),
    "bump": lambda v, by: (v, v + by),
    "note": lambda v: (),
    "at": lambda r, t: r["origin"] + t[..., None] * r["dir"],
    "make_ray": _make_ray,
    "twice": lambda x: x + x,
    "small": lambda x: x,
    "coord": lambda p: p,
    "flip": np.logical_not,
    "bits": lambda b: b,
    "sum4": lambda a: (a[..., 0] + a[..., 1]) + (a[..., 2] + a[..., 3]),
    "fetch": _fetch,
    "fetch3": lambda p, i: _fetch(p, i, 3),
}

_FUNCTION = re.compile(r"(\[mutating\] )?public (static )?(\S+) (\w+)(<\w+(?: : \w+)?>)?\((.*?)\) \{")
_STRUCT = re.compile(r"public struct (\w+)(?: : (\w+))? \{ ((?:public \S+ \w+; )+).*\};")
_INTERFACE = re.compile(r"public interface (\w+)")
_PARAM = re.compile(r"(?:(in|out|inout) )?(\S+) (\w+)( = .*)?")


class _Declared:
    """One overload: what it shows to callers, and what only Slang knows of it."""

    def __init__(self, result: str, generic: str | None, params: str, interfaces: set[str]):
        self.variable = re.split(r"\W+", generic)[1] if generic else None
        self.bound = re.split(r"\W+", generic)[2] if generic and ":" in generic else None
        self.params: list[Param] = []
        self.interface: list[Type | None] = []
        self.optional = 0
        for text in filter(None, params.split(", ")):
            match = _PARAM.fullmatch(text)
            assert match, text
            type = None if match[2] == self.variable else Type.parse(match[2])
            known = type is not None and type.name not in interfaces
            self.params.append(Param(match[3], type if known else None, match[1] or IN))
            self.interface.append(None if known or type is None else type)
            self.optional += match[4] is not None
        self.result = None if result == self.variable else Type.parse(result)

    def take(self, this: Param) -> None:
        """Makes this a method of an object."""
        self.params.insert(0, this)
        self.interface.insert(0, None)


class FakeOracle:
    """Implements `fusepy.ir.oracle.Oracle` from `SOURCE`; every module alias means this one module."""

    settled = None  # every question is asked

    def __init__(self, source: str = SOURCE):
        interfaces = set(_INTERFACE.findall(source))
        self.functions: dict[str, list[_Declared]] = {}
        self.structs: dict[Type, list[tuple[str, Type]]] = {}
        self.bases: dict[Type, str] = {}
        self.interfaces = {Type.parse(name) for name in interfaces}
        self.asked: list[tuple[str, tuple[Type, ...]]] = []
        for line in source.strip().splitlines():
            if struct := _STRUCT.fullmatch(line):
                fields = re.findall(r"public (\S+) (\w+);", struct[3])
                self.structs[Type.parse(struct[1])] = [(name, Type.parse(type)) for type, name in fields]
                self.bases[Type.parse(struct[1])] = struct[2]
                for method in _FUNCTION.finditer(line):
                    found = _Declared(method[3], method[5], method[6], interfaces)
                    if not method[2]:
                        found.take(Param(THIS, Type.parse(struct[1]), INOUT if method[1] else IN))
                    self.functions.setdefault(f"{struct[1]}::{method[4]}", []).append(found)
            elif function := _FUNCTION.match(line):
                found = _Declared(function[3], function[5], function[6], interfaces)
                self.functions.setdefault(function[4], []).append(found)

    def declared(self, module: str, function: str) -> Sequence[Signature]:
        if function not in self.functions:
            raise UnknownNameError(f"module {module!r} has no function {function!r}", hint=did_you_mean(function, self.functions))
        return [Signature(tuple(d.params), d.result) for d in self.functions[function]]

    def resolve(self, module: str, function: str, types: Sequence[Type]) -> Answer | None:
        self.asked.append((function, tuple(types)))
        ranked: list[tuple[int, Answer]] = []
        for overload in self.functions[function]:
            if len(overload.params) - overload.optional <= len(types) <= len(overload.params):
                found = self._specialize(overload, types)
                if found is not None:
                    ranked.append(found)
        best = min((cost for cost, _ in ranked), default=0)
        answers = [answer for cost, answer in ranked if cost == best]
        return answers[0] if len(answers) == 1 else None  # of two equally good ones Slang picks neither

    def diagnose(self, module: str, function: str, types: Sequence[Type]) -> str:
        if self.resolve(module, function, types) is not None:
            return ""
        return f"no overload for '{function}' applicable to arguments of type ({', '.join(map(str, types))})"

    def fields(self, type: Type) -> Sequence[Param] | None:
        if type.kind is Kind.VECTOR:
            return [Param(name, type.element) for name in "xyzw"[: type.shape[0]]]
        found = self.structs.get(type)
        return None if found is None else [Param(name, member) for name, member in found]

    def layout(self, type: Type) -> Layout | None:
        if type not in self.structs:
            return None
        at, alignment, fields = 0, 1, []
        for name, field in self.structs[type]:
            size, align = self._extent(field)
            at = -(-at // align) * align
            fields.append(StructMember(name, field, at))
            at, alignment = at + size, max(alignment, align)
        return Layout(type, at, -(-at // alignment) * alignment, alignment, tuple(fields))

    def array_libraries(self, module: str) -> Sequence[str]:
        return ()

    def price(self, module: str, function: str) -> float | None:
        return None

    def conforms(self, type: Type, interface: Type) -> bool:
        return type is interface or self.bases.get(type) == interface.name

    def conforming(self, interface: Type) -> Sequence[Type] | None:
        return [t for t, base in self.bases.items() if base == interface.name] if interface in self.interfaces else None

    def _extent(self, type: Type) -> tuple[int, int]:
        """Size and alignment in bytes; a bool takes four."""
        layout = self.layout(type)
        if layout is not None:
            return layout.size, layout.alignment
        assert type.dtype is not None, type
        align = 4 if type.dtype.kind == "b" else type.dtype.itemsize
        return align * int(np.prod(type.shape)), align

    def _specialize(self, overload: _Declared, types: Sequence[Type]) -> tuple[int, Answer] | None:
        generic = [t for p, i, t in zip(overload.params, overload.interface, types) if p.type is None and i is None]
        variable = _join(generic) if generic else None
        if generic and (variable is None or not self._meets(variable, overload.bound)):
            return None
        params: list[Param] = []
        cost = 0
        for param, interface, given in zip(overload.params, overload.interface, [*types, *(None,) * overload.optional]):
            want = param.type or interface or variable
            step = 0 if given is None else self._cost(given, want)
            if want is None or step is None or (step and param.direction != IN):  # what is written to must fit exactly
                return None
            cost += step
            params.append(Param(param.name, want, param.direction))
        result = overload.result or variable or VOID
        return cost, Answer(tuple(params), result)

    def _meets(self, type: Type, bound: str | None) -> bool:
        if bound == "IArithmetic":
            return type.is_numeric
        return bound is None or self.conforms(type, Type.parse(bound))

    def _cost(self, have: Type, want: Type | None) -> int | None:
        """What Slang charges for the implicit conversion; ``None`` where there is none. Measured, see the contract test."""
        if want is None or have is want:
            return None if want is None else 0
        if have.is_numeric and want.is_numeric and have.shape == want.shape:
            return _scalar_cost(have, want)
        if have.kind is Kind.SCALAR and want.kind is Kind.VECTOR:
            return _scalar_cost(have, want) + 1
        if have.kind is Kind.SCALAR and want.kind is Kind.MATRIX and (have is want.scalar or have.name == "int"):
            return _scalar_cost(have, want) + 1  # from other scalars a matrix needs an explicit constructor
        return 10 if have.kind is Kind.NAMED and self.conforms(have, want) else None


def _scalar_cost(have: Type, want: Type) -> int:
    source, target = have.scalar, want.scalar
    assert source is not None
    assert target is not None
    assert source.dtype is not None
    assert target.dtype is not None
    if source is target:
        return 0
    if source.is_float:
        return 200 if target.is_float and target.dtype.itemsize > source.dtype.itemsize else 900
    if source.name == "bool":
        return 900 if target.is_float else 150
    if target.is_float or target.name == "bool":
        return 400 if target.is_float else 900
    return 300 if target.dtype.itemsize >= source.dtype.itemsize else 900


def _join(types: Sequence[Type]) -> Type | None:
    """What a type variable becomes that meets several types."""
    if all(t is types[0] for t in types):
        return types[0]
    scalar = promote([(t, False) for t in types])
    shapes = {t.shape for t in types} - {()}
    if scalar is None or len(shapes) > 1 or any(t.kind is Kind.MATRIX for t in types):
        return None
    return next(t for t in types if t.shape).with_scalar(scalar) if shapes else scalar
