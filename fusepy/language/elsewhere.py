"""Words of torch, JAX, NumPy and Slang for what has another name here, with what to write."""

from __future__ import annotations

from fusepy.errors import UnknownNameError
from fusepy.location import user_line

NAMES = {  # of the module; in examples x and y are arrays, f is a function
    **dict.fromkeys(("jit", "compile", "vectorize"), "fp.fuse(f)(x), or @fp.fuse above f"),
    **dict.fromkeys(("tensor", "as_tensor", "from_numpy", "device_put"), "fp.asarray(x)"),
    **dict.fromkeys(("no_grad", "inference_mode"), "f(x), since gradients are computed by fp.grad(f)(x) only"),
    **dict.fromkeys(("no_diff", "detach"), "fp.stop_gradient(x)"),
    **{name: f"fp.nn.{name}(x)" for name in ("relu", "sigmoid", "softplus", "silu", "gelu")},
    "frac": "fp.fract(x)",
    "clamp": "fp.clip(x, 0.0, 1.0)",
    "select": "fp.where(x > 0, x, y)",
    "average": "fp.mean(x)",
    "mse_loss": "fp.mean((x - y) ** 2)",
    "rand": "fp.random.uniform(fp.random.key(0), (2, 3))",
    "randn": "fp.random.normal(fp.random.key(0), (2, 3))",
    **{name: f"fp.nn.{name}(lr=1e-3)" for name in ("SGD", "Adam", "AdamW")},
    "save": 'fp.nn.save("file.safetensors", {"x": x})',
    **{name: f"fp.astype(x, np.{name})" for name in ("float16", "float32", "float64", "int32", "int64")},
}
_WITH = "t.with_grads(), to whose .grad f.bwds(t) adds"
OF_TENSORS = {
    **dict.fromkeys(("backward", "grad_fn"), "fp.grad(f)(t), since a gradient is that of a function"),
    **dict.fromkeys(("requires_grad", "requires_grad_"), _WITH),
    "cpu": "t.numpy()",
    **{name: f"fp.{name}(t)" for name in ("sqrt", "exp", "log", "abs", "sin", "cos", "tanh", "square")},
    **dict.fromkeys(("float", "type"), "t.astype(float)"),
    "unsqueeze": "t[None], with None where the new axis is",
    "permute": "t.transpose(0), with the axes in their new order",
    "pow": "t ** 2",
    "clamp": "t.clip(0.0, 1.0)",
}


def no_name(name: str) -> AttributeError:
    """Returns the error for a name that the module does not have."""
    if name not in NAMES:
        return AttributeError(f"module 'fusepy' has no attribute {name!r}")
    return UnknownNameError(f"fusepy has no {name!r}", place=user_line(), hint=f"write {NAMES[name]}")


def no_attribute(name: str) -> AttributeError:
    """Returns the error for an attribute that tensors do not have."""
    if name not in OF_TENSORS:
        return AttributeError(f"'Tensor' object has no attribute {name!r}")
    return UnknownNameError(f"a Tensor has no .{name}", place=user_line(), hint=f"write {OF_TENSORS[name]}")
