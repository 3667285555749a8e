"""Functions of a Python file as nodes: their inputs, their outputs, and what they raise."""

from __future__ import annotations

import ast
import inspect
import textwrap
import traceback
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import fusepy as fp
from fusepy.errors import FusepyError, StudioError
from fusepy.pytree import flatten
from fusepy.studio.kinds import ANY, NodeKind, Port
from fusepy.studio.recipes import RESULT, NodeRecipe, alias_of, slider

PYTHON_ERRORS = (  # of programs of the user's
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


class PythonRecipe(NodeRecipe):
    """The recipe of a fused function or graph. `named` is true if it returns a dict."""

    def __init__(self, kind: NodeKind, node: Callable[..., Any], spelled: str, named: bool):
        super().__init__(kind, node, spelled)
        self.named = named

    def lines(self, given: Mapping[str, str], names: Mapping[str, str]) -> list[str]:
        return [f"{line}{'.values()' * self.named}" for line in super().lines(given, names)]


def python_recipe(function: Any, name: str, file: str) -> NodeRecipe:
    """Returns the recipe of a fused function or graph. Parameters that are ``float`` or have a default are numbers."""
    parameters = inspect.signature(function).parameters.values()
    inputs = [_python_port(p) for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    keys = _graph_keys(function) if isinstance(function, fp.Graph) else returned_keys(function)
    named = bool(keys) and isinstance(keys[0], str)
    outputs = [key if isinstance(key, str) else f"{RESULT}_{key}" for key in keys] or [RESULT]
    kind = NodeKind(
        f"{file}/{name}", name, file, tuple(inputs), tuple(Port(o, ANY) for o in outputs), inspect.getdoc(function) or ""
    )
    node = _by_key(function, keys) if named else function.node(outputs=len(keys) or None)
    made = PythonRecipe(kind, node, f"{alias_of(file)}.{name}", named)
    made.module = file
    made.calls = _lines_of(function, file)
    return made


def _lines_of(function: Any, file: str) -> frozenset[str]:
    """Returns the lines of a function, or those of the nodes of a graph."""
    if isinstance(function, fp.Graph):
        return frozenset(use.loc for use in function.tracer.wiring.order() if use.loc)
    code = getattr(inspect.unwrap(function), "__code__", None)
    return frozenset(f"{file}:{line}" for _, _, line in code.co_lines() if line) if code is not None else frozenset()


def _by_key(function: Any, keys: Sequence[Any]) -> Any:
    """Returns a node of the values of a function that returns a dict."""

    def values(*args: Any) -> Any:
        made = function(*args)
        return tuple(made[key] for key in keys)

    values.__name__ = function.__name__
    return fp.fuse(values).node(outputs=len(keys))


def _graph_keys(graph: fp.Graph) -> Sequence[Any]:
    return flatten(graph.tracer.wiring.outputs)[1].keys


def returned_keys(function: Any) -> Sequence[Any]:
    """Returns the keys of what a function returns: 0, 1, … of a tuple, names of a dict; none of anything else.

    They are read from its ``return`` statements, since only a call knows its results.
    """
    try:
        source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
        body = cast("ast.FunctionDef", ast.parse(source).body[0])
    except (OSError, TypeError, SyntaxError):  # without a source, such as a partial function
        return ()
    found = {_keys(node.value) for node in _own(body) if isinstance(node, ast.Return)}
    return found.pop() if len(found) == 1 else ()


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """Yields the parts of a function without those of functions in it."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            yield node
            yield from _own(node)


def _keys(value: ast.expr | None) -> tuple[Any, ...]:
    if isinstance(value, (ast.Tuple, ast.List)):
        plain = len(value.elts) > 1 and not any(isinstance(e, ast.Starred) for e in value.elts)
        return tuple(range(len(value.elts))) if plain else ()
    if isinstance(value, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in value.keys]
        named = len(keys) > 1 and all(isinstance(key, str) and key.isidentifier() for key in keys)
        return tuple(keys) if named else ()
    return ()


@contextmanager
def of_python(files: Collection[str]) -> Generator[None]:
    """Makes a `StudioError` of what code in these files raises, with its line."""
    try:
        yield
    except FusepyError:
        raise
    except PYTHON_ERRORS as error:
        frame = next((f for f in reversed(traceback.extract_tb(error.__traceback__)) if f.filename in files), None)
        if frame is None:  # a fault of ours
            raise
        raise StudioError(
            f"{Path(frame.filename).name}:{frame.lineno}: {type(error).__name__}: {error}",
            saw=frame.line,
            hint="mend the function: the file is run again as soon as it is saved",
        ) from error


def checked_outputs(recipe: NodeRecipe, made: Sequence[Any]) -> Sequence[fp.Tensor]:
    """Returns the outputs of a node.

    Raises:
        StudioError: if one is no tensor: a function has returned several results where they could not be read from its text.
    """
    for port, value in zip(recipe.kind.outputs, made):
        if not hasattr(value, "to_numpy"):
            raise StudioError(
                f"{recipe.kind.label}: the output {port.name!r} is a {type(value).__name__}",
                expected="one array or number for each output",
                hint="return one value, or write the tuple or the dict of several right behind return",
            )
    return made


def _python_port(parameter: inspect.Parameter) -> Port:
    default = parameter.default
    number = isinstance(default, (int, float)) and not isinstance(default, bool)
    if number:
        return Port(parameter.name, "float", float(default), slider(float(default), "f"))
    if parameter.annotation in (float, "float"):
        return Port(parameter.name, "float", 0.5, (0.0, 1.0))
    return Port(parameter.name, ANY)
