"""Comparisons of whole matrices, in the text of user code: what may be one, and how to write it by rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from fusepy.backend.sources.closure import bare

_SCALAR = r"(?:bool|half|float|double|float(?:16|32|64)_t|u?int(?:8|16|32|64)?(?:_t)?)"
_MATRIX = rf"(?:{_SCALAR}[1-4]x[1-4]|matrix\s*<[^<>]*>)"
_SEVERAL = re.compile(rf"(?<=[;{{}}])\s*(?:const\s+)?({_SCALAR}[1-4]?)\s+\w[^;{{}}]*,[^;{{}}]*(?=;)")
_NESTED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|<[^<>,]*,[^<>]*>")
_HAS_MATRIX = re.compile(r"[1-4]x[1-4]\b|\bmatrix\b|##")
_ROWS = re.compile(rf"\b{_MATRIX}\s+(\w+)\b(?!\s*\[)")
_SIMPLE = re.compile(rf"\b(?:{_SCALAR}[1-4]?|vector\s*<[^<>]*>)\s+(\w+)\b")
_DECLARED = re.compile(r"(?:[\w\]]|(?<=\w)>)\s+(\w+)\b")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
_MACRO = re.compile(r"#[ \t]*define[ \t]+(\w+)(?:\([^)\n]*\))?(.*)", re.S)
_NUMBERS = rf"\b(?:{_SCALAR}[1-4]?|(?!bool){_SCALAR}[1-4]x[1-4])\b"
_GENERIC = re.compile(rf"\b\w+\s*<(?=[^<>]*{_NUMBERS})(?:[\s,]|\b\d+\b|{_NUMBERS})*>")
# a member or a global whose type has parameters, as ParameterBlock<Scene> scene
_MEMBER = re.compile(r"\s*(?:(?!(?:return|else|case|do|throw)\b)\w+\s+)*[\w.:]+\s*<[\w\s,.:<>]*>\s+\w+\s*(?:\[\w*\]\s*)*")
_TO_NUMBER = re.compile(rf"(?<![\w.])(?!bool){_SCALAR}[1-4]?\s*\([^()<>=!&|]*\)")
# functions of Slang that give scalars and vectors for scalars and vectors, and those of rays that give them always
_OF_RAYS = (
    "RayT(?:Min|Current)|RayFlags|HitKind|(?:Primitive|Geometry|Instance)Index|InstanceID|(?:World|Object)Ray(?:Origin|Direction)"
)
_OFTEN = rf"(?:min|max|abs|clamp|detach|floor|ceil|round|frac|sqrt|sin|cos|exp|pow|lerp|saturate|dot|cross|length|{_OF_RAYS})\b"
_OF_NUMBERS = re.compile(rf"(?<![\w.:])({_OFTEN})\s*\(\s*(?:1(?:\s*,\s*1)*\s*)?\)(?:\s*\.\s*[xyzw]+\b(?!\s*\())?")
# a declaration of one of these names, not a call: a list of parameters is not followed by ? or && or )
_NAMED_SO = re.compile(rf"[\w>](?<!\breturn)(?<!\belse)\s+({_OFTEN})(?!\s*\([^()]*\)\s*(?:[?)]|&&|\|\|))")
_COMPARED = re.compile(r"(?<![<>-])(?:[<>](?![<>])|[=!]=|!|&&|\|\|)|\b(?:any|all)\s*\(")
_FUNCTION = re.compile(r"\b(\w+)\s*(?:<[^()]*>)?\s*\(")
_TO_BOOL = re.compile(r"\b(?:bool[1-4]x[1-4]|matrix\s*<\s*bool\b[^>]*>)(?:\s*\(|\s*\)|\s+\w+\s*=(?!\s*_rows\s*$))")
_BOOL_ROWS = re.compile(r"\bbool[1-4]x[1-4]\s*\(\s*1(?:\s*,\s*1)+\s*\)")
_TWO = re.compile(r"(^|[(,?:=\[]|&&|\|\||\breturn\b)\s*1\s*(?:[<>]=?|[=!]=|&&|\|\|)\s*1\s*(?=$|[),?:\]]|&&|\|\|)")
_ONE = re.compile(
    r"(?:(?<![\w\s])|(?<=[=|&,?:]\s))\(\s*1\s*\)|!\s*1\b|\b(?:any|all|if|while)\s*\(\s*1\s*\)|\b1\s*(?:[-+*/%^]|&(?!&)|\|(?!\|))\s*1\b"
)


def mentions_matrices(text: str) -> bool:
    """True if a text may declare matrices."""
    return _HAS_MATRIX.search(text) is not None


def reached_words(texts: Sequence[str], called: Collection[str]) -> set[str]:
    """Returns the `called` names, and all words of macros, types and the functions that these reach, in any of the texts.

    Example:
        >>> words = reached_words(["float f() { return g(); } float h() { return k(); }", "float g() { return n(); }"], ["f"])
        >>> sorted(words)
        ['f', 'float', 'g', 'n', 'return']
    """
    plain = [bare(text) for text in texts]
    words = {*called, *re.findall(r"\w+", "\n".join(line for text in plain for line in _DIRECTIVE.findall(text)))}
    blocks = [block for text in plain for block in _blocks(_DIRECTIVE.sub(" ", text))]
    return words.union(*(re.findall(r"\w+", block) for block in _reached(blocks, words)))


def suspicion(text: str, called: Collection[str], about: str = "") -> str | None:
    """Returns the first statement that may compare a whole matrix, in the functions of a text that the `called` ones reach.

    Names say little about types (aliases, `let`, macros), so every comparison counts that may not be of scalars, vectors or rows.

    Args:
        about: other texts of the program, where the matrices may be declared.

    Example:
        >>> suspicion("bool2x2 f(float2x2 m, float x) { return m < x; }", ["f"])
        'return m < x'
        >>> suspicion("bool f(float2x2 m, int i) { return m[i].x < 2; }", ["f"])
    """
    text = bare(text)
    if not mentions_matrices(text) and not mentions_matrices(about):
        return None
    macros = [found for line in _DIRECTIVE.findall(text) if (found := _MACRO.search(line))]
    for macro in macros:
        if _COMPARED.search(macro[2]) or _TO_BOOL.search(macro[2]):
            return " ".join(macro[0].split())
    hidden = {macro[1] for macro in macros}
    own = frozenset(_NAMED_SO.findall(f"{text}\n{bare(about)}"))
    for block in _reached(list(_blocks(_SEVERAL.sub(_one_each, _DIRECTIVE.sub(" ", text)))), called):
        simple = _simple(block, hidden)
        for statement in re.split(r"[;{}]", block.partition("{")[2] if "{" in block else block):
            used = "" if _MEMBER.fullmatch(statement) else _reduced(simple.sub("1", _GENERIC.sub(" ", statement)), own)
            if _COMPARED.search(used) or _TO_BOOL.search(used):
                return " ".join(statement.split())
    return None


def line_of(statement: str, text: str) -> int | None:
    """Returns the line of a text where a statement that `suspicion` returns begins; ``None`` for one of several declared at once.

    Example:
        >>> line_of("return m < x", "bool2x2 f(float2x2 m, float x)\\n{ // m < x\\n return  m\\n < x; }")
        3
    """
    plain = bare(text, in_place=True)
    found = re.search(r"\s+".join(map(re.escape, statement.split())), plain)
    return None if found is None else plain.count("\n", 0, found.start()) + 1


def _one_each(found: re.Match[str]) -> str:
    """Returns a declaration of several scalars or vectors, as ``float a = f(x, y), b``, as one for each."""
    flat = found[0]
    while _NESTED.search(flat):
        flat = _NESTED.sub(lambda inner: "_" * len(inner[0]), flat)
    commas = [-1, *(i for i, sign in enumerate(flat) if sign == ","), len(flat)]
    parts = [found[0][i + 1 : j] for i, j in pairwise(commas)]
    return f"; {found[1]} ".join(parts)


def _simple(block: str, hidden: Collection[str]) -> re.Pattern[str]:
    """Returns a pattern for scalars and vectors in a block: numbers, names declared as nothing else, rows of matrices."""
    counts = Counter(_DECLARED.findall(re.sub(r"\b(?:return|else|case)\b", ";", block)))

    def names(declared: re.Pattern[str]) -> str:
        found = declared.findall(block)
        return "|".join(n for n in set(found) if n not in hidden and counts[n] <= found.count(n)) or "(?!)"

    at, part = r"\s*\[[\w\s+*-]*\]", r"(?:\s*\.\s*\w+\b(?!\s*\())"
    return re.compile(
        rf"\b\d[\w.]*|(?<![.\w])(?:{names(_SIMPLE)})\b(?:{at})*{part}?(?!\s*[(\[.])"
        rf"|(?<![.\w])(?:{names(_ROWS)})\b(?:{at}{part}?|\s*\.\s*_m?\d\d\b)(?!\s*[(.])|\b(?:true|false)\b"
    )


def _reduced(used: str, own: Collection[str]) -> str:
    """Removes comparisons of simple values, written as 1, from a statement; `own` are the user's functions named as Slang's."""
    while True:
        now = _BOOL_ROWS.sub("_rows", _ONE.sub("1", _TWO.sub(r"\1 1 ", _TO_NUMBER.sub(" 1 ", used))))
        now = _OF_NUMBERS.sub(lambda call: call[0] if call[1] in own else "1", now)
        if now == used:
            return used
        used = now


def _blocks(text: str) -> Iterator[str]:
    """Yields the top-level items of a text: declarations, and functions and types with their bodies."""
    start = depth = 0
    for found in re.finditer(r"[{};]", text):
        depth += {"{": 1, "}": -1, ";": 0}[found[0]]
        if depth <= 0 and found[0] != "{":
            yield text[start : found.end()]
            start = found.end()
    yield text[start:]


def _reached(blocks: Sequence[str], called: Collection[str]) -> list[str]:
    """Returns the blocks of the functions that `called` reaches, and all types and namespaces."""
    words, left = set(called), list(blocks)
    found: list[str] = []
    while True:
        now = [b for b in left if not (heads := _heads(b)) or words.intersection(heads)]
        if not now:
            return found
        found += now
        left = [b for b in left if b not in now]
        words.update(word for block in now for word in re.findall(r"\w+", block))


def _heads(block: str) -> list[str]:
    """Returns the possible names of the function in a block, its attributes among them; nothing for types and constants."""
    head, body, _ = block.partition("{")
    return _FUNCTION.findall(head) if body else []


def by_rows(statement: str, text: str) -> str:
    """Returns a hint that rewrites a comparison of matrices by rows, with its own names and operator if they are known.

    Example:
        >>> by_rows("return m >= x", "bool2x2 f(float2x2 m, float x) { return m >= x; }")
        'compare row by row: bool2x2(m[0] >= x, m[1] >= x)'
        >>> by_rows("return m >= x", "bool2x2 f(float2x2 m, float x) { return m >= x; } float3x3 g(float3x3 m) { return m; }")
        'compare row by row: bool2x2(m[0] >= x, m[1] >= x)'
    """
    around = [block for block in _blocks(bare(text)) if statement in " ".join(block.split())]
    declared = {*re.findall(rf"\b{_SCALAR}([1-4]x[1-4])\s+(\w+)\b(?!\s*\[)", "\n".join(around) or text)}
    counts = Counter(name for _, name in declared)
    shapes = {name: shape for shape, name in declared if counts[name] == 1}  # one name may have other shapes elsewhere
    found = re.search(r"(?<![\w.)\]])(\w+)\s*([<>]=?|[=!]=)\s*(\w+)\b(?!\s*[.\[(])", statement)
    among = {shapes[name] for name in (found[1], found[3]) if name in shapes} if found else set[str]()
    if found is None or len(among) != 1:
        return "compare row by row, the first as a[0] < b[0], and build the matrix of bools of what these give"
    shape = among.pop()

    def row(name: str, i: int) -> str:
        return f"{name}[{i}]" if name in shapes else name

    rows = ", ".join(f"{row(found[1], i)} {found[2]} {row(found[3], i)}" for i in range(int(shape[0])))
    return f"compare row by row: bool{shape}({rows})"
