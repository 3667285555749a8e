"""Every hint that fusepy's source can make, as its words with ``{}`` for what is filled in."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import fusepy

ROOT = Path(fusepy.__file__).parent
_MAKERS = re.compile(
    r"hint|advice|^say_|^suggestions$|^by_rows$|^unbuilt$|^did_you_mean$|^environment_problem$|_takes_resource"
)  # functions that give words

_MAY_HAVE = re.compile(rf"(?m)hint|{_MAKERS.pattern.replace('^', 'def ').replace('$', '[(]')}|WIDER")
_ADVICE = re.compile(r"(?!this is a bug of fusepy).*[a-z]{2}", re.S)


@functools.cache
def skeletons() -> dict[str, list[str]]:
    """The words of hints by the file that has them, relative to the package; in a file each once.

    Hints of errors that only a bug of fusepy raises are no advice to a user, and left out: those of `VerifyError`, and texts
    that say that they are of a bug.
    """
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}
    files = {name: [*ast.walk(ast.parse(text))] for name, text in texts.items() if _MAY_HAVE.search(text)}
    taking = {name: at for nodes in files.values() for name, at in _taking_hints(nodes)}
    found = {name: list(dict.fromkeys(s for s in _of(nodes, taking) if _ADVICE.match(s))) for name, nodes in files.items()}
    return {name: words for name, words in sorted(found.items()) if words}


def ledger(file: str = "hints_not_followed.txt") -> dict[str, list[str]]:
    """The lines of a file by the reason that stands above them: the hints that no program follows, if no file is named."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            lines = found.setdefault(line.strip("# "), [])
        elif line:
            lines.append(line)
    return {reason: lines for reason, lines in found.items() if lines}


def patterns() -> dict[str, re.Pattern[str]]:
    """What finds the hints of each skeleton."""
    return {words.replace("\n", " "): pattern(words) for all in skeletons().values() for words in all}


def pattern(skeleton: str) -> re.Pattern[str]:
    """What finds a hint of this skeleton.

    Example:
        >>> bool(pattern("write {}.x").search("or write value.x"))
        True
    """
    return re.compile(".*?".join(map(re.escape, skeleton.split("{}"))), re.S)


def said(hints: Iterable[str], known: Mapping[str, re.Pattern[str]]) -> set[str]:
    """The skeletons that printed hints are made of. Short ones do not count where they are only a part of a longer text."""
    found: set[str] = set()
    for hint in set(hints):
        spans = {words: match.span() for words, of in known.items() if (match := of.search(hint))}
        fixed = [span for words, span in spans.items() if "{}" not in words]
        found |= {
            w for w, (low, high) in spans.items() if not any(a <= low and high <= b and b - a > high - low for a, b in fixed)
        }
    return found


def _taking_hints(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Functions with a parameter that is a hint, and its place among those given by position."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            names = [a.arg for a in node.args.args if a.arg != "self"]
            if "hint" in names and node.name != "__init__":
                yield node.name, names.index("hint")


def _of(nodes: Iterable[ast.AST], taking: dict[str, int]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            for keyword in node.keywords:
                if keyword.arg == "hint" and name != "VerifyError":
                    yield from _words(keyword.value)
            if name in taking and len(node.args) > taking[name]:
                yield from _words(node.args[taking[name]])
        elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any("hint" in ast.unparse(t).lower() or ast.unparse(t) in ("WIDER",) for t in targets):
                yield from _words(node.value)
        elif isinstance(node, ast.FunctionDef) and _MAKERS.search(node.name):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Return) and inner.value is not None:
                    yield from _words(inner.value)
                elif isinstance(inner, ast.Call) and ast.unparse(inner.func) == "hints.append":
                    yield from _words(inner.args[0])


def _words(node: ast.expr) -> Iterator[str]:
    """The texts that an expression may be, those of both sides of a choice or sum by themselves."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = re.sub(r"\{0(![rs])?\}", "\0", node.value)  # what str.format fills in
        yield node.value if text == node.value else text.replace("{{", "{").replace("}}", "}").replace("\0", "{}")
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)
    elif isinstance(node, ast.IfExp):
        yield from (*_words(node.body), *_words(node.orelse))
    elif isinstance(node, ast.BinOp):
        yield from (*_words(node.left), *_words(node.right))
    elif isinstance(node, ast.Tuple):
        yield from (text for part in node.elts for text in _words(part))
    elif isinstance(node, ast.Dict):
        yield from (text for part in node.values for text in _words(part))
