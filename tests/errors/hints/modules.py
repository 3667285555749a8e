"""Programs after hints about loading modules and configuring functions."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hints.support import (
    Program,
    X,
    fused,
    given,
    load,
)

CONSTANTS = "extern static const int STEPS = 2; float f(float x) { return STEPS * x; } float plain(float x) { return x; }"

DIFFERENTIABLE = "[Differentiable] float f(float x) { return g(x); }"

LINKED = "extern static const int COUNT; float first(float a[COUNT]) { return a[0]; }"


def constants(m: Any) -> Any:
    return load("hint_constants", CONSTANTS)


def written(**files: str) -> Path:
    folder = Path(tempfile.mkdtemp())
    for name, text in files.items():
        (folder / f"{name}.slang").write_text(text, encoding="latin-1")
    return folder


def load_file(path: Path) -> Any:
    return fp.Module.load_from_file(fp.default_device(), path)


def hooked(m: Any, hook: Any) -> Any:
    return given(m).by.hook(hook)(X)


def set_k(context: Any) -> None:
    context.set(k=2.0)


def of_slangpy(gone: bool = False) -> Any:
    path = written(taken="float f(float x) { return x; }") / "taken.slang"
    module = fp.default_device().sgl.load_module(str(path))
    if gone:
        path.unlink()
    return module


def gradient_after(change: Callable[[Path], None]) -> Any:
    path = written(inner="[Differentiable] public float g(float x) { return x; }", outer="import inner; " + DIFFERENTIABLE)
    module = load_file(path / "outer.slang")
    change(path / "inner.slang")
    return np.asarray(fp.grad(lambda x: fp.sum(module.f(x)))(X))


def shapes() -> Any:
    source = """interface IShape { float area(); }; struct Circle : IShape { float r; float area() { return r * r; } };
    struct Box : IShape { float a; float area() { return a; } }; float area(IShape s) { return s.area(); }"""
    return load("hint_shapes", source)


def defined(value: str) -> Any:
    return load("hint_defined", "float f() { return K; }", defines={"K": value}).f()


def flags() -> Any:
    return load(
        "hint_flags", "struct Hit { bool on; }; bool on(float x) { return x > 0.1; } Hit hit(float x) { return { on(x) }; }"
    )


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    # loading
    "a mistake in a module": (
        lambda m: load("hint_bad", "float f(float x) { return y; }"),
        "mend the Slang source and load it again",
        lambda m: load("hint_bad", "float f(float x) { return x; }").f(X),
        X,
    ),
    "an import that is not found": (
        lambda m: load_file(written(outer="import not_there; float f(float x) { return x; }") / "outer.slang"),
        "add others with init_device(include_paths=[…])",
        lambda m: load_file(written(outer="import inner;", inner="float f(float x) { return x; }") / "inner.slang").f(X),
        X,
    ),
    "an imported file that is gone before the gradient": (
        lambda m: gradient_after(lambda path: path.unlink()),
        "put it back, or load the module again without it",
        lambda m: gradient_after(lambda path: None),
        [1] * len(X),
    ),
    "a file that is not there": (
        lambda m: load_file(written(outer="float f(float x) { return x; }") / "ouster.slang"),
        "did you mean 'outer.slang'? Folders are added with init_device(include_paths=[…])",
        lambda m: load_file(written(outer="float f(float x) { return x; }") / "outer.slang").f(X),
        X,
    ),
    "a number for a path": (
        lambda m: fp.load(3),
        'write fp.load("look.slang")',
        lambda m: load_file(written(look="float f(float x) { return x; }") / "look.slang").f(X),
        X,
    ),
    "a name that is too long for a file": (
        lambda m: load_file(Path("outer" * 100 + ".slang")),
        "Folders are added with init_device(include_paths=[…])",
        lambda m: load_file(written(outer="float f(float x) { return x; }") / "outer.slang").f(X),
        X,
    ),
    "a name that is not public": (
        lambda m: load_file(
            written(outer="import inner; float f(float x) { return g(x); }", inner="public int i; float g(float x) { return x; }")
            / "outer.slang"
        ),
        "write public before what is called from Python",
        lambda m: load("hint_public", "public int i() { return 1; } public float f(float x) { return x; }").f(X),
        X,
    ),
    "a source with a NUL": (
        lambda m: load("hint_nul", "float f(float x) { return x; }\0"),
        "remove the NUL character",
        lambda m: load("hint_nul", "float f(float x) { return x; }").f(X),
        X,
    ),
    "a source in another encoding": (
        lambda m: load_file(written(latin="float f(float x) { return x; } // gr\xf6\xdfe") / "latin.slang"),
        "save it as UTF-8",
        lambda m: load("hint_latin", "float f(float x) { return x; } // gr\xf6\xdfe").f(X),
        X,
    ),
    "a define of a list": (
        lambda m: load("hint_define", "float f(float x) { return x * A; }", defines={"A": [1]}),
        "write it as text",
        lambda m: load("hint_define", "float f(float x) { return x * A; }", defines={"A": "(1 + 1)"}).f(X),
        2 * X,
    ),
    "defines in a list": (
        lambda m: load("hint_define", "float f(float x) { return x * A; }", defines=["A=2"]),
        "write defines={name: value}",
        lambda m: load("hint_define", "float f(float x) { return x * A; }", defines={"A": 2}).f(X),
        2 * X,
    ),
    "options in a word": (
        lambda m: load("hint_define", "float f(float x) { return x; }", options="fast_math"),
        "write options={name: value}",
        lambda m: load("hint_define", "float f(float x) { return x; }", options={"fast_math": True}).f(X),
        X,
    ),
    "a define of two lines": (
        lambda m: load("hint_define", "float f(float x) { return x * A; }", defines={"A": "1 +\n1"}),
        "give it in one line",
        lambda m: load("hint_define", "float f(float x) { return x * A; }", defines={"A": "(1 + 1)"}).f(X),
        2 * X,
    ),
    "a define that begins a comment": (
        lambda m: load("hint_define", "float f(float x) { return x * A; }", defines={"A": "2 /* twice"}),
        "end it in its line",
        lambda m: load("hint_define", "float f(float x) { return x * A; }", defines={"A": "2 /* twice */"}).f(X),
        2 * X,
    ),
    "a define among the options": (
        lambda m: load("hint_define", "float f(float x) { return x * A; }", options={"defines": {"A": "2"}}),
        "write defines={…}, beside options",
        lambda m: load("hint_define", "float f(float x) { return x * A; }", defines={"A": "2"}, options={}).f(X),
        2 * X,
    ),
    "folders among the options": (
        lambda m: load("hint_define", "float f(float x) { return x; }", options={"include_paths": ["."]}),
        "give them to init_device(include_paths=…)",
        lambda m: load("hint_latin", "float f(float x) { return x; }").f(X),
        X,
    ),
    "an option that Slang lacks": (
        lambda m: load("hint_option", "float f(float x) { return x; }", options={"nothing": 1}).f(X),
        "options are those of slangpy.SlangCompilerOptions",
        lambda m: load("hint_option", "float f(float x) { return x; }", options={"optimization": 1}).f(X),
        X,
    ),
    "two values of a define": (
        lambda m: fused(
            lambda x: load("hint_a", "float f(float x) { return A * x; }", defines={"A": "2"}).f(
                load("hint_b", "float g(float x) { return A * x; }", defines={"A": "3"}).g(x)
            ),
            X,
        ),
        "load both modules with the same defines and options",
        lambda m: fused(
            lambda x: load("hint_a", "float f(float x) { return A * x; }", defines={"A": "2"}).f(
                load("hint_b", "float g(float x) { return A * x; }", defines={"A": "2"}).g(x)
            ),
            X,
        ),
        4 * X,
    ),
    "a module of nothing": (
        lambda m: fp.Module.from_slangpy("look.slang"),
        "load other things with fusepy.load(path)",
        lambda m: fp.load(written(look="float f(float x) { return x; }") / "look.slang").f(X),
        X,
    ),
    "a name of no letters": (
        lambda m: load("a b", "float f(float x) { return x; }"),
        "a letter or underscore, then letters, digits, underscores",
        lambda m: load("a_b", "float f(float x) { return x; }").f(X),
        X,
    ),
    "a name with a bracket": (
        lambda m: m["add["],
        "write an identifier, ns::name, Type::method or name<float>",
        lambda m: m["add"](X, 1.0),
        X + 1,
    ),
    "a name with a space": (
        lambda m: m.find_function("add "),
        "a function name has no brackets and no space around it",
        lambda m: m.find_function("add")(X, 1.0),
        X + 1,
    ),
    "a name in an empty namespace": (
        lambda m: load("hint_space", "namespace ns {} float f(float x) { return x; }")["ns::g"],
        "see what the source declares in ns",
        lambda m: load("hint_space", "namespace ns { float g(float x) { return x; } }")["ns::g"](X),
        X,
    ),
    "a name that is a word of Slang": (
        lambda m: load("hint_word", "void each(float x) {}").each,
        "it may be a word of the language: rename it",
        lambda m: load("hint_word", "float every(float x) { return x; }").every(X),
        X,
    ),
    "another text than that of slangpy's file": (
        lambda m: fp.Module.from_slangpy(of_slangpy(), source="float g(float x) { return x; }"),
        "omit source, or use Module.load_from_source(device, name, source)",
        lambda m: fp.Module.from_slangpy(of_slangpy()).f(X),
        X,
    ),
    "a file of slangpy's that is gone": (
        lambda m: fp.Module.from_slangpy(of_slangpy(gone=True)),
        "load the module again from its present path",
        lambda m: fp.Module.from_slangpy(of_slangpy()).f(X),
        X,
    ),
    # configuring a function
    "a group of no threads": (
        lambda m: m.add.options(numthreads=[0]),
        "write numthreads=[16, 16]",
        lambda m: m.add.options(numthreads=[16, 16])(X, 1.0),
        X + 1,
    ),
    "an option of a module that is no truth": (
        lambda m: fp.Module.load_from_source(m.device, "untrue", "float f(float x) { return x; }", options={"fast_math": "yes"}),
        'write options={"fast_math": True}',
        lambda m: fp.Module.load_from_source(m.device, "untrue", "float f(float x) { return x; }", options={"fast_math": True}).f(
            X
        ),
        X,
    ),
    "a mode that is no truth": (
        lambda m: m.add.options(deterministic="yes"),
        "write deterministic=True",
        lambda m: m.add.options(deterministic=True)(X, 1.0),
        X + 1,
    ),
    "a group of too many threads": (
        lambda m: m.add.options(numthreads=[4096])(X, 1.0),
        "take a smaller numthreads",
        lambda m: m.add.options(numthreads=[16, 16])(X, 1.0),
        X + 1,
    ),
    "a call group of text": (
        lambda m: m.add.call_group_shape("16"),
        "write (16, 16)",
        lambda m: m.add.call_group_shape((16, 16))(X[None], 1.0),
        X[None] + 1,
    ),
    "a call group of too many dimensions": (
        lambda m: m.add.call_group_shape((4, 4))(X, 1.0),
        "give the group as many dimensions as the call has, or fewer",
        lambda m: m.add.call_group_shape((4,))(X, 1.0),
        X + 1,
    ),
    "options of no names": (
        lambda m: m.add.options(3),
        ", or keywords",
        lambda m: m.add.options(numthreads=[16])(X, 1.0),
        X + 1,
    ),
    "an option twice": (
        lambda m: constants(m).f.constants({"STEPS": 2}, STEPS=3),
        "give it in the dict or by keyword",
        lambda m: constants(m).f.constants({"STEPS": 3})(X),
        3 * X,
    ),
    "a constant that is not declared": (
        lambda m: m.add.constants(STEPS=3)(X, 1.0),
        "declare it: extern static const int STEPS;",
        lambda m: constants(m).f.constants(STEPS=3)(X),
        3 * X,
    ),
    "an array of a constant size": (
        lambda m: load("hint_linked", LINKED).first.constants(COUNT=3)(X),
        "in Slang, write static const int COUNT = 4; or first<let COUNT : int>(float a[COUNT])",
        lambda m: load("hint_generic", LINKED.replace("first(", "first<let COUNT : int>(")).first(X),
        X[0],
    ),
    "a constant of text": (
        lambda m: constants(m).f.constants(STEPS="3"),
        "set other values as globals, with set()",
        lambda m: constants(m).f.constants(STEPS=3)(X),
        3 * X,
    ),
    "a constant of two numbers": (
        lambda m: constants(m).f.constants(STEPS=[3, 4]),
        "give a value of that type",
        lambda m: constants(m).f.constants(STEPS=3)(X),
        3 * X,
    ),
    "a constant with a point": (
        lambda m: constants(m).f.constants(STEPS=2.5),
        "give a finite number of that type",
        lambda m: constants(m).f.constants(STEPS=3)(X),
        3 * X,
    ),
    "conformances in a word": (
        lambda m: m.add.type_conformances("Circle"),
        'write type_conformances({"IShape": ["Circle", "Box"]})',
        lambda m: shapes().area.type_conformances({"IShape": ["Circle", "Box"]})({"_type": "Circle", "r": 2.0}),
        4,
    ),
    "a conformance to a type that is not there": (
        lambda m: shapes().area.type_conformances({"IShape": ["Circel"]})({"_type": "Circle", "r": 2.0}),
        "give type_conformances({interface: [types]}) by the names that Slang uses",
        lambda m: shapes().area.type_conformances({"IShape": ["Circle", "Box"]})({"_type": "Circle", "r": 2.0}),
        4,
    ),
    "what is no hook": (
        lambda m: given(m).by.hook(3),
        "pass hook(callback)",
        lambda m: hooked(m, set_k),
        2 * X,
    ),
    "a hook without a parameter": (
        lambda m: given(m).by.hook(lambda: None),
        "write def callback(context): …",
        lambda m: hooked(m, set_k),
        2 * X,
    ),
    "a container of another library": (
        lambda m: m.add.return_type("cupy"),
        "pass one of these words, e.g. 'numpy', or one of the classes",
        lambda m: m.add.return_type("numpy")(X, 1.0),
        X + 1,
    ),
    "a string in a define that does not end": (
        lambda m: defined('"2'),
        "write the text with both quotes, or without any for a name or number",
        lambda m: defined("2"),
        2,
    ),
    "a define that is no Slang": (
        lambda m: defined("(2"),
        "mend the value of the define in defines={…}",
        lambda m: defined("(2)"),
        2,
    ),
    "the sum of a member that is a bool": (
        lambda m: flags().hit.accumulate(result="sum")(X),
        "write a Slang function that returns the field, and accumulate that",
        lambda m: flags().on.accumulate(result="sum")(X),
        2,
    ),
}
