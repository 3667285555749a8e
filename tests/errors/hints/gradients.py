"""Programs after hints about gradients."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.errors.hints.support import Program, load
from tests.support.slang_functions import F32

A = np.array([1.0, 2.0, 3.0], F32)
COUNTS = np.array([2, 2, 2], np.int32)
SQUARES = 2 * A


def many_of(name: str) -> Any:
    source = "struct Many { float v[65]; }; Many many(float x) { Many m = {}; m.v[3] = x; return m; } "
    made = load("hint_many", source + "float one_of_many(float x) { return many(x).v[3]; }")
    return getattr(made, name).accumulate(result="sum")


def total(x: Any) -> Any:
    return fp.sum(x * x)


@functools.cache
def memory() -> Any:
    source = """
    [Differentiable] float swap(RWStructuredBuffer<float> b, int i, float x) { float v = b[i]; b[i] = detach(x); return v * x; }
    [Differentiable] float look(StructuredBuffer<float> b, int i, float x) { return b[i] * x; }
    float squared(StructuredBuffer<float> b, int i) { return b[i] * b[i]; }
    void put(RWStructuredBuffer<float> b, int i, float x) { b[i] = x; }
    """
    return fp.Module.load_from_source(fp.default_device(), "hint_memory", source)


def swapped(function: Any) -> Any:
    return fp.grad(
        lambda x: fp.sum(function(fp.Tensor.from_numpy(fp.default_device(), SQUARES), np.arange(3, dtype=np.int32), x))
    )(A)


def written(b: Any, into: Any, x: Any = 0.0) -> Any:
    """A loss that reads an array, writes `into` another one, and returns the loss."""
    at = np.arange(3, dtype=np.int32)
    loss = fp.sum(memory().squared(b, at))
    memory().put(into, at, x)
    return loss


def stepped(x: Any, inside: bool) -> Any:
    """A loop that writes an array in each step, or behind which it is written."""
    log, at = fp.Tensor.from_numpy(fp.default_device(), A), np.arange(1, dtype=np.int32)

    def body(k: Any, carry: Any) -> Any:
        if inside:
            memory().put(log, k, 1.0)
        return carry + x * x

    found = fp.fori_loop(0, 1, body, 0.0 * x)
    if not inside:
        memory().put(log, at, 1.0)
    return fp.sum(found)


def recorded(outside: bool) -> Any:
    """A call that torch records, with a write in it or in a call before it."""
    torch: Any = pytest.importorskip("torch")
    log, at = fp.Tensor(A), np.arange(3, dtype=np.int32)

    def loss(x: Any) -> Any:
        if not outside:
            memory().put(log, at, 1.0)
        return fp.sum(x * x)

    if outside:
        memory().put(log, at, 1.0)
    x = torch.tensor(A, requires_grad=True)
    fp.fuse(loss)(x).backward()
    return x.grad.numpy()


def grown(x: Any, n: Any) -> Any:
    return fp.sum(fp.fori_loop(0, n, lambda i, c: c * x, 1.0 + 0 * x))


def endless(x: Any, n: Any) -> Any:
    return fp.sum(fp.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * x), (0, 1.0 + 0 * x))[1])


def bounded(x: Any, n: Any) -> Any:
    steps = fp.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * x), (0, 1.0 + 0 * x), max_steps=4)
    return fp.sum(steps[1])


def leaf() -> fp.Tensor:
    return fp.Tensor(A).with_grads()


def pulled(function: Any, x: Any, result: Any = None) -> Any:
    x.grad.clear()
    function.bwds(x, _result=result)
    return x.grad.to_numpy()


def gathered(function: Any, element: Any) -> Any:
    return fp.grad(lambda t: fp.sum(function(t, COUNTS)))(fp.Tensor.zeros(fp.default_device(), (3,), element)).to_numpy()


def largest(function: Any, x: Any) -> Any:
    function.bwds.accumulate({"x.grad": "max"})(x)
    return x.grad.to_numpy()


def graph_of(node: Any) -> Any:
    graph = fp.Graph(inputs=["x"])
    graph.set_outputs(node(*graph.get_inputs()))
    return graph


def beside(x: Any, w: Any, passed: bool) -> Any:
    """The gradient of a second tensor, which is an argument or comes from outside."""
    if passed:
        fp.fuse(lambda x, w: x * w).bwds(x, w)
    else:
        fp.fuse(lambda x: x * w).bwds(x)
    return w.grad.to_numpy()


def of_one(m: Any, parameter: str, passed: str) -> Any:
    """A function that multiplies by a component of a vector that another one makes of one parameter and a constant."""
    return fp.Module.load_from_source(
        m.device,
        f"vector_of_{len(parameter)}",
        f"[Differentiable] float2 g({parameter}) {{ return float2(p, 1); }}\n"
        f"[Differentiable] float f(no_diff float p, float a) {{ return g({passed}).x * a; }}",
    )


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "forward mode without arguments": (
        lambda m: fp.jvp(total),
        "write fp.jvp(total, (x,), (dx,))",
        lambda m: fp.jvp(total, (A,), (np.ones_like(A),)).d,
        SQUARES.sum(),
    ),
    "forward mode with an argument too few": (
        lambda m: fp.jvp(lambda a, b: total(a * b), (A,), (A,)),
        "write fp.jvp(f, (a, b), (da, db))",
        lambda m: fp.jvp(lambda a, b: total(a * b), (A, 1.0), (np.ones_like(A), 0.0)).d,
        SQUARES.sum(),
    ),
    "a check of gradients without arguments": (
        lambda m: fp.check_grads(total),
        "write fp.check_grads(total, x)",
        lambda m: fp.check_grads(total, A) is None,
        True,
    ),
    "a check of the gradients of a number": (
        lambda m: fp.check_grads(3.0),  # type: ignore[arg-type]
        "write fp.check_grads(f, x)",
        lambda m: fp.check_grads(total, A) is None,
        True,
    ),
    "a number for a function": (
        lambda m: fp.grad(3.0),  # type: ignore[arg-type]
        "write fp.grad(f)(x)",
        lambda m: fp.grad(total)(A),
        SQUARES,
    ),
    "a gradient of integers": (
        lambda m: fp.vjp(m.squared, A)[1](COUNTS),
        "convert it before: x.astype(np.float32)",
        lambda m: fp.vjp(m.squared, A)[1](COUNTS.astype(np.float32))[0],
        2 * SQUARES,
    ),
    "two gradients of one result": (
        lambda m: fp.vjp(lambda x: (m.squared(x), x), A)[1](A, A),
        "pass the gradient of the result; of several results a tuple, pull((g, h))",
        lambda m: fp.vjp(lambda x: (m.squared(x), x), A)[1]((np.ones_like(A), 0 * A))[0],
        SQUARES,
    ),
    "a gradient that is assigned": (
        lambda m: setattr(leaf(), "grad", None),
        "x.grad.clear() sets it to zero, and x = x.with_grads(grad_out=g) gives it a tensor of yours",
        lambda m: pulled(m.squared, leaf().with_grads(grad_out=fp.Tensor(A))),
        SQUARES,
    ),
    "a gradient by a string": (
        lambda m: fp.grad(lambda how, x: total(x))("plain", A),
        "choose others with argnums, by position or name",
        lambda m: fp.grad(lambda how, x: total(x), argnums="x")("plain", A),
        SQUARES,
    ),
    "two results": (
        lambda m: fp.grad(lambda x: (total(x), x))(A),
        "further results with has_aux=True, as (loss, others)",
        lambda m: fp.grad(lambda x: (total(x), x), has_aux=True)(A)[0],
        SQUARES,
    ),
    "a loss alone, with has_aux": (
        lambda m: fp.grad(total, has_aux=True)(A),
        "return (loss, others), or leave out has_aux=True",
        lambda m: fp.grad(total)(A),
        SQUARES,
    ),
    "a loss that cannot depend on its argument": (
        lambda m: fp.grad(lambda x: total(fp.vcast(x, "int") * 1.0))(A),
        "compute the result from it by floats, without fp.stop_gradient",
        lambda m: fp.grad(total)(A),
        SQUARES,
    ),
    "a no_diff that Slang ignores": (
        lambda m: fp.grad(kept_apart(m).wrong)(A),
        "write detach(squared(…)) in wrong",
        lambda m: fp.grad(kept_apart(m).right)(A),
        SQUARES,
    ),
    "a buffer that is written behind its reads": (
        lambda m: fp.grad(lambda b: written(b, b))(A),
        "write into another array; or read it as Tensor<T, N>, of which the derivative keeps a copy",
        lambda m: fp.grad(lambda b: written(b, fp.Tensor(A)))(A),
        SQUARES,
    ),
    "a loss that depends on what is written": (
        lambda m: fp.grad(lambda b, x: (memory().put(b, [0, 1, 2], x), written(b, fp.Tensor(A)))[1], 1)(fp.Tensor(A), A),
        "return what it writes, and pass that on: y = f(x), then g(y) in place of g(array)",
        lambda m: fp.grad(lambda x: written(x, fp.Tensor(A)))(A),
        SQUARES,
    ),
    "a call that torch records and that writes": (
        lambda m: recorded(False),
        "write in a call of its own, without tensors that require gradients",
        lambda m: recorded(True),
        SQUARES,
    ),
    "a loop that writes": (
        lambda m: fp.grad(lambda x: stepped(x, True))(A),
        "write in a call of its own, behind the loop or branch",
        lambda m: fp.grad(lambda x: stepped(x, False))(A),
        SQUARES,
    ),
    "forward mode of a vector of one number": (
        lambda m: fp.jvp(lambda a: of_one(m, "no_diff float p", "p").f(1.0, a), (A,), (2 * A,)),
        "take no_diff away there, and write detach(p) where it is called; gradients (fp.grad) work as it is",
        lambda m: fp.jvp(lambda a: of_one(m, "float p", "detach(p)").f(1.0, a), (A,), (2 * A,)).d,
        SQUARES,
    ),
    "forward mode of a derivative backwards": (
        lambda m: fp.jvp(kept_apart(m).back_only, (A,), (np.ones_like(A),)),
        "add one: [ForwardDerivative(…)] before back_only",
        lambda m: fp.jvp(kept_apart(m).both_ways, (A,), (np.ones_like(A),)).d,
        SQUARES,
    ),
    "torch's words on a traced value": (
        lambda m: fp.fuse(lambda x: fp.sum(x * x).backward())(A),
        "write fp.grad(f)(x), or fp.value_and_grad(f)(x)",
        lambda m: fp.grad(total)(A),
        SQUARES,
    ),
    "a traced value detached": (
        lambda m: fp.grad(lambda x: fp.sum(2.0 * x * x.detach()))(A),
        "write fp.stop_gradient(t)",
        lambda m: fp.grad(lambda x: fp.sum(2.0 * x * fp.stop_gradient(x)))(A),
        SQUARES,
    ),
    "the number of a traced value": (
        lambda m: fp.fuse(lambda x: total(x).item())(A),
        "it has no number yet: return it, and ask what the call returns",
        lambda m: fp.fuse(total)(A).item() * np.ones(3, F32),
        14 * np.ones(3, F32),
    ),
    "a tensor's gradient as in torch": (
        lambda m: fp.Tensor(A).backward(),
        "write fp.grad(f)(t), since a gradient is that of a function",
        lambda m: fp.grad(total)(fp.Tensor(A)),
        SQUARES,
    ),
    "torch's word for axes": (
        lambda m: fp.sum(A, dim=0),  # type: ignore[call-arg]
        "write axis=0",
        lambda m: fp.sum(A, axis=0),
        np.float32(6),
    ),
    "integers": (
        lambda m: fp.grad(lambda x: fp.sum(x * 1.0))(A.astype(np.int32)),
        "convert it before the call, e.g. x.astype(np.float32)",
        lambda m: fp.grad(total)(A.astype(np.int32).astype(np.float32)),
        SQUARES,
    ),
    "a gradient of another structure": (
        lambda m: fp.vjp(total, A)[1]((1.0, 1.0)),
        "pass one gradient for each result, in the same tuples, lists and dicts",
        lambda m: fp.vjp(total, A)[1](1.0)[0],
        SQUARES,
    ),
    "a loop of unknown length": (
        lambda m: fp.grad(grown)(A, COUNTS),
        "write fp.fori_loop(lo, hi, body, init, max_steps=…)",
        lambda m: fp.grad(lambda x, n: fp.sum(fp.fori_loop(0, n, lambda i, c: c * x, 1.0 + 0 * x, max_steps=4)))(A, COUNTS),
        SQUARES,
    ),
    "a loop without a limit": (
        lambda m: fp.grad(lambda x, n: endless(x, n))(A, COUNTS),
        "write fp.while_loop(test, body, init, max_steps=…)",
        lambda m: fp.grad(bounded)(A, COUNTS),
        SQUARES,
    ),
    "a scan of vectors by a function": (
        lambda m: fp.grad(lambda x: fp.sum(fp.scan(m.plus3, 0.0, fp.vcast(x, "float3")).x))(np.ones((3, 3), F32)),
        "combine numbers, each component by itself; or write a loop",
        lambda m: fp.grad(lambda x: fp.sum(fp.scan(m.plus, 0.0, x)))(A),
        np.array([3.0, 2.0, 1.0], F32),
    ),
    "a function without derivative": (
        lambda m: fp.grad(m.add)(A, 1.0),
        "declare it [Differentiable]",
        lambda m: fp.grad(lambda x: fp.sum(x * x))(A),
        SQUARES,
    ),
    "numbers read as one struct": (
        lambda m: fp.grad(lambda a: m.lit(fp.vcast(a, m.Spot)))(np.ones((1, 4), F32)),
        "a dict of the fields",
        lambda m: fp.grad(lambda s: m.lit(s))({"at": np.ones((1, 3), F32), "power": 1.0})["at"],
        np.array([[0, 1, 0]], F32),
    ),
    "the second order of a Slang function with an out parameter": (
        lambda m: fp.grad(fp.grad(lambda x: m.squared_into(x)))(A),
        "give it a result in place of out and inout parameters",
        lambda m: A * fp.grad(fp.grad(m.squared))(A),
        SQUARES,
    ),
    "the second order of what is read": (
        lambda m: fp.grad(lambda t: fp.sum(fp.grad(m.weighted, 2)(t, COUNTS, A)))(A),
        "read by array[i] or fp.take, and pass the elements",
        lambda m: fp.grad(lambda t: fp.sum(fp.grad(lambda x: m.scaled(t[COUNTS], x))(A)))(A),
        np.array([0.0, 0.0, 12.0], F32),
    ),
    "a tensor with gradients from outside": (
        lambda m: beside(leaf(), leaf(), False),
        "pass it as an argument, f.bwds(x, t); or read t.detach(), which has no gradients",
        lambda m: beside(leaf(), leaf(), True),
        A,
    ),
    "the second order of what a loop reads": (
        lambda m: fp.grad(lambda v: fp.sum(fp.grad(lambda v: fp.fori_loop(0, 3, lambda i, s: s + v[i] * v[i] * v[i], 0.0))(v)))(
            A
        ),
        "write a loop of Python, for i in range(n)",
        lambda m: fp.grad(lambda v: fp.sum(fp.grad(lambda v: sum(v[i] * v[i] * v[i] for i in range(3)))(v)))(A),
        6 * A,
    ),
    "a gradient in a loop by a struct from outside": (
        lambda m: fp.fuse(lambda s: fp.fori_loop(0, 2, lambda i, c: c + fp.grad(m.lit)(s).power, A))(
            fp.Tensor.zeros(fp.default_device(), (3,), m.Spot)
        ),
        "pass its fields in a dict",
        lambda m: fp.fuse(lambda s: fp.fori_loop(0, 2, lambda i, c: c + fp.grad(m.lit)(s)["power"], A))(
            {"at": fp.Tensor(np.ones((3, 3), F32), dtype=m.float3), "power": A}
        ),
        A + 2,
    ),
    "an array of structs with a matrix": (
        lambda m: gathered(m.turned, m.Turned),
        "declare it as an array of vectors, float3 rows[2]",
        lambda m: gathered(m.rows, m.Rows)["rows"][:, 0, 0],
        np.array([0.0, 0.0, 3.0], F32),
    ),
    "an array of structs with a gap": (
        lambda m: gathered(m.gap, m.Gap),
        "declare the doubles before the other members",
        lambda m: gathered(m.full, m.Full)["a"],
        np.array([0.0, 0.0, 3.0], F32),
    ),
    "an array of large structs": (
        lambda m: gathered(m.wide, m.Wide),
        "make two structs of Wide, each in a Tensor of its own",
        lambda m: gathered(m.full, m.Full)["a"],
        np.array([0.0, 0.0, 3.0], F32),
    ),
    "an array of structs without derivative": (
        lambda m: fp.grad(m.at)(fp.Tensor.zeros(m.device, (3,), m.Ray)),
        "declare struct Ray : IDifferentiable",
        lambda m: fp.grad(lambda s: m.lit(s))({"at": np.ones((1, 3), F32), "power": 1.0})["at"],
        np.array([[0, 1, 0]], F32),
    ),
    "an array that may be written": (
        lambda m: fp.grad(lambda t: m.kept(t, COUNTS))(A),
        "take it as a Tensor<T, N> of Slang's module fusepy",
        lambda m: fp.grad(lambda t: m.pick(t, COUNTS))(A),
        np.array([0.0, 0.0, 3.0], F32),
    ),
    "a struct without derivative": (
        lambda m: fp.grad(m.at)({"position": [0.0, 2.0, 0.0], "reach": A}),
        "declare struct Ray : IDifferentiable",
        lambda m: fp.grad(lambda x: fp.sum(x * x))(A),
        SQUARES,
    ),
    "a backward pass of arguments without gradients": (
        lambda m: m.squared.bwds(fp.Tensor(A)),
        "attach one before the call, x = x.with_grads(); what is computed is added to x.grad",
        lambda m: pulled(m.squared, fp.Tensor(A).with_grads()),
        SQUARES,
    ),
    "a backward pass inside a fused function": (
        lambda m: fp.fuse(lambda x: m.squared.bwds(x))(leaf()),
        "write fp.grad(f)(x), which returns the gradient; or call it outside",
        lambda m: fp.fuse(lambda x: fp.grad(m.squared)(x))(leaf()),
        SQUARES,
    ),
    "a gradient of the result that would be broadcast": (
        lambda m: m.squared.bwds(leaf(), _result=fp.Tensor([1]).with_grads()),
        "pass one gradient for each element of the result",
        lambda m: pulled(m.squared, leaf(), fp.Tensor([0, 0, 0]).with_grads(grad_in=fp.Tensor([1, 1, 1]))),
        SQUARES,
    ),
    "more results than there are": (
        lambda m: m.squared.bwds(leaf(), _result=(leaf(), leaf())),
        "pass all that the call returned, in the same order, or omit _result=",
        lambda m: pulled(m.squared, leaf()),
        SQUARES,
    ),
    "a container for the result of a backward pass": (
        lambda m: m.squared.bwds(leaf(), _result="numpy"),
        "pass the result of the call, whose .grad is its gradient; or omit _result=",
        lambda m: pulled(m.squared, leaf()),
        SQUARES,
    ),
    "a backward pass as a node": (
        lambda m: m.squared.bwds.node()(1.0),
        "write graph.bwds(…), or make a node of fp.grad(f): fp.grad(f).node()",
        lambda m: graph_of(fp.grad(m.squared).node())(A),
        SQUARES,
    ),
    "a backward pass of integers": (
        lambda m: fp.fuse(lambda x: fp.argmax(x)).bwds(leaf()),
        "differentiate a function whose result depends on its arguments as half, float or double",
        lambda m: pulled(fp.fuse(total), leaf()),
        SQUARES,
    ),
    "a gradient of what has no elements": (
        lambda m: fp.differentiable(object()),
        "pass its numbers: Tensor.from_numpy(device, array).with_grads()",
        lambda m: pulled(m.squared, fp.Tensor.from_numpy(m.device, A).with_grads()),
        SQUARES,
    ),
    "a gradient that Slang computes wrongly": (
        lambda m: fp.check_grads(twice_read(m).wrong, A, 1, 1),
        "rewrite the Slang function as docs/guide/gradients.md says under 'Derivatives that Slang computes wrongly'",
        lambda m: fp.check_grads(twice_read(m).right, A, 1, 1) or fp.grad(twice_read(m).right)(A, 1, 1),
        SQUARES,
    ),
    "a gradient that is cut off": (
        lambda m: fp.check_grads(lambda a, b: fp.sum(a) * fp.stop_gradient(b), A, 2.0),
        "check the others only, by argnums= of check_grads",
        lambda m: fp.check_grads(lambda a, b: fp.sum(a) * fp.stop_gradient(b), A, 2.0, argnums=0) or 2 * A,
        SQUARES,
    ),
    "an argument of integers, to check": (
        lambda m: fp.check_grads(lambda a, n: a * n, A, 2, argnums="n"),
        "name arguments of floats in argnums=, or leave it out to check all of them",
        lambda m: fp.check_grads(lambda a, n: a * n, A, 2, argnums="a") or 2 * A,
        SQUARES,
    ),
    "an argument that is not there, to check": (
        lambda m: fp.check_grads(lambda a, b: a * b, A, A, argnums=2),
        "its parameters: a, b",
        lambda m: fp.check_grads(lambda a, b: a * b, A, A, argnums=(1, "a")) or 2 * A,
        SQUARES,
    ),
    "a check of a function of integers": (
        lambda m: fp.check_grads(lambda n: n * 2, np.int32(1)),
        "return a number such as fp.sum(…)",
        lambda m: fp.check_grads(total, A) or fp.grad(total)(A),
        SQUARES,
    ),
    "fewer tangents than arguments": (
        lambda m: fp.jvp(lambda x, y: x * y, (A, A), (A,)),
        "pass None for an argument that does not change",
        lambda m: fp.jvp(lambda x, y: x * y, (A, A), (2 * np.ones_like(A), None)).d,
        SQUARES,
    ),
    "the gradient of a function that writes what it reads": (
        lambda m: swapped(memory().swap),
        "take what is only read as Texture2D, StructuredBuffer or Tensor",
        lambda m: swapped(memory().look),
        SQUARES,
    ),
    "a tangent of another shape": (
        lambda m: fp.jvp(lambda x: x * x, (A,), (A[:2],)),
        "pass a tangent of the shape of its argument",
        lambda m: fp.jvp(lambda x: x * x, (A,), (np.ones_like(A),)).d,
        SQUARES,
    ),
    "a tangent of integers": (
        lambda m: fp.jvp(lambda x, n: x * x * n, (A, np.int32(1)), (np.ones_like(A), 1.0)),
        "pass None as its tangent",
        lambda m: fp.jvp(lambda x, n: x * x * n, (A, np.int32(1)), (np.ones_like(A), None)).d,
        SQUARES,
    ),
    "the tangent of an array that is read whole": (
        lambda m: fp.jvp(lambda x: m.pick(x, COUNTS), (A,), (A,)),
        "m.f(x[i]) in place of m.f(x, i)",
        lambda m: fp.jvp(lambda x: m.squared(x[COUNTS]), (A,), (np.ones_like(A),)).d,
        2 * A[COUNTS],
    ),
    "one value for the results of several calls": (
        lambda m: m.add(A, 1.0, _result=np.zeros((), F32)),
        "f.accumulate(result='sum') adds the values of all calls up",
        lambda m: m.add.accumulate(result="sum")(A, 1.0, _result=np.zeros((), F32)),
        np.float32(9),
    ),
    "an accumulator of long arrays": (
        lambda m: many_of("many")(A),
        "accumulate numbers or vectors: write a Slang function that returns the field",
        lambda m: many_of("one_of_many")(A),
        np.float32(6),
    ),
    "an accumulator of a gradient behind a reduction": (
        lambda m: fp.fuse(total).bwds.accumulate({"x.grad": "max"})(leaf()),
        "accumulate the gradients of a Slang function, or of a fused function without reductions",
        lambda m: largest(m.squared, leaf()),
        np.float32(6),
    ),
    "a gradient that an accumulator has made": (
        lambda m: [f(x) for x in [leaf()] for f in (m.squared.bwds.accumulate({"x.grad": "max"}), m.squared.bwds)],
        "attach a new one, x = x.with_grads()",
        lambda m: pulled(m.squared, leaf().with_grads()),
        SQUARES,
    ),
}


def twice_read(m: Any) -> Any:
    """A module with a function that reads elements of one index twice by a macro, and one that reads them through a function."""
    source = """
    #define AT(i) x[i]
    [Differentiable] float wrong(float a, int k, int l) { float x[2] = {1, a}; return AT(k) * AT(l); }
    [Differentiable] float get(float x[2], int k) { return x[k]; }
    [Differentiable] float right(float a, int k, int l) { float x[2] = {1, a}; return get(x, k) * get(x, l); }
    """
    return fp.Module.load_from_source(m.device, "twice_read", source)


def kept_apart(m: Any) -> Any:
    """A module with a constant that Slang differentiates, and with derivatives in one direction and in both."""
    source = """
    [Differentiable] float squared(float x) { return x * x; }
    [Differentiable] float wrong(float x) { return squared(x) + no_diff squared(x); }
    [Differentiable] float right(float x) { return squared(x) + detach(squared(x)); }
    [BackwardDerivative(back)] float back_only(float x) { return x * x; }
    [BackwardDerivative(back)] [ForwardDerivative(ahead)] float both_ways(float x) { return x * x; }
    void back(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2 * x.p * d); }
    DifferentialPair<float> ahead(DifferentialPair<float> x) { return diffPair(x.p * x.p, 2 * x.p * x.d); }
    """
    return fp.Module.load_from_source(m.device, "kept_apart", source)
