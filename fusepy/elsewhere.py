"""Words of torch, JAX, NumPy, Slang and slangpy that have another name here, with the line to write."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from fusepy.errors import UnknownNameError
from fusepy.methods import FUNCTIONS
from fusepy.symbolic import TRACING

_ON_HOST = "since how many there are is known on the host only"
_HOST = "which NumPy computes on the host"
_FUSED = "fp.fuse(f)(x), or @fp.fuse above f"
_KEY = "fp.random.key(0)"
_DEVICE = "fp.default_device()"


def _table(text: str) -> dict[str, str]:
    """Returns names and lines of text: ``a b: line | c: line``."""
    entries = [one.partition(": ") for one in " ".join(text.split()).split(" | ")]
    return {name: line for names, _, line in entries for name in names.split()}


_SHORT = """
clamp hardtanh: fp.clip(x, 0.0, 1.0) | clamp_min: fp.maximum(x, 0.0) | clamp_max: fp.minimum(x, 1.0) | sgn: fp.sign(x) | expit:
fp.nn.sigmoid(x) | mul: x * y | sub: x - y | mv: x @ y[0] | ger: fp.outer(x[0], y[0]) | chain_matmul: x @ y @ x | addmm baddbmm:
x + x @ y | addcmul: x + x * y | addcdiv: x + x / y | movedim: fp.moveaxis(x, 0, 1) | swapdims: fp.swapaxes(x, 0, 1) | rollaxis:
fp.moveaxis(x, 1, 0) | permute permute_dims: fp.transpose(x, (1, 0)) | unsqueeze: x[None] | narrow: x[:, 0:1] | tensor_split
chunk: fp.split(x, 2) | unbind unstack: [x[i] for i in range(len(x))] | top_k: fp.topk(x, 1) | kthvalue: fp.sort(x)[..., 0] |
msort: fp.sort(x, axis=0) | trapz: fp.trapezoid(x) | std_mean: fp.std(x), fp.mean(x) | var_mean: fp.var(x), fp.mean(x) | aminmax:
fp.min(x), fp.max(x) | softsign: x / (1.0 + fp.abs(x)) | tanhshrink: x - fp.tanh(x) | mish: x * fp.tanh(fp.nn.softplus(x)) | elu
celu: fp.where(x > 0, x, fp.expm1(x)) | logit: fp.log(x / (1.0 - x)) | xlogy: fp.where(x == 0, 0.0, x * fp.log(y)) | dist:
fp.norm(x - y) | cdist: fp.norm(x[:, None] - y[None], axis=-1) | cosine_similarity: fp.sum(x * y, -1) / (fp.norm(x, axis=-1) *
fp.norm(y, axis=-1)) | bucketize: fp.searchsorted(y[0], x) | select_n piecewise: fp.select([x > 1, x > 0], [x, y], 0.0) |
associative_scan: fp.cumsum(x, axis=0), or fp.scan with a Slang function | map: fp.fuse(f)(x) | rcp: 1.0 / x | mad: x * y + x |
flatten: fp.ravel(x) | empty_like: fp.zeros_like(x) | frac: fp.fract(x) | mse_loss: fp.mean((x - y) ** 2) | l1_loss:
fp.mean(fp.abs(x - y)) | mgrid: fp.indices((2, 3)) | log_sigmoid logsigmoid: -fp.nn.softplus(-x) | isscalar: fp.ndim(x) == 0 |
tril_indices: fp.tril(x) | triu_indices: fp.triu(x) | identity: fp.eye(3) | dstack: fp.stack([x, y], axis=-1) | column_stack:
fp.stack([x[0], y[0]], axis=1) | masked_fill: fp.where(x > 0, 0.0, x) | numel: x.size | array_split: fp.split(x, 2) | scatter_add
index_add segment_sum: fp.einsum("ik,ij->kj", fp.one_hot([0, 1], 2), x) | segment_max segment_min scatter_reduce:
fp.max(fp.where(fp.eye(2)[..., None] > 0, x[:, None], -np.inf), axis=0) | scatter index_put index_copy index_fill index_update:
fp.where(fp.arange(2)[:, None] == 1, 0.0, x) | delete: fp.concatenate([x[:1], x[2:]]) | is_tensor: isinstance(x, fp.Tensor) |
ndarray: fp.Tensor | bool_: fp.astype(x, bool) | dtype: np.dtype('float32')
"""  # names, and what to write for them
NAMES = {  # of the module; in examples x and y are arrays, f is a function
    **dict.fromkeys(("jit", "compile", "vectorize", "pmap", "pjit"), _FUSED),
    "lax": "fp.fori_loop(0, 3, lambda i, s: s + i, 0.0), fp.while_loop(…), fp.cond(…), fp.scan(…)",
    "numpy": "fp.sqrt(x), since NumPy's functions are names of fusepy",
    **dict.fromkeys(("tensor", "as_tensor", "from_numpy", "from_dlpack", "device_put"), "fp.asarray(x)"),
    **dict.fromkeys(("device_get", "to_numpy"), "np.asarray(x)"),
    **dict.fromkeys(("no_grad", "inference_mode"), "f(x), since gradients are computed by fp.grad(f)(x) only"),
    **dict.fromkeys(("no_diff", "detach"), "fp.stop_gradient(x)"),
    **dict.fromkeys(("jacfwd", "jacrev", "jacobian", "hessian"), "fp.jvp(f, (x,), (y,)), which is one direction"),
    **{name: f"fp.nn.{name}(x)" for name in ("relu", "sigmoid", "softplus", "silu", "gelu", "leaky_relu")},
    "cross_entropy": "-fp.mean(y * fp.log(fp.softmax(x)))",
    **dict.fromkeys(("linear", "mm", "bmm"), "x @ y"),
    "linalg": "fp.norm(x), which is there; np.linalg.inv(np.asarray(x)) and the like are for the host",
    **{name: f"np.linalg.{name}(np.asarray(y)), {_HOST}" for name in ("inv", "svd", "eigh", "det")},
    "solve": f"np.linalg.solve(np.asarray(y), np.asarray(x)), {_HOST}",
    "fft": f"np.fft.fft(np.asarray(x)), {_HOST}",
    "bincount": "fp.sum(fp.one_hot(fp.ravel(x), 3), axis=0), which counts 0, 1 and 2; how many bins there are is said",
    "fromfunction": "fp.fuse(f)(fp.arange(3))",
    "apply_along_axis": "fp.sum(x, axis=0), since functions along axes take the axis",
    **dict.fromkeys(("tree", "tree_map", "tree_util"), "fp.fuse(lambda p: [v * 2.0 for v in p])([x, y])"),
    **dict.fromkeys(("checkpoint", "remat"), "fp.grad(f)(x), which computes again what it needs of f"),
    **dict.fromkeys(("custom_vjp", "custom_jvp"), "fp.stop_gradient(x), or [BackwardDerivative(f_bwd)] above a Slang function"),
    "eval_shape": "fp.shape(f(x))",
    "make_jaxpr": "fp.fuse(f).ir(x)",
    "disable_jit": "f(x), since calls run one by one unless fp.fuse takes them",
    **_table(_SHORT),
    "masked_select": f"np.asarray(x)[np.asarray(x) > 0], {_ON_HOST}",
    **dict.fromkeys(("cat", "concat", "append", "row_stack"), "fp.concatenate([x, y])"),
    **dict.fromkeys(("gather", "index_select"), "fp.take(x, [0, 1], axis=0)"),
    "copy": "fp.asarray(x).copy()",
    **{name: f"np.{name}(np.asarray(x)), {_ON_HOST}" for name in ("nonzero", "argwhere", "flatnonzero", "unique")},
    "rand": f"fp.random.uniform({_KEY}, (2, 3))",
    "randn": f"fp.random.normal({_KEY}, (2, 3))",
    "randint": f"fp.random.integers({_KEY}, 0, 10, (2, 3))",
    "randperm": f"fp.random.permutation({_KEY}, 10)",
    **dict.fromkeys(("manual_seed", "PRNGKey"), _KEY),
    **dict.fromkeys(("optim", "optimizers", "RMSprop"), "fp.nn.Adam(lr=1e-3)"),
    **dict.fromkeys(("backward", "autograd"), "fp.grad(f)(x), since a gradient is that of a function"),
    "zero_grad": "fp.differentiable(x).grad.clear(); what fp.grad(f)(x) returns needs none",
    **{name: f"fp.nn.{name}(lr=1e-3)" for name in ("SGD", "Adam", "AdamW")},
    "save": 'fp.nn.save("file.safetensors", {"x": x})',
    **dict.fromkeys(("device", "devices", "cuda", "get_default_device"), _DEVICE),
    **dict.fromkeys(("synchronize", "block_until_ready"), f"{_DEVICE}.wait()"),
    **{name: f"fp.astype(x, np.{name})" for name in ("float16", "float32", "float64")},
    **{name: f"fp.astype(x, np.{name})" for name in ("int8", "int16", "int32", "int64", "uint8", "uint32")},
}
OF_RANDOM = {  # of `fusepy.random`
    **dict.fromkeys(("seed", "PRNGKey", "default_rng", "manual_seed", "Generator"), _KEY),
    **dict.fromkeys(("rand", "random", "random_sample"), NAMES["rand"]),
    **dict.fromkeys(("randn", "standard_normal"), NAMES["randn"]),
    **dict.fromkeys(("randint", "random_integers"), NAMES["randint"]),
    **dict.fromkeys(("shuffle", "randperm"), NAMES["randperm"]),
    "choice": f"x[fp.random.integers({_KEY}, 0, len(x), (5,))]",
}
OF_NN = {  # of `fusepy.nn`
    **dict.fromkeys(("Linear", "Sequential", "Module", "Dense"), 'fp.nn.MLP(2, 16, 1, activation="relu")'),
    "Parameter": 'fp.nn.parameters({"x": x})',
    **{name: f"fp.nn.{name.lower()}(x)" for name in ("ReLU", "Sigmoid", "Softplus", "SiLU", "GELU", "Tanh")},
    "MSELoss": NAMES["mse_loss"],
    "CrossEntropyLoss": NAMES["cross_entropy"],
    "functional": "fp.nn.relu(x), fp.softmax(x) and the like",
    "softmax": "fp.softmax(x)",
    "one_hot": "fp.one_hot(x, 3)",
    "log_softmax": "fp.log_softmax(x)",
    "LayerNorm": "(x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)",
    "Dropout": f"fp.where(fp.random.bernoulli({_KEY}, 0.5, x.shape), x * 2.0, 0.0)",
    "Embedding": "fp.take(x, [0, 1], axis=0)",
    **dict.fromkeys(("optim", "RMSprop"), "fp.nn.Adam(lr=1e-3)"),
}
_WITH = "t.with_grads(), to whose .grad f.bwds(t) adds"
_IN_PLACE = {
    **dict.fromkeys(("zero_", "clear_"), "t[...] = 0.0"),
    **dict.fromkeys(("fill_", "fill", "copy_"), "t[...] = 1.0"),
    **{name: f"t {sign}= 2.0" for name, sign in (("add_", "+"), ("sub_", "-"), ("mul_", "*"), ("div_", "/"))},
    **dict.fromkeys(("scatter_add_", "index_add_"), "t[:1] += 1.0"),
    "at": "t[0] = 1.0",
    "masked_fill_": "t[...] = fp.where(t > 1, 0.0, t)",
}
_OF_MEMORY = {
    **dict.fromkeys(("cpu", "get"), "t.numpy()"),
    "tobytes": "t.numpy().tobytes()",
    **dict.fromkeys(("cuda", "to"), "t.astype(float), or fp.asarray(t, device=device) for another device"),
    "block_until_ready": "t.device.wait()",
    **dict.fromkeys(("is_cuda", "get_device"), "t.device"),
    "data_ptr": "t.address",
    **dict.fromkeys(("requires_grad", "requires_grad_", "zero_grad"), _WITH),
    **dict.fromkeys(("backward", "grad_fn"), "fp.grad(f)(t), since a gradient is that of a function"),
    **dict.fromkeys(("data", "point_to"), "t[...], another view of the memory"),
    "stride": "t.strides",
    "nonzero": "np.nonzero(t.numpy())",
    "itemset": "t[0] = 1.0",
    **dict.fromkeys(("put", "scatter_", "index_put_", "index_copy_", "index_fill_"), "t[:1] = 1.0"),
    "element_size": "t.numpy().itemsize",
}
_OF_VALUES = {
    **{name: f"fp.{name}(t)" for name in ("sqrt", "exp", "log", "abs", "sin", "cos", "tanh", "square", "floor", "ceil", "sign")},
    **{name: f"fp.{name}(t)" for name in ("rsqrt", "log2", "exp2", "softmax")},
    **{name: f"fp.nn.{name}(t)" for name in ("relu", "sigmoid")},
    **_table("""
    float type double: t.astype(float) | int long: t.astype(int) | half: t.astype(np.float16) | bool: t.astype(bool) |
    unsqueeze: t[None], with None where the new axis is | permute: t.transpose(0), with the axes in their new order |
    expand expand_as: fp.broadcast_to(t, (3, 2)) | resize_: t.reshape(-1) | pow: t ** 2 | clamp: t.clip(0.0, 1.0) |
    clone: t + 0.0 | mm bmm matmul: t @ t | numel nelement: t.size | dim ndimension: t.ndim |
    masked_fill: fp.where(t > 1, 0.0, t) | scatter scatter_add index_add index_fill: fp.where(fp.arange(2) == 1, 0.0, t) |
    gather index_select: fp.take(t, [0, 1]) | chunk: fp.split(t, 2) | narrow: t[0:1] |
    norm: fp.norm(t) | topk: fp.topk(t, 1) | sort: fp.sort(t) | split: fp.split(t, 2) | roll: fp.roll(t, 1) |
    tile: fp.tile(t, 2) | searchsorted: fp.searchsorted(t, 1.0) | conj: t | apply_: fp.fuse(f)(t)
    """),
    **{name: f"fp.{name}(t)" for name in ("diff", "median", "diag", "flip")},
    **{name: f"t {sign} 1.0" for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"))},
    **{name: f"t {sign} 1.0" for name, sign in (("eq", "=="), ("gt", ">"), ("lt", "<"))},
}
OF_TENSORS = {**_IN_PLACE, **_OF_MEMORY, **_OF_VALUES, "clone": "t.copy()"}
OF_FUNCTIONS = _table("""
    grad gradient derivative bwd_diff: fp.grad(f)(x), or f.bwds for tensors with gradients |
    value_and_grad: fp.value_and_grad(f)(x) | vjp pullback: fp.vjp(f, x) |
    jvp jacfwd jacrev fwd_diff fwds: fp.jvp(f, (x,), (y,)) |
    vmap batch vectorize: f(x), which goes along the axes of its arguments | jit compile fuse: fp.fuse(f)(x) |
    apply forward: f(x) | reduce: fp.reduce(m.add, 0.0, x) | scan: fp.scan(m.add, 0.0, x) | outer: fp.fuse(f)(x[:, None])
""")
_GRADIENT = "fp.grad(f)(x), or fp.value_and_grad(f)(x), since a gradient is that of a function"
_NO_NUMBER = "it has no number yet: return it, and ask what the call returns"
_NEW = "fp.where(t > 1, 0.0, t), since values do not change: compute a new one"
OF_TRACED = {  # the hints of values in a trace
    **{name: f"write {line}" for name, line in _OF_VALUES.items() if name != "type"},
    **dict.fromkeys(_IN_PLACE, f"write {_NEW}"),
    **dict.fromkeys(("backward", "requires_grad", "requires_grad_", "grad", "grad_fn"), f"write {_GRADIENT}"),
    **dict.fromkeys(("item", "numpy", "tolist", "cpu", "to_numpy", "block_until_ready"), _NO_NUMBER),
    "detach": "write fp.stop_gradient(t)",
    "to": "write t.astype(float)",
    "cuda": "write t, which is on the device of its program",
    "view": "write t.reshape(-1)",
}


def no_name(name: str, names: dict[str, str] = NAMES, of: str = "fusepy") -> AttributeError:
    """Returns the error for a name that a module does not have."""
    known: object = getattr(np, name, None) if names is NAMES and not name.startswith("_") else None
    line = names.get(name)
    if line is None and (isinstance(known, np.ufunc) or hasattr(known, "_implementation")):  # as NumPy's functions of arrays
        line = f"np.{name}, with np.asarray(x) as its array, {_HOST}"
    if line is not None:
        before = TRACING.get() is not None and "np.asarray" in line  # which traced values refuse
        return UnknownNameError(f"{of} has no {name!r}", hint=f"{'before the call, ' if before else ''}write {line}")
    return AttributeError(f"module {of!r} has no attribute {name!r}")


def no_attribute(name: str) -> AttributeError:
    """Returns the error for an attribute that tensors do not have."""
    line = OF_TENSORS.get(name) or (f"fp.{name}(t)" if name in FUNCTIONS else None)
    if line is None and not name.startswith("_") and hasattr(np.ndarray, name):
        line = f"t.numpy().{name}"
    if line is None and len(name) <= 4 and (set(name) <= set("xyzw") or set(name) <= set("rgba")):
        line = "t[..., 0], or fp.vcast(t, 'float3').x for a component of vectors"
    if line is None:
        return AttributeError(f"'Tensor' object has no attribute {name!r}")
    return UnknownNameError(f"a Tensor has no .{name}", hint=f"write {line}")


def no_member(function: object, name: str) -> NoReturn:
    """Raises the error for an attribute that functions do not have."""
    kind = type(function).__name__
    if name in OF_FUNCTIONS:
        raise UnknownNameError(f"a {kind} has no .{name}", hint=f"write {OF_FUNCTIONS[name]}")
    raise AttributeError(f"{kind!r} object has no attribute {name!r}", name=name, obj=function)


def of_traced(name: str) -> str | None:
    """Returns the hint for an attribute that values in a trace do not have; ``None`` for one that nobody knows."""
    if name in OF_TRACED or name not in FUNCTIONS:
        return OF_TRACED.get(name, _NO_NUMBER if hasattr(np.ndarray, name) else None)
    return f"write fp.{name}(t)"
