"""Programs after hints about loading modules, their options, constants and globals, raw dispatches and recording."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hint_programs import N, Program, X, fused, tensor, texture
from tests.support.slang_functions import F32, ramp

GLOBALS = """
import fusepy;
struct Sun { float3 to; float power; };
uniform float k;
uniform int n;
uniform float3 c;
uniform Sun sun;
uniform float w[3];
uniform float* p;
uniform Tensor<float, 1> t;
uniform Texture2D<float4> image;
uniform SamplerState smooth;
uniform StructuredBuffer<float> b;
float by(float x) { return k * x; }
float turn(float x) { return n * x; }
float dyed(float x) { return (c.x + c.z) * x; }
float lit(float x) { return sun.to.y * sun.power * x; }
float weighed(float x) { return (w[0] + 10 * w[1] + 100 * w[2]) * x; }
float pointed(float x) { return p[2] * x; }
float taken(float x) { return t[2] * x; }
float seen(float x) { return image.Load(int3(0, 0, 0)).y * x; }
float blurred(float x) { return image.SampleLevel(smooth, float2(0.5, 0.5), 0).w * 0 + x; }
float held(float x) { return b[2] * x; }
float two(int i) { return i; }
"""
CONSTANTS = "extern static const int STEPS = 2; float f(float x) { return STEPS * x; } float plain(float x) { return x; }"


def load(name: str, source: str, **kwargs: Any) -> Any:
    return fp.Module.load_from_source(fp.default_device(), name, source, **kwargs)


def given(m: Any) -> Any:
    return load("hint_all_globals", GLOBALS)


def constants(m: Any) -> Any:
    return load("hint_constants", CONSTANTS)


def written(**files: str) -> Path:
    folder = Path(tempfile.mkdtemp())
    for name, text in files.items():
        (folder / f"{name}.slang").write_text(text, encoding="latin-1")
    return folder


def load_file(path: Path) -> Any:
    return fp.Module.load_from_file(fp.default_device(), path)


def entry(m: Any) -> Any:
    source = """[shader("compute")] [numthreads(32, 1, 1)]
    void fill(uint3 at : SV_DispatchThreadID, uniform float* p, uniform int n) { if (at.x < n) p[at.x] = 7 * at.x; }
    void count_up(uint3 at, float* p) { p[at.x] = 7 * at.x; }
    void slow(float* p) { p[0] = 1; }
    float tell(uint3 at) { return at.x; }
    void both(uint at, float* p) {} void both(uint2 at, float* p) {}
    float f(float x) { return x + 1; }"""
    return load("hint_entry_points", source)


def everywhere(m: Any) -> Any:
    made = tensor(np.zeros(3, F32))
    entry(m).count_up.dispatch(3, p=made)
    return made


def recorded(m: Any, record: Any) -> Any:
    made, encoder = fp.Tensor.empty(fp.default_device(), (3,), "float"), fp.default_device().sgl.create_command_encoder()
    record(encoder, made)
    fp.default_device().sgl.submit_command_buffer(encoder.finish())
    return made


def in_pass(m: Any) -> None:
    encoder = fp.default_device().sgl.create_command_encoder()
    with encoder.begin_render_pass({}) as render:
        m.add.append_to(render, X, 1.0)


def finished(m: Any) -> None:
    encoder = fp.default_device().sgl.create_command_encoder()
    encoder.finish()
    m.add.append_to(encoder, tensor(X), 1.0)


def hooked(m: Any, hook: Any) -> Any:
    return given(m).by.hook(hook)(X)


def set_k(context: Any) -> None:
    context.set(k=2.0)


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
    "a file that is not there": (
        lambda m: load_file(written(outer="float f(float x) { return x; }") / "ouster.slang"),
        "did you mean 'outer.slang'? Folders are added with init_device(include_paths=[…])",
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
    "a define of two lines": (
        lambda m: load("hint_define", "float f(float x) { return x * A; }", defines={"A": "1 +\n1"}),
        "give it in one line",
        lambda m: load("hint_define", "float f(float x) { return x * A; }", defines={"A": "(1 + 1)"}).f(X),
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
        "leave source away, or use Module.load_from_source(device, name, source)",
        lambda m: fp.Module.from_slangpy(of_slangpy()).f(X),
        X,
    ),
    "a file of slangpy's that is gone": (
        lambda m: fp.Module.from_slangpy(of_slangpy(gone=True)),
        "load the module again from where it lies now",
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
    "a constant of text": (
        lambda m: constants(m).f.constants(STEPS="3"),
        "set what is no number as a global",
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
    # globals
    "a global that no one set": (
        lambda m: given(m).by(X),
        "call .set(k=…) on the function",
        lambda m: given(m).by.set(k=2.0)(X),
        2 * X,
    ),
    "a global by a number": (
        lambda m: given(m).by.set({3: 2.0}),
        "name the global by a string",
        lambda m: given(m).by.set({"k": 2.0})(X),
        2 * X,
    ),
    "a global of nothing": (
        lambda m: given(m).by.set(k=2.0).set(k=None),
        "leave it away to keep what was set before",
        lambda m: given(m).by.set(k=2.0).set()(X),
        2 * X,
    ),
    "a global of a traced value": (
        lambda m: fused(lambda x: given(m).by.set(k=x)(1.0), X),
        "pass it as an argument of the function",
        lambda m: fused(lambda x: m.add(x, 0.0), X),
        X,
    ),
    "a global of objects": (
        lambda m: given(m).by.set(k=np.array([None])),
        "give an array of numbers",
        lambda m: given(m).by.set(k=np.array(2.0))(X),
        2 * X,
    ),
    "a global of a generator": (
        lambda m: given(m).by.set(k=iter([])),
        "give numbers, sequences, dicts or resources",
        lambda m: given(m).by.set(k=2.0)(X),
        2 * X,
    ),
    "a tensor for a number": (
        lambda m: given(m).by.set(k=tensor(X))(X),
        "give a number",
        lambda m: given(m).by.set(k=2.0)(X),
        2 * X,
    ),
    "a tensor for a vector": (
        lambda m: given(m).dyed.set(c=tensor(X))(X),
        "give its components",
        lambda m: given(m).dyed.set(c=[1.0, 2.0, 3.0])(X),
        4 * X,
    ),
    "two components for three": (
        lambda m: given(m).dyed.set(c=[1.0, 2.0])(X),
        "give as many components as the type has",
        lambda m: given(m).dyed.set(c=[1.0, 2.0, 3.0])(X),
        4 * X,
    ),
    "texts for components": (
        lambda m: given(m).dyed.set(c=([1.0], [2.0, 3.0]))(X),
        "give numbers",
        lambda m: given(m).dyed.set(c=[1.0, 2.0, 3.0])(X),
        4 * X,
    ),
    "a float for an integer's global": (
        lambda m: given(m).turn.set(n=2.5)(X),
        "round it first",
        lambda m: given(m).turn.set(n=round(2.5))(X),
        2 * X,
    ),
    "a number that no float holds": (
        lambda m: given(m).by.set(k=10**400)(X),
        "give a smaller number",
        lambda m: given(m).by.set(k=10)(X),
        10 * X,
    ),
    "a number for a struct": (
        lambda m: given(m).lit.set(sun=2.0)(X),
        "give a dict with to, power",
        lambda m: given(m).lit.set(sun={"to": [0.0, 1.0, 0.0], "power": 3.0})(X),
        3 * X,
    ),
    "a struct without a field": (
        lambda m: given(m).lit.set(sun={"to": [0.0, 1.0, 0.0]})(X),
        "set it as well; set() merges dicts",
        lambda m: given(m).lit.set(sun={"to": [0.0, 1.0, 0.0]}).set(sun={"power": 3.0})(X),
        3 * X,
    ),
    "two numbers for three": (
        lambda m: given(m).weighed.set(w=[1.0, 2.0])(X),
        "give 3 elements",
        lambda m: given(m).weighed.set(w=[1.0, 2.0, 3.0])(X),
        321 * X,
    ),
    "a number for a pointer's global": (
        lambda m: given(m).pointed.set(p=2.0)(X),
        "give a Tensor or a buffer",
        lambda m: given(m).pointed.set(p=tensor(N.astype(F32)))(X),
        2 * X,
    ),
    "a tensor of vectors for one of numbers": (
        lambda m: given(m).taken.set(t=tensor(ramp(2, 3)))(X),
        "make one with Tensor.from_numpy(device, array, 'float')",
        lambda m: given(m).taken.set(t=fp.Tensor.from_numpy(fp.default_device(), N.astype(F32), "float"))(X),
        2 * X,
    ),
    "a number for a texture": (
        lambda m: given(m).seen.set(image=2.0)(X),
        "give a texture",
        lambda m: given(m).seen.set(image=texture(m))(X),
        ramp(2, 4, 4)[0, 0, 1] * X,
    ),
    "a number for a sampler": (
        lambda m: given(m).blurred.set(image=texture(m), smooth=2.0)(X),
        "give a sampler",
        lambda m: given(m).blurred.set(image=texture(m), smooth=fp.default_device().sgl.create_sampler())(X),
        X,
    ),
    "a view for a buffer": (
        lambda m: given(m).held.set(b=tensor(ramp(3, 2))[:, 0])(X),
        "copy the view first",
        lambda m: given(m).held.set(b=tensor(ramp(3, 2))[:, 0].copy())(X),
        ramp(3, 2)[2, 0] * X,
    ),
    "nothing for a buffer": (
        lambda m: given(m).held.set(b=tensor(np.zeros(0, F32)))(X),
        "give at least one element",
        lambda m: given(m).held.set(b=tensor(N.astype(F32)))(X),
        2 * X,
    ),
    "a global of two values": (
        lambda m: fused(lambda x: given(m).by.set(k=2.0)(x) + given(m).by.set(k=3.0)(x), X),
        "set it once, on the fused function",
        lambda m: fp.fuse(lambda x: given(m).by(x) + given(m).by(x)).set(k=2.0)(X),
        4 * X,
    ),
    # raw dispatches
    "threads of no count": (
        lambda m: entry(m).fill.threads("3"),
        "write threads(width, height)",
        lambda m: filled_by(m, lambda f, t: f.threads(3, 1).call(p=t, n=3)),
        7 * np.arange(3, dtype=F32),
    ),
    "a global of a dispatch": (
        lambda m: filled_by(m, lambda f, t: scaling().fill.dispatch(3, t)),
        "call .set(k=…) on it, or pass vars={'k': …}",
        lambda m: filled_by(m, lambda f, t: scaling().fill.dispatch(3, t, vars={"k": 2.0})),
        2 * np.arange(3, dtype=F32),
    ),
    "a dispatch that is fused": (
        lambda m: fused(lambda x: entry(m).fill.dispatch(3, p=x, n=3), X),
        "call it outside of the fused function",
        lambda m: filled_by(m, lambda f, t: f.dispatch(3, p=t, n=3)),
        7 * np.arange(3, dtype=F32),
    ),
    "too many arguments of a dispatch": (
        lambda m: entry(m).fill.dispatch(3, tensor(X), 3, 4),
        "count again",
        lambda m: filled_by(m, lambda f, t: f.dispatch(3, t, 3)),
        7 * np.arange(3, dtype=F32),
    ),
    "an argument of a dispatch twice": (
        lambda m: entry(m).fill.dispatch(3, tensor(X), p=tensor(X), n=3),
        "pass it by position or by name",
        lambda m: filled_by(m, lambda f, t: f.dispatch(3, t, n=3)),
        7 * np.arange(3, dtype=F32),
    ),
    "an argument of a dispatch that is missing": (
        lambda m: entry(m).fill.dispatch(3, tensor(X)),
        "pass n=…",
        lambda m: filled_by(m, lambda f, t: f.dispatch(3, t, n=3)),
        7 * np.arange(3, dtype=F32),
    ),
    "more groups than a device has": (
        lambda m: entry(m).fill.dispatch(1 << 31, tensor(X), 3),
        "dispatch over two or three dimensions, or in parts",
        lambda m: filled_by(m, lambda f, t: f.dispatch((3, 1), t, 3)),
        7 * np.arange(3, dtype=F32),
    ),
    "a dispatch of what is overloaded": (
        lambda m: entry(m).both.dispatch(3, tensor(X)),
        "give it a name of its own",
        everywhere,
        7 * np.arange(3, dtype=F32),
    ),
    "a dispatch of what returns": (
        lambda m: entry(m).tell.dispatch(3),
        "call it instead",
        lambda m: entry(m).f(X),
        X + 1,
    ),
    "a dispatch of what takes no thread": (
        lambda m: entry(m).slow.dispatch(3, tensor(X)),
        "write void slow(uint3 tid, …)",
        everywhere,
        7 * np.arange(3, dtype=F32),
    ),
    "a group of an entry point": (
        lambda m: filled_by(m, lambda f, t: f.options(numthreads=[8]).dispatch(3, t, 3)),
        "change it in Slang, or make it a plain function",
        everywhere,
        7 * np.arange(3, dtype=F32),
    ),
    # recording
    "an encoder in a call": (
        lambda m: m.add(fp.default_device().sgl.create_command_encoder(), X, 1.0),
        "write add.append_to(encoder, …)",
        lambda m: recorded(m, lambda encoder, t: m.add.append_to(encoder, tensor(X), 1.0, _result=t)),
        X + 1,
    ),
    "what is no encoder": (
        lambda m: m.add.append_to(X, X, 1.0),
        "make one with device.sgl.create_command_encoder()",
        lambda m: recorded(m, lambda encoder, t: m.add.append_to(encoder, tensor(X), 1.0, _result=t)),
        X + 1,
    ),
    "an encoder that is finished": (
        finished,
        "record before encoder.finish()",
        lambda m: recorded(m, lambda encoder, t: m.add.append_to(encoder, tensor(X), 1.0, _result=t)),
        X + 1,
    ),
    "recording inside of a trace": (
        lambda m: fused(lambda x: m.add.append_to(fp.default_device().sgl.create_command_encoder(), x, 1.0), X),
        "append the fused function itself",
        lambda m: recorded(m, lambda encoder, t: fp.fuse(lambda x: m.add(x, 1.0)).append_to(encoder, tensor(X), _result=t)),
        X + 1,
    ),
    "recording to an array": (
        lambda m: recorded(m, lambda encoder, t: m.add.append_to(encoder, tensor(X), 1.0, _result=np.empty(3, F32))),
        "pass a Tensor, and read it after you have submitted the encoder",
        lambda m: recorded(m, lambda encoder, t: m.add.append_to(encoder, tensor(X), 1.0, _result=t)),
        X + 1,
    ),
}


def filled_by(m: Any, dispatch: Any) -> Any:
    made = tensor(np.zeros(3, F32))
    dispatch(entry(m).fill, made)
    return made


def scaling() -> Any:
    source = """uniform float k; [shader("compute")] [numthreads(1, 1, 1)]
    void fill(uint3 at : SV_DispatchThreadID, uniform float* p) { p[at.x] = k * at.x; }"""
    return load("hint_scaling", source)


def of_slangpy(gone: bool = False) -> Any:
    path = written(taken="float f(float x) { return x; }") / "taken.slang"
    module = fp.default_device().sgl.load_module(str(path))
    if gone:
        path.unlink()
    return module


def shapes() -> Any:
    source = """interface IShape { float area(); }; struct Circle : IShape { float r; float area() { return r * r; } };
    struct Box : IShape { float a; float area() { return a; } }; float area(IShape s) { return s.area(); }"""
    return load("hint_shapes", source)
