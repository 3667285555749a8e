"""torch, which fusepy never imports on its own: its class, its gradients, its CUDA context, and tensors made by it.

Apart from this module only `backend.marshals.torch`, `functions.autograd` and `functions.torch_graph` use torch. A class
belongs to torch only after the user has imported torch.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from fusepy.errors import GradientError, MissingPackageError, UnsupportedArgumentError
from fusepy.ir.strides import span

_NAMES = ("bool", "float16", "float32", "float64", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)))
_NUMPY = {f"torch.{name}": np.dtype(name) for name in _NAMES}


def need_torch() -> Any:
    """Returns the module torch. Imports it if necessary.

    Raises:
        MissingPackageError: if it is not installed.
    """
    imported = sys.modules.get("torch")
    if imported is not None:  # 3 µs less than `import_module`
        return imported
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise MissingPackageError(
            "torch is not installed", saw=error, hint="install it with: pip install 'fusepy-slang[torch]'"
        ) from None


def is_torch(cls: type[Any]) -> bool:
    """True if a class is torch's ``Tensor`` or derives from it."""
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(cls, getattr(torch, "Tensor", ()))


def place_of(value: Any) -> tuple[tuple[int, ...] | None, int] | None:
    """Returns how the elements of a torch tensor in CUDA memory lie; None for any other value.

    That is its strides, None where each element follows the last, and the last four bits of its address.
    """
    if not getattr(value, "is_cuda", False) or getattr(value, "layout", None) is not need_torch().strided or not value.numel():
        return None
    if value.is_neg():
        return None
    return None if value.is_contiguous() else value.stride(), value.data_ptr() & 15


def span_of(value: Any) -> int:
    """Returns the bytes from the first to the last element of a torch tensor."""
    return span(value.shape, value.stride())[1] * value.itemsize


def current_cuda_device() -> int:
    """Returns the index of torch's current CUDA device; 0 if torch uses none."""
    torch = sys.modules.get("torch")
    return torch.cuda.current_device() if torch is not None and torch.cuda.is_initialized() else 0


def stream_reader(index: int) -> Callable[[], int]:
    """Returns a function that returns the handle of torch's current stream on a CUDA device."""
    torch = need_torch()
    quick = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # 0.1 µs; what torch.compile calls. The public way takes 2 µs
    return (lambda: torch.cuda.current_stream(index).cuda_stream) if quick is None else partial(quick, index)


@cache
def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """Returns the NumPy dtype for one of torch.

    Raises:
        UnsupportedArgumentError: for a dtype without a Slang type.
    """
    found = _NUMPY.get(str(dtype))
    if found is None:
        raise UnsupportedArgumentError(
            f"Slang has no type for {dtype}",
            saw=dtype,
            expected="bool, int8 to int64, uint8 to uint64, float16, float32, float64",
            hint="pass t.real and t.imag as two tensors" if dtype.is_complex else "convert the tensor with .float()",
        )
    return found


@cache
def torch_dtype(element: Any) -> Any:
    """Returns torch's dtype for the components of an `Element`, as they are stored."""
    torch = need_torch()
    return torch.int32 if element.stored != element.dtype else getattr(torch, str(element.dtype))


def is_tracked(tensor: Any) -> bool:
    """True if torch records operations on this tensor for its gradient."""
    return tensor.requires_grad and sys.modules["torch"].is_grad_enabled()


def check_gradient(tensor: Any, hint: str | None = None) -> None:
    """Raises `GradientError`, with this hint, if torch records operations on this tensor for its gradient; see `check_known`."""
    check_known(tensor)
    if is_tracked(tensor):
        raise GradientError(
            "a torch tensor that requires gradients is copied, written or set, and autograd does not see that",
            saw=f"requires_grad=True, {tensor.dtype}{list(tensor.shape)}",
            hint=hint or "pass t.detach(), or call under torch.no_grad(); the results have no gradient then",
        )


def check_known(tensor: Any) -> None:
    """Raises `UnsupportedArgumentError` for a tensor inside of ``torch.vmap`` or of torch's forward mode."""
    torch = sys.modules["torch"]
    if torch._C._functorch.is_batchedtensor(tensor):
        raise inside_of_vmap()
    if torch.autograd.forward_ad._current_level >= 0 and torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None:
        raise inside_of_forward_mode()


def inside_of_vmap() -> UnsupportedArgumentError:
    """Returns the error for a call inside of ``torch.vmap``, whose tensors have no memory of their own."""
    return UnsupportedArgumentError(
        "a call of fusepy inside of torch.vmap",
        saw="one of a batch of tensors",
        expected="the whole batch",
        hint="leave torch.vmap out: calls broadcast, m.f(w[:, None], x), and fp.vmap says which axes go together",
    )


def inside_of_forward_mode() -> UnsupportedArgumentError:
    """Returns the error for a call inside of torch's forward mode, which would lose the tangent."""
    return UnsupportedArgumentError(
        "a call of fusepy inside of torch's forward mode",
        saw="a tensor with a tangent",
        expected="tensors without tangents",
        hint="write fp.jvp(f, args, tangents); or go backwards, as torch.autograd.functional.jvp does",
    )


def check_numbers(tensor: Any) -> None:
    """Raises `UnsupportedArgumentError` if a fusepy tensor holds structs."""
    if tensor.element.dtype.names is not None:
        raise UnsupportedArgumentError(
            f"torch has no dtype for {tensor.dtype}",
            saw=tensor.dtype,
            expected="numbers",
            hint="return it as 'tensor' or 'numpy', and convert its fields one by one",
        )


def as_torch(tensor: Any) -> Any:
    """Returns a fusepy tensor as a torch tensor: in the same memory if torch can address it, else a copy on the CPU."""
    torch = need_torch()
    check_numbers(tensor)
    sharable = tensor.element.stored == tensor.element.dtype and all(s >= 0 for s in tensor.strides)
    if sharable and tensor.device.transfer.host_addressable:
        return torch.from_dlpack(tensor)
    if sharable and tensor.device.cuda is not None:
        return torch.as_tensor(tensor, device="cuda")
    return torch.from_numpy(tensor.to_numpy())
