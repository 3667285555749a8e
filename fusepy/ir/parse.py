"""Parser from text to graph: the inverse of `ir.printer`, on the syntax tree of `ir.grammar.syntax`."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.errors import InvalidNameError, VerifyError, did_you_mean
from fusepy.ir.argmap import ArgMap
from fusepy.ir.arrivals import ARRIVALS
from fusepy.ir.grammar.syntax import At, SourceText, Syntax, Token, Tree, numbers, part, parts, read, tokens
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.ops import OPS, Op
from fusepy.ir.ops.folds import Fold
from fusepy.ir.ops.region import RegionSpec, ResultSpec, StoredInto
from fusepy.ir.oracle import Oracle
from fusepy.ir.printer import value_type
from fusepy.ir.types import Type
from fusepy.ir.value import Dims
from fusepy.ir.verify import verify


def parse_graph(text: str, oracle: Oracle | None = None) -> Graph:
    """Returns the graph that `text` spells; the inverse of `print_graph`.

    Types are taken as they are written. With an `oracle`, the graph is also verified as a traced one.

    Raises:
        IRSyntaxError: with line, column, and the text of the line.
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
    graph = _Reader(text).start(read(text))
    if oracle is not None:
        verify(graph, "traced", oracle)
    return graph


class _Reader:
    """A reader of lark's tree, from the top; each graph has its own scope."""

    def __init__(self, text: str):
        self.text = SourceText(text)

    def start(self, tree: Syntax) -> Graph:
        modules: dict[str, str] = {}
        for module in parts(tree, "module"):
            alias = self.text.symbol(parts(module, "symbol")[0])
            if alias in modules:
                raise self.text.error(module.meta, f"module @{alias} is imported twice", "give one of them another alias")
            modules[alias] = self.text.string(tokens(module, "STRING")[0])
        return self.graph(parts(tree, "graph")[0], tuple(modules.items()))

    def graph(self, tree: Syntax, modules: Sequence[tuple[str, str]] = ()) -> Graph:
        header = parts(tree, "header")[0]
        scope: dict[str, Value] = {}
        inputs: list[Value] = []
        for syntax in parts(header, "input"):
            (token,) = tokens(syntax, "VALUE")
            name = self.text.string(token, 1) if token[1] == '"' else str(token[1:])
            value = self.value(parts(syntax, "value")[0], name)
            self.define(scope, token, value)
            inputs.append(value)
        nodes = [self.node(syntax, scope) for syntax in parts(tree, "node")]
        (returned,) = parts(tree, "return")
        outputs = [self.use(scope, token) for token in tokens(returned, "VALUE")]
        self.check_outputs(header, outputs)
        name = self.text.symbol(parts(header, "symbol")[0])
        return Graph(name, inputs, nodes, outputs, modules)

    def check_outputs(self, header: Syntax, outputs: Sequence[Value]) -> None:
        """Checks that the result types in the header agree with the returned values."""
        types = parts(header, "value")
        if len(types) != len(outputs):
            hint = "list one type per returned value after the arrow"
            raise self.text.error(header.meta, f"{len(types)} result types, but {len(outputs)} values are returned", hint)
        for syntax, value in zip(types, outputs):
            if value_type(self.value(syntax)) != value_type(value):
                hint = f"write {value_type(value)}"
                raise self.text.error(syntax.meta, "the result type is not that of the returned value", hint)

    def node(self, tree: Syntax, scope: dict[str, Value]) -> Node:
        (token,) = tokens(tree, "OP")
        op = OPS.get(token)
        if op is None:
            raise self.text.error(token, f"unknown operation {str(token)!r}", did_you_mean(str(token), OPS))
        attrs = {**self.callee(tree, op, token), **self.text.attrs(tree), **self.spec(tree, op, token)}
        operands: list[Value] = []
        maps: list[ArgMap] = []
        for syntax in parts(tree, "operand"):
            operands.append(self.use(scope, tokens(syntax, "VALUE")[0]))
            maps.append(self.map(syntax))
        names = [t for part in parts(tree, "results") for t in tokens(part, "VALUE")]
        written = parts(tree, "result")
        types = [parts(syntax, "value")[0] for syntax in written]
        if len(names) != len(types):
            hint = "after the colon, write one type per result"
            raise self.text.error(token, f"{len(names)} results with {len(types)} types", hint)
        results = [self.result(syntax) for syntax in types]
        for name, value in zip(names, results):
            self.define(scope, name, value)
        loc = next((str(c[2:]).strip() for c in tokens(tree, "COMMENT")), "")
        return Node(op, operands, maps, results, attrs, loc or None, [self.graph(body) for body in parts(tree, "body")])

    def callee(self, tree: Syntax, op: Op, at: Token) -> dict[str, Attr]:
        callee = part(tree, "callee")
        if (callee is None) != (op.name != "slang.call"):
            raise self.text.error(at, "a slang.call, and nothing else, has a callee", "write slang.call @module.function(...)")
        if callee is None:
            return {}
        module, function = (self.text.symbol(s) for s in parts(callee, "symbol"))
        return {"module": module, "function": function}

    def spec(self, tree: Syntax, op: Op, at: Token) -> dict[str, Attr]:
        """Reads the spec of a region: the dimensions and places of its results, and its folds."""
        operands, results = parts(tree, "operand"), parts(tree, "result")
        near = [(i, numbers(found)) for i, syntax in enumerate(operands) for found in parts(syntax, "near")]
        folds, over = self.folds(tree)
        along = part(tree, "rows")
        dims_of = [part(syntax, "vmap") for syntax in results]
        if op.name != "region":
            if near or folds or along or any(dims_of) or any(parts(syntax, "into") for syntax in results):
                hint = f"leave this out for {op.name}"
                raise self.text.error(at, "only a region says how its results lie, and what it folds", hint)
            return {}
        lying: list[ResultSpec] = []
        for syntax, dims in zip(results, dims_of):
            if dims is None:
                hint = "write vmap(d0) behind it"
                raise self.text.error(syntax.meta, "a result of a region runs along dimensions of its grid", hint)
            lying.append(ResultSpec(numbers(dims), self.texture(syntax)))
        try:
            return {"spec": RegionSpec(tuple(lying), tuple(folds), over, tuple(near), numbers(along) if along else ())}
        except VerifyError as error:
            raise self.text.error(at, error.what, error.hint) from None

    def texture(self, tree: Syntax) -> StoredInto | None:
        syntax = part(tree, "into")
        return None if syntax is None else StoredInto(self.type(parts(syntax, "type")[0]), numbers(syntax))

    def folds(self, tree: Syntax) -> tuple[list[Fold], tuple[int, ...]]:
        """Reads the folds of a region, and the dimensions that they run along."""
        syntax = part(tree, "folds")
        if syntax is None:
            return [], ()
        folds: list[Fold] = []
        for fold in parts(syntax, "fold"):
            callee = [self.text.symbol(s) for part in parts(fold, "callee") for s in parts(part, "symbol")]
            module, function = callee or ("", "")
            identity = next((self.text.constant(c) for c in fold.children if isinstance(c, Tree) and c.data != "callee"), None)
            scans, exclusive = bool(tokens(syntax, "SCAN")), bool(tokens(fold, "EXCLUSIVE"))
            folds.append(Fold(str(tokens(fold, "NAME")[0]), module, function, identity, scans, exclusive))
        return folds, numbers(syntax)

    def define(self, scope: dict[str, Value], token: Token, value: Value) -> None:
        if token in scope:
            raise self.text.error(token, f"{token} is defined twice", "give each value a name of its own")
        scope[token] = value

    def use(self, scope: dict[str, Value], token: Token) -> Value:
        if token not in scope:
            raise self.text.error(token, f"{token} is not defined", did_you_mean(str(token), map(str, scope)))
        return scope[token]

    def map(self, tree: Syntax) -> ArgMap:
        vmap, vcast = part(tree, "vmap"), part(tree, "vcast")
        return ArgMap(None if vmap is None else numbers(vmap), None if vcast is None else self.type(parts(vcast, "type")[0]))

    def result(self, tree: Syntax) -> Value:
        value = self.value(tree)
        if not (value.arrival.plain or value.arrival.tensor):
            raise self.text.error(
                tree.meta, f"a computed value is no {value.arrival.name}", "results over a grid are written Tensor"
            )
        return Value(value.type, value.dims, weak=value.weak)

    def value(self, tree: Syntax, name: str | None = None) -> Value:
        """Reads a fresh value: ``Tensor<float3>[?,?]``, ``weak float``, ``Ray``."""
        weak = bool(tokens(tree, "WEAK"))
        syntax = part(tree, "type")
        if syntax is None:
            (token,) = tokens(tree, "STRING")
            return Value(self.parse_type(self.text.string(token), token), (), weak=weak, name=name)
        head, arguments, extents = tokens(syntax, "NAME")[0], parts(syntax, "argument"), parts(syntax, "extents")
        if head in ARRIVALS and len(arguments) == 1 and len(extents) == 1:
            element = self.parse_type(self.text.source(arguments[0]), arguments[0].meta)
            dims = self.dims(extents[0])
            arrival = ARRIVALS[head]
            return Value(element, dims, arrival=arrival, weak=weak or arrival.listed, name=name)
        return Value(self.type(syntax), (), weak=weak, name=name)

    def dims(self, tree: Syntax) -> Dims:
        dims: list[int | None] = []
        for extent in parts(tree, "extent"):
            (number,) = tokens(extent) or (None,)
            if number is not None and not number.isdecimal():
                raise self.text.error(number, f"{number} is no extent", "write a whole number, or ? where the size is open")
            dims.append(None if number is None else int(number))
        return tuple(dims)

    def type(self, tree: Syntax) -> Type:
        return self.parse_type(self.text.source(tree), tree.meta)

    def parse_type(self, text: str, at: At) -> Type:
        try:
            return Type.parse(text)
        except InvalidNameError as error:
            raise self.text.error(at, error.what, error.hint) from None
