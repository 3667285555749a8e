"""Text to graph: reads what `ir.printer` writes. The grammar is in ``text.lark``, beside this file."""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Sequence
from importlib.resources import files
from typing import Protocol

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr, TerminalDef
from lark.tree import Meta

from fusepy.errors import InvalidNameError, IRSyntaxError, did_you_mean
from fusepy.ir.argmap import ArgMap
from fusepy.ir.containers import CONTAINERS
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.ops import OPS, Op
from fusepy.ir.oracle import Oracle
from fusepy.ir.printer import value_type
from fusepy.ir.types import Type
from fusepy.ir.value import Dims
from fusepy.ir.verify import verify

_Syntax = Tree[Token]
_At = Token | Meta

_SPOKEN = {
    "_NL": "the end of the line",
    "COMMENT": "a comment",
    "VALUE": "a %value",
    "NAME": "a name",
    "OP": "an operation",
    "STRING": 'a "string"',
    "NUMBER": "a number",
    "DIM": "a dimension such as d0",
    "$END": "the end",
}


def parse_graph(text: str, oracle: Oracle | None = None) -> Graph:
    """The graph that `text` spells; the inverse of `print_graph`.

    Types are taken as they are written. With an `oracle`, the graph is also verified, as a traced one.

    Raises:
        IRSyntaxError: naming line and column, with the line and a caret under the place.
        VerifyError: if there is an oracle and a type does not follow from its operands.

    Example:
        >>> g = parse_graph('''
        ... graph @double_it(%x: Tensor<float>[?]) -> (Tensor<float>[?]) {
        ...   %0 = add(%x, %x) : Tensor<float>[?]  // a.py:1
        ...   return %0
        ... }''')
        >>> g.nodes[0].loc
        'a.py:1'
    """
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise _unexpected(text, error) from None
    graph = _Reader(text).start(tree)
    if oracle is not None:
        verify(graph, "traced", oracle)
    return graph


class _Parser(Protocol):
    """What is used of `Lark`, whose own annotations are partly open."""

    terminals: Collection[TerminalDef]

    def parse(self, text: str) -> Tree[Token]: ...


@functools.cache
def _parser() -> _Parser:
    grammar = files("fusepy.ir").joinpath("text.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def _unexpected(text: str, error: UnexpectedInput) -> IRSyntaxError:
    """lark's complaint in our words."""
    wanted: set[str] = set()
    saw, line, column = "", error.line, error.column
    if isinstance(error, UnexpectedToken):
        wanted = set(error.accepts or error.expected)
        token: Token = vars(error)["token"]  # lark declares no type for it
        saw = str(token)
        if token.type == "$END":  # lark gives it the place of the token before
            line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
    elif isinstance(error, UnexpectedCharacters):
        wanted = set(error.allowed or ())
        saw = str(vars(error)["char"])
    literal = {t.name: repr(t.pattern.value) for t in _parser().terminals if isinstance(t.pattern, PatternStr)}
    names = sorted(_SPOKEN.get(name) or literal[name] for name in wanted)
    what = f"unexpected {saw.strip()!r}" if saw.strip() else "unexpected end of the line" if "\n" in saw else "unexpected end"
    return _error(text, line, column, what, hint=f"expected here: {', '.join(names)}")


def _error(text: str, line: int, column: int, what: str, hint: str) -> IRSyntaxError:
    lines = text.split("\n")
    shown = lines[min(max(line, 1), len(lines)) - 1].rstrip("\r")
    # a tab under a tab keeps the caret in its column
    pad = "".join("\t" if c == "\t" else " " for c in shown[: max(column - 1, 0)])
    error = IRSyntaxError(f"line {line}, column {column}: {what}\n    {shown}\n    {pad}^", hint=hint)
    error.lineno, error.offset = line, column
    return error


def _parts(tree: _Syntax, rule: str) -> list[_Syntax]:
    return [c for c in tree.children if isinstance(c, Tree) and c.data == rule]


def _part(tree: _Syntax, rule: str) -> _Syntax | None:
    found = _parts(tree, rule)
    return found[0] if found else None


def _tokens(tree: _Syntax, *kinds: str) -> list[Token]:
    return [c for c in tree.children if isinstance(c, Token) and (not kinds or c.type in kinds)]


class _Reader:
    """Walks lark's tree from the top, so that each graph has its own scope."""

    def __init__(self, text: str):
        self.text = text

    def error(self, at: _At, what: str, hint: str) -> IRSyntaxError:
        return _error(self.text, at.line or 1, at.column or 1, what, hint)

    def start(self, tree: _Syntax) -> Graph:
        modules: dict[str, str] = {}
        for module in _parts(tree, "module"):
            alias = self.symbol(_parts(module, "symbol")[0])
            if alias in modules:
                raise self.error(module.meta, f"module @{alias} is imported twice", "give one of them another alias")
            modules[alias] = self.string(_tokens(module, "STRING")[0])
        return self.graph(_parts(tree, "graph")[0], tuple(modules.items()))

    def graph(self, tree: _Syntax, modules: Sequence[tuple[str, str]] = ()) -> Graph:
        header = _parts(tree, "header")[0]
        scope: dict[str, Value] = {}
        inputs: list[Value] = []
        for syntax in _parts(header, "input"):
            (token,) = _tokens(syntax, "VALUE")
            name = self.string(token, 1) if token[1] == '"' else str(token[1:])
            value = self.value(_parts(syntax, "value")[0], name)
            self.define(scope, token, value)
            inputs.append(value)
        nodes = [self.node(syntax, scope) for syntax in _parts(tree, "node")]
        (returned,) = _parts(tree, "return")
        outputs = [self.use(scope, token) for token in _tokens(returned, "VALUE")]
        self.check_outputs(header, outputs)
        name = self.symbol(_parts(header, "symbol")[0])
        return Graph(name, inputs, nodes, outputs, modules)

    def check_outputs(self, header: _Syntax, outputs: Sequence[Value]) -> None:
        """The header repeats the types of what is returned, for the reader's sake; they must agree."""
        said = _parts(header, "value")
        if len(said) != len(outputs):
            hint = "list one type per returned value after the arrow"
            raise self.error(header.meta, f"{len(said)} result types, but {len(outputs)} values are returned", hint)
        for syntax, value in zip(said, outputs):
            if value_type(self.value(syntax)) != value_type(value):
                hint = f"write {value_type(value)}"
                raise self.error(syntax.meta, "the result type is not that of the returned value", hint)

    def node(self, tree: _Syntax, scope: dict[str, Value]) -> Node:
        (token,) = _tokens(tree, "OP")
        op = OPS.get(token)
        if op is None:
            raise self.error(token, f"unknown operation {str(token)!r}", did_you_mean(str(token), OPS))
        attrs = {**self.callee(tree, op, token), **self.attrs(tree)}
        operands: list[Value] = []
        maps: list[ArgMap] = []
        for syntax in _parts(tree, "operand"):
            operands.append(self.use(scope, _tokens(syntax, "VALUE")[0]))
            maps.append(self.map(syntax))
        names = [t for part in _parts(tree, "results") for t in _tokens(part, "VALUE")]
        types = _parts(tree, "value")
        if len(names) != len(types):
            hint = "after the colon, write one type per result"
            raise self.error(token, f"{len(names)} results with {len(types)} types", hint)
        results = [self.result(syntax) for syntax in types]
        for name, value in zip(names, results):
            self.define(scope, name, value)
        loc = next((str(c[2:]).strip() for c in _tokens(tree, "COMMENT")), "")
        return Node(op, operands, maps, results, attrs, loc or None, [self.graph(body) for body in _parts(tree, "body")])

    def callee(self, tree: _Syntax, op: Op, at: Token) -> dict[str, Attr]:
        callee = _part(tree, "callee")
        if (callee is None) != (op.name != "slang.call"):
            raise self.error(at, "a slang.call, and nothing else, has a callee", "write slang.call @module.function(...)")
        if callee is None:
            return {}
        module, function = (self.symbol(s) for s in _parts(callee, "symbol"))
        return {"module": module, "function": function}

    def define(self, scope: dict[str, Value], token: Token, value: Value) -> None:
        if token in scope:
            raise self.error(token, f"{token} is defined twice", "give each value a name of its own")
        scope[token] = value

    def use(self, scope: dict[str, Value], token: Token) -> Value:
        if token not in scope:
            raise self.error(token, f"{token} is not defined", did_you_mean(str(token), map(str, scope)))
        return scope[token]

    def map(self, tree: _Syntax) -> ArgMap:
        vmap, vcast = _part(tree, "vmap"), _part(tree, "vcast")
        dims = None if vmap is None else tuple(int(t[1:]) for t in _tokens(vmap, "DIM"))
        return ArgMap(dims, None if vcast is None else self.type(_parts(vcast, "type")[0]))

    def result(self, tree: _Syntax) -> Value:
        value = self.value(tree)
        if value.container not in ("", "Tensor"):
            raise self.error(tree.meta, f"a computed value is no {value.container}", "results over a grid are written Tensor")
        return Value(value.type, value.dims, weak=value.weak)

    def value(self, tree: _Syntax, name: str | None = None) -> Value:
        """A fresh value as spelled: ``Tensor<float3>[?,?]``, ``weak float``, ``Ray``."""
        weak = bool(_tokens(tree, "WEAK"))
        syntax = _part(tree, "type")
        if syntax is None:
            (token,) = _tokens(tree, "STRING")
            return Value(self.parse_type(self.string(token), token), (), weak=weak, name=name)
        head, arguments, extents = _tokens(syntax, "NAME")[0], _parts(syntax, "argument"), _parts(syntax, "extents")
        if head in CONTAINERS and len(arguments) == 1 and len(extents) == 1:
            element = self.parse_type(self.source(arguments[0]), arguments[0].meta)
            dims = self.dims(extents[0])
            return Value(element, dims, container=str(head), weak=weak or head == "List", name=name)
        return Value(self.type(syntax), (), weak=weak, name=name)

    def dims(self, tree: _Syntax) -> Dims:
        dims: list[int | None] = []
        for extent in _parts(tree, "extent"):
            (number,) = _tokens(extent) or (None,)
            if number is not None and not number.isdecimal():
                raise self.error(number, f"{number} is no extent", "write a whole number, or ? where the size is open")
            dims.append(None if number is None else int(number))
        return tuple(dims)

    def type(self, tree: _Syntax) -> Type:
        return self.parse_type(self.source(tree), tree.meta)

    def parse_type(self, text: str, at: _At) -> Type:
        try:
            return Type.parse(text)
        except InvalidNameError as error:
            raise self.error(at, error.what, error.hint) from None

    def source(self, tree: _Syntax) -> str:
        return self.text[tree.meta.start_pos : tree.meta.end_pos]

    def attrs(self, tree: _Syntax) -> dict[str, Attr]:
        found: dict[str, Attr] = {}
        for attrs in _parts(tree, "attrs"):
            for attr in _parts(attrs, "attr"):
                (key,) = _tokens(attr, "NAME")
                if key in found:
                    raise self.error(key, f"attribute {str(key)!r} is given twice", "keep one of them")
                (constant,) = (c for c in attr.children if isinstance(c, Tree))
                found[str(key)] = self.constant(constant)
        return found

    def constant(self, tree: _Syntax) -> Attr:
        tokens = _tokens(tree)
        if tree.data == "texts":
            return tuple(self.string(t) for t in tokens)
        if tree.data in ("true", "false"):
            return tree.data == "true"
        (token,) = tokens
        if tree.data == "text":
            return self.string(token)
        if tree.data == "number":
            return int(token) if token.removeprefix("-").isdecimal() else float(token)
        special = self.string(token)
        if special not in ("nan", "inf", "-inf"):
            raise self.error(token, f"float({token}) is no constant", 'write float("nan"), float("inf") or float("-inf")')
        return float(special)

    def symbol(self, tree: _Syntax) -> str:
        (token,) = _tokens(tree)
        return self.string(token) if token.type == "STRING" else str(token)

    def string(self, token: Token, skip: int = 0) -> str:
        try:
            text: str = json.loads(token[skip:])
        except json.JSONDecodeError as error:
            raise self.error(token, f"not a JSON string: {error.msg}", "escape as JSON does") from None
        return text
