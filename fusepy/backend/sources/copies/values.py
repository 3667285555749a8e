"""Types of values in the text of modules: which are arrays, vectors and matrices, and which functions change their arguments."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from fusepy.backend.sources.declarations import NO_TYPES, closing, parameters_in

T = TypeVar("T")
_TYPE = r"[A-Za-z_]\w*(?:\s*::\s*\w+)*(?:\s*<[\w\s,:<>.*+-]*>)?"
_DIMS = r"(?:\s*\[[^\[\];{}]*\])*"
_NAMED = re.compile(rf"\s*([A-Za-z_]\w*)({_DIMS})\s*(?=[=,;):]|\Z)(?!==)")
_DECLARED = re.compile(rf"(?<![.\w])({_TYPE})({_DIMS})(?:\s+|(?<=[>\]]))(?=[A-Za-z_]\w*{_DIMS}\s*[=,;):](?!=))")
_TURNED = re.compile(rf"(?<![.\w?])([A-Za-z_]\w*)\s*:\s*({_TYPE})({_DIMS})\s*(?=[=,;)])")  # func f(x : float[4])
_INFERRED = frozenset(("var", "let", "auto"))
_STRUCT = re.compile(r"\b(?:struct|class)\s+(\w+)\s*(?:<([^{};()]*)>)?\s*(:[^{};]*)?(\{)")
_INNER = re.compile(r"\{[^{}]*\}")
_NAMES = re.compile(
    r"\btypealias\s+(?P<a>\w+)\s*=\s*(?P<b>[\w<>,\s]+?)\s*;|\btypedef\s+(?P<d>[\w<>,\s]+?)\s+(?P<c>\w+)\s*;"
    r"|^[ \t]*#[ \t]*define[ \t]+(?P<e>\w+)[ \t]+(?P<f>\w+)[ \t]*$",
    re.M,
)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(", re.M)
_OUT = re.compile(r"\b(?:out|inout|ref|__ref)\b")
_CHANGING = re.compile(rf"\b(\w+)\s*(?:<[^;(){{}}]*>\s*)?\((?=(?:[^(){{}};]|\([^()]*\))*?{_OUT.pattern})")
_MUTATING = re.compile(r"\[\s*mutating\s*\][^;{}()]*?\b(\w+)\s*(?:<[^;(){}]*>\s*)?\(")
_RETURNS = re.compile(rf"(?<![.\w])({_TYPE})({_DIMS})(?:\s+|(?<=[>\]]))(\w+)\s*(?:<[^;(){{}}]*>\s*)?\(")
_BUILTIN = re.compile(r"(float|half|double)(?:([1-4])|([1-4])x([1-4]))?\Z")
_GENERIC = re.compile(r"(\w+)\s*<(.*)>\Z", re.S)
_CONSTRAINED = r"[<,]\s*%s\s*:"
_ANY: Collection[int] = range(64)
_OF_SLANG: Mapping[str, Collection[int]] = dict.fromkeys(("sincos", "modf", "frexp", "asuint", "GetDimensions"), _ANY)


class Ranked(NamedTuple):
    """A type: its name, which is ``?`` for a generic type of a struct, and how many arrays are around it."""

    name: str
    rank: int = 0


@dataclass(frozen=True)
class Values:
    """Types and functions that texts declare which are used together.

    Attributes:
        members: the types of the members of structs.
        derived: structs that name an interface, which may be `IDifferentiable`.
        aliases: other names of types.
        changed: the places of the arguments that functions and macros may change.
        mutating: methods that may change their object.
        returned: the types that functions return.
    """

    members: Mapping[str, Mapping[str, Ranked]] = field(default_factory=dict[str, Mapping[str, Ranked]])
    derived: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    changed: Mapping[str, Collection[int]] = field(default_factory=lambda: dict(_OF_SLANG))
    mutating: frozenset[str] = frozenset()
    returned: Mapping[str, Ranked] = field(default_factory=dict[str, Ranked])

    @staticmethod
    def of(texts: Iterable[str], defines: Iterable[tuple[str, str]] = ()) -> Values:
        """Returns what texts without comments declare. A name that means two things is not known.

        Example:
            >>> made = Values.of(["struct S : IDifferentiable { float w[4]; } void f(inout float x) { }"])
            >>> made.members["S"]["w"], made.changed["f"]
            (Ranked(name='float', rank=1), {0})
        """
        members = defaultdict[str, list[Mapping[str, Ranked]]](list)
        aliases = defaultdict[str, list[str]](list)
        returned = defaultdict[str, list[Ranked]](list)
        derived, mutating, changed = set[str](), set[str](), dict[str, Collection[int]](_OF_SLANG)
        for name, of in defines:
            aliases[name].append(of)
        for text in texts:
            for m in _STRUCT.finditer(text):
                members[m[1]].append(_members(text[m.start(4) + 1 : closing(text, m.start(4))], m[2] or ""))
                derived |= {m[1]} if m[3] else set()
            for m in _NAMES.finditer(text):
                aliases[m["a"] or m["c"] or m["e"]].append(m["b"] or m["d"] or m["f"])
            for m in _RETURNS.finditer(text):
                if m[1] not in NO_TYPES:
                    returned[m[3]].append(Ranked(m[1], m[2].count("[")))
            for m in _CHANGING.finditer(text):
                places = {i for i, part in enumerate(parameters_in(text, m.end())) if _OUT.search(part)}
                changed[m[1]] = {*changed.get(m[1], ()), *places}
            mutating.update(_MUTATING.findall(text))
        changed |= dict.fromkeys((name for text in texts for name in _MACRO.findall(text)), _ANY)
        return Values(_one(members), frozenset(derived), _one(aliases), changed, frozenset(mutating), _one(returned))

    def element(self, of: Ranked, scalars: Collection[str], generics: str) -> tuple[Ranked, bool] | None:
        """Returns the type of an element of a value, and whether it may have a gradient; ``None`` if it has no known elements.

        Args:
            scalars: the names of floating types.
            generics: the text that declares generic parameters.
        """
        name, rank = self.plain(of)
        listed = _GENERIC.match(name)
        args = parameters_in(listed[2]) if listed is not None else []
        if not rank and args and listed is not None and listed[1] in ("vector", "matrix"):
            inner = args[0] if listed[1] == "vector" else f"vector<{', '.join([args[0], *args[2:]])}>"
            return (Ranked(inner), True) if args[0] in scalars else None
        built = _BUILTIN.match(name)
        if built is not None and not rank:
            inner = built[1] + (built[4] or "")
            return None if inner == name else (Ranked(inner), True)
        base = _base(name)
        graded = built is not None or name in scalars or base in ("vector", "matrix", *self.derived)
        graded |= name == "?" or re.search(_CONSTRAINED % re.escape(name), generics) is not None
        return (Ranked(name, rank - 1), graded) if rank else None

    def plain(self, of: Ranked) -> Ranked:
        """Returns a type without its other names. ``Array<T, N>`` is an array as well."""
        name, rank = of
        for _ in range(8):
            listed = _GENERIC.match(name)
            if listed is not None and listed[1] == "Array":
                name, rank = parameters_in(listed[2])[0], rank + 1
            elif name in self.aliases:
                name = self.aliases[name]
        return Ranked(name, rank)

    def members_of(self, of: Ranked) -> Mapping[str, Ranked]:
        """Returns the types of the members of a struct. Other types have none."""
        name, rank = self.plain(of)
        return {} if rank else self.members.get(_base(name), {})

    def result(self, of: Ranked, method: str) -> Ranked | None:
        """Returns what a method of a struct returns."""
        return self.returned.get(method) if self.members_of(of) else None


def _one(found: Mapping[str, list[T]]) -> dict[str, T]:
    """Returns the names that mean one thing."""
    return {name: of[0] for name, of in found.items() if all(other == of[0] for other in of)}


def _base(name: str) -> str:
    """Returns the name of a type without its namespaces and generic arguments."""
    return name.partition("<")[0].rpartition("::")[2].strip()


def variables(text: str, start: int, end: int) -> Iterator[tuple[int, str, Ranked | str]]:
    """Yields the places, names and types of parameters and variables. For ``var x = y`` it yields y in place of a type."""
    for m in _DECLARED.finditer(text, start, end):
        if m[1] in NO_TYPES:
            continue
        at = m.end()
        while (name := _NAMED.match(text, at, end)) is not None:
            last = part(text, name.end(), end)
            of = Ranked(re.sub(r"\s+", " ", m[1]), m[2].count("[") + name[2].count("["))
            yield name.start(1), name[1], text[name.end() + 1 : last].strip() if m[1] in _INFERRED else of
            if text[last : last + 1] != ",":
                break
            at = last + 1
    for m in _TURNED.finditer(text, start, end):
        yield m.start(1), m[1], Ranked(m[2], m[3].count("["))


def part(text: str, at: int, end: int) -> int:
    """Returns the place of the comma, semicolon or bracket that ends a part of a list."""
    depth = 0
    for i in range(at, end):
        c = text[i]
        depth += (c in "([{") - (c in ")]}")
        if depth < 0 or (not depth and c in ",;"):
            return i
    return end


def _members(body: str, generics: str) -> dict[str, Ranked]:
    """Returns the members of a struct. Its generic types that have constraints are ``?``."""
    before = ""
    while before != body:
        body, before = _INNER.sub(";", body), body
    found: dict[str, Ranked] = {}
    for part in body.split(";"):
        if "(" not in part and not re.search(r"\b(?:static|typealias)\b", part):
            found |= {name: of for _, name, of in variables(f"{part};", 0, len(part) + 1) if isinstance(of, Ranked)}
    free = {name for name, of in found.items() if re.search(_CONSTRAINED % re.escape(of.name), f"<{generics}")}
    return {name: Ranked("?", of.rank) if name in free else of for name, of in found.items()}
