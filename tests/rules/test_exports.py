"""The public names: what `fusepy.__all__` lists, that it is documented, and that nothing else leaks."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import fusepy
from fusepy import errors, testing

# api.md, as far as issue 2 reaches; names may be added, none may go
PROMISED = set(
    """
    init_device default_device load Module Function fuse vmap vcast vdim vmapping grid resolve where stats clear_cache
    Tensor sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 log log2 log10 sqrt rsqrt power floor ceil trunc
    round fract abs sign minimum maximum clip saturate lerp step smoothstep dot cross length normalize reflect register
    Marshal Device FusepyError TraceError LeakedTracerError ResolveError NoMatchError AmbiguousCallError
    UnsupportedArgumentError CompileError GradientError OutOfDeviceMemory DeviceLostError IRSyntaxError VerifyError
    """.split()  # noqa: SIM905
)


def test_all_is_real() -> None:
    assert len(set(fusepy.__all__)) == len(fusepy.__all__)
    assert all(hasattr(fusepy, name) for name in fusepy.__all__)
    assert not PROMISED - set(fusepy.__all__)


def test_nothing_else_is_public() -> None:
    public = [(n, v) for n, v in vars(fusepy).items() if not n.startswith("_")]
    visible = {n for n, v in public if n in ("debug", "nn", "random", "render") or not inspect.ismodule(v)}
    assert visible == set(fusepy.__all__)
    for module in (fusepy, fusepy.debug, fusepy.nn, fusepy.random, fusepy.render, testing):
        assert {n for n in dir(module) if not n.startswith("_")} == set(module.__all__)  # no packages


def test_every_error_is_exported() -> None:
    defined = {
        n
        for n, v in vars(errors).items()
        if inspect.isclass(v) and issubclass(v, (errors.FusepyError, Warning)) and v.__module__ == errors.__name__
    }
    assert defined <= set(fusepy.__all__)
    drawn = errors.__doc__ or ""
    assert all(name in drawn for name in defined if issubclass(getattr(errors, name), errors.FusepyError))


@pytest.mark.parametrize("name", sorted({*fusepy.__all__} - {"pi", "e", "inf", "nan", "newaxis"}))
def test_every_public_object_is_documented(name: str) -> None:
    thing = getattr(fusepy, name)
    text = inspect.getdoc(thing) or ""
    assert text.split("\n\n")[0].rstrip().endswith((".", ":", "::")), f"{name}: {text[:80]!r}"
    if inspect.isclass(thing):
        for member, value in vars(thing).items():
            if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, (staticmethod, property))):
                told = inspect.getdoc(getattr(thing, member)) if not isinstance(value, property) else inspect.getdoc(value)
                assert told or f"{member}:" in text or member in ("device", "name", "dtype", "ndim"), (
                    f"{name}.{member} has no docstring"
                )


def test_version_and_typing_marker() -> None:
    assert fusepy.__version__.count(".") == 2
    assert (Path(fusepy.__file__).parent / "py.typed").exists()


def test_importing_opens_no_device_and_needs_no_optional_package() -> None:
    program = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "jax", "rich", "PIL", "skimage", "matplotlib"}:
            raise ImportError(name)
sys.meta_path.insert(0, Block())
import fusepy
from fusepy.backend.device import open as device
assert device._default is None
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=Path(fusepy.__file__).parent.parent, check=False
    )
    assert run.returncode == 0, run.stderr
