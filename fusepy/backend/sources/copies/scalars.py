"""Copies of functions that Slang differentiates wrongly as they are, for kernels of gradients; see `fusepy_scalars`.

A differentiable function passes each scalar parameter through a call, and its own body reads the result under the same name.
Scalars of loops that are factors pass through a call, too. Calls read arrays, vectors and matrices by an index of run time, and
write elements of arrays. Loops whose tests branch are spelled with ``for``. fusepy's `clamp` and `fmod` replace Slang's.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.copies.carried import carried_factors
from fusepy.backend.sources.copies.conditions import branching_tests
from fusepy.backend.sources.copies.elements import compound_writes, element_writes
from fusepy.backend.sources.copies.files import copied, reached
from fusepy.backend.sources.copies.indexed import indexed_reads
from fusepy.backend.sources.copies.values import Values
from fusepy.backend.sources.declarations import closing, functions, parameters_in, spans
from fusepy.backend.sources.source import ModuleSource

_TYPES = ("float", "half", "double")
_ALIAS = re.compile(r"\btypealias\s+(\w+)\s*=\s*(\w+)\s*;|\btypedef\s+(?P<of>\w+)\s+(?P<name>\w+)\s*;")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\w+)[ \t]*$", re.M)
_DEFINED = re.compile(  # any name of a type or macro
    r"\b(?:typealias|associatedtype|struct|class|enum|interface)\s+(\w+)"
    r"|\btypedef\b[^;{}]*?(\w+)\s*;|^[ \t]*#[ \t]*define[ \t]+(\w+)",
    re.M,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[ \t]*define[ \t]+\w+(?:\([^()]*\))?|(?![ \t]*define\b)(?:\\\n|[^\n])*)", re.M)
_MACRO_BODY = re.compile(r"^[ \t]*#[ \t]*define\b(?:\\\n|[^\n])*", re.M)
_MARK = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\\\n|[^\n])*ifferentiable", re.M)
_EXTENDED = re.compile(r"\bextension\s*(?:<[^<>]*>\s*)?(\w+)")
_THIS = re.compile(r"(?<!\+\+)(?<!--)\bthis\b(?!\s*(?:\.|\[|=(?!=)|[-+*/%]=|\+\+|--))(?<![(,]this(?=[,)]))")
_GENERIC = re.compile(r"\b(\w+)\s*:\s*(?:__Builtin\w*Type\s*&\s*)*__BuiltinFloatingPointType\b")
_LIST = re.compile(r"(?:\b(?:struct|class|interface)\s+\w+|\bextension|\b__generic)\s*<([^{}()<>]*)>")
_NAMES = re.compile(r"(?:\A|,)\s*(?:let\s+)?(\w+)")
_TYPE = re.compile(r"[^;{}]*\b(?:struct|class|interface|extension)\b[^;{}()]*(\{)")
_QUOTED = re.compile(r'"(?:\\.|[^"\\\n])*"')
_MENDED = ("clamp", "fmod")
IMPORT = "\n\nimport fusepy_scalars;\n"  # the empty line ends a continued one


@dataclass(frozen=True)
class Words:
    """The meanings of the names in a text.

    Attributes:
        scalars: the names of scalar types.
        mended: the functions of Slang in whose place those of `fusepy_clamp` and `fusepy_fmod` are called.
        marks: macros that stand for ``[Differentiable]``, alone or among other words.
        values: which values have elements.
    """

    scalars: frozenset[str] = frozenset(_TYPES)
    mended: frozenset[str] = frozenset(_MENDED)
    marks: frozenset[str] = frozenset()
    values: Values = field(default_factory=Values)

    @staticmethod
    def of(texts: Iterable[str], defines: Iterable[tuple[str, str]] = ()) -> Words:
        """Returns the names in texts that are used together, without comments.

        Example:
            >>> sorted(Words.of(["typedef float Real; float clamp(float x) { return x; }"]).scalars)
            ['Real', 'double', 'float', 'half']
        """
        texts, defines = list(texts), list(defines)
        pairs = [*defines, *(pair for text in texts for pair in _MACRO.findall(text))]
        pairs += [(m[1] or m["name"], m[2] or m["of"]) for text in texts for m in _ALIAS.finditer(text)]
        times = Counter(name for text in texts for m in _DEFINED.finditer(text) for name in m.groups() if name)
        times.update(name for name, _ in defines)
        scalars = set(_TYPES)
        for _ in pairs:  # one name may stand for another one
            means = Counter(name for name, of in pairs if of in scalars)
            scalars |= {name for name in means if means[name] == times[name]}  # in every place
        own = {name for text in texts if any(word in text for word in _MENDED) for name, _ in functions(text)}
        marks = {name for text in texts for name in _MARK.findall(text)}
        marks |= {name for name, of in pairs if "ifferentiable" in of}
        return Words(frozenset(scalars), frozenset(_MENDED) - own - set(times), frozenset(marks), Values.of(texts, defines))

    def differentiable(self, head: str) -> bool:
        """True if the text before a function says that it is differentiable."""
        return "ifferentiable" in head or any(re.search(rf"\b{mark}\b", head) for mark in self.marks)


def with_scalars(text: str, words: Words = Words()) -> str:
    """Returns the source of a module whose differentiable functions pass their scalar parameters through a call.

    It calls functions of `fusepy_scalars`, `fusepy_clamp` and `fusepy_fmod`, and does not import them.

    Example:
        >>> print(with_scalars("[Differentiable] float3 f(float a, float3 v) { return a * v; }"))
        [Differentiable] float3 f(float a, float3 v) { float fz_p_a = fz_scalar(a); { float a = fz_p_a; { return a * v; }}}
    """
    if not words.differentiable(text):
        return text
    whole = bare(text, in_place=True)
    quoted = _QUOTED.sub(lambda m: f'"{" " * (len(m[0]) - 2)}"', whole)  # a text may hold a single brace
    plain = _DIRECTIVE.sub(_blank, quoted).replace("\\\n", " \n")  # functions that a macro writes are read as others are
    derived = list(_derived(plain, words))
    values = words.values
    again = [c for span, scopes, types, _ in derived for c in compound_writes(plain, span, scopes, types, values)]
    if again:
        return with_scalars(_changed(whole, again), words)
    mended = re.compile(rf"(?<![.:\w])({'|'.join(words.mended) or '(?!)'})(?=\s*\()")
    bodies = [*(m.span() for m in _MACRO_BODY.finditer(quoted))]
    parts = [(*m.span(1), f"fz_{m[1]}") for first, last in bodies for m in mended.finditer(quoted, first, last)]
    for span, scopes, types, found in derived:
        _, opening, end = span
        if found:
            ahead = "".join(f" {type} fz_p_{name} = fz_scalar({name});" for type, name in found)
            behind = "".join(f" {type} {name} = fz_p_{name};" for type, name in found)
            parts += [(opening + 1, opening + 1, f"{ahead} {{{behind} {{"), (end, end, "}}")]
        parts += [(*m.span(1), f"fz_{m[1]}") for m in mended.finditer(plain, opening, end)]
        factors = carried_factors(plain, opening + 1, end, types, [name for _, name in found])
        factors |= _receivers(plain, opening, end, scopes, types)
        parts += [(first, last, f"fz_scalar({plain[first:last]})") for first, last in factors]
        parts += branching_tests(plain, opening, end)
        for changes in (indexed_reads, element_writes):
            parts += changes(plain, span, scopes, types, values)
    return _changed(whole, parts) if parts else text


def _derived(text: str, words: Words) -> Iterator[tuple[tuple[int, int, int], list[str], set[str], list[tuple[str, str]]]]:
    """Yields the differentiable functions of a text: where they, their bodies and their ends are, the heads of the types around
    them, the names of scalar types, and the types and names of parameters that are scalars."""
    around = [(m.start(), closing(text, m.start(1)), m[0]) for m in _TYPE.finditer(text)]
    for name, start, opening, end in spans(text, nested=True):
        head = text[start:opening]
        spelled = r"operator\s*(?:\(\s*\)|[^\w\s(]+)" if name == "operator" else rf"\b{re.escape(name)}"
        *_, called = [None, *re.finditer(rf"{spelled}\s*(?:<([^()]*)>\s*)?\(", head)]
        if called is not None and words.differentiable(head[: called.start()]):
            scopes = [text for first, last, text in around if first < start < last]
            types = _known(words, [*scopes, head], called[1] or "")
            yield (start, opening, end), scopes, types, list(_scalars(parameters_in(head, called.end()), types))


def _changed(text: str, parts: Iterable[tuple[int, int, str]]) -> str:
    """Returns a text with changes: first place, last place, new text."""
    made, at = list[str](), 0
    for place, until, added in sorted(set(parts)):
        made += [text[at:place], added]
        at = until
    return "".join([*made, text[at:]])


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _receivers(text: str, start: int, end: int, scopes: Iterable[str], types: Iterable[str]) -> set[tuple[int, int]]:
    """Returns the places where a method of a scalar, in an extension, reads it as ``this``; not where it may be written."""
    extended = [found[1] for found in map(_EXTENDED.search, scopes) if found is not None]
    return {m.span() for m in _THIS.finditer(text, start, end)} if extended and extended[-1] in types else set()


def _known(words: Words, heads: Iterable[str], own: str) -> set[str]:
    """Returns the names of scalar types below these heads of types and a function. `own` is its list of generic names."""
    found = set(words.scalars)
    for head in heads:
        found -= {name for listed in (*_LIST.findall(head), own) for name in _NAMES.findall(listed)}
        found |= {*_TYPES, *_GENERIC.findall(head)}
    return found


def _scalars(parameters: Iterable[str], types: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yields the types and names of parameters that are scalars and only go in, also as ``func`` spells them."""
    scalar = "|".join(types)
    for parameter in parameters:
        found = re.match(rf"(?:(?:in|const)\s+)*({scalar})\s+([A-Za-z_]\w*)\s*(?:[=:].*)?\Z", parameter, re.S)
        turned = re.match(rf"([A-Za-z_]\w*)\s*:\s*({scalar})\s*(?:=.*)?\Z", parameter, re.S)
        if found is not None:
            yield found[1], found[2]
        elif turned is not None:
            yield turned[2], turned[1]


@functools.lru_cache(maxsize=64)
def scalar_source(source: ModuleSource) -> ModuleSource:
    """Returns a module with the text of `with_scalars`, also in the files of the user that it imports and includes."""
    texts = [source.text, *reached(source).values()]
    words = Words.of(map(bare, texts), source.defines)
    named = [word for word in _MENDED if word in words.mended and any(word in text for text in texts)]
    added = IMPORT + "".join([f"import fusepy_{word};\n" for word in named])  # each takes Slang a while
    return copied(source, lambda text: with_scalars(text, words), added)
