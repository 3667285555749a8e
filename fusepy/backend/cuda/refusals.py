"""The errors for what the CUDA driver refuses."""

from __future__ import annotations

from fusepy.errors import DeviceError, ExportError, FusepyError, OutOfDeviceMemory

_OUT_OF_MEMORY = 2
_OUT_OF_REGISTERS = 701
# errors of kernels that end the work of the context: an illegal address, a time limit, a failed assertion, and others
BROKEN = (700, 702, 710, *range(714, 722))
_CAPTURE = range(900, 909)  # CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and its neighbours


def refusal(code: int, saw: str) -> FusepyError:
    """Returns the error for a code of the driver; `saw` shows it."""
    if code == _OUT_OF_MEMORY:
        return OutOfDeviceMemory("the CUDA driver has no memory left", saw=saw, hint="drop tensors that are no longer needed")
    if code == _OUT_OF_REGISTERS:
        hint = "write .options(numthreads=[128]) on the function, for smaller groups; reductions have groups of their own"
        return DeviceError("a group of threads needs more registers or shared memory than there are", saw=saw, hint=hint)
    if code in _CAPTURE:
        return captured(saw)
    return DeviceError("the CUDA driver refused", saw=saw)


def captured(saw: str) -> ExportError:
    """Returns the error for work that a captured graph cannot contain."""
    return ExportError(
        "this cannot be captured into a CUDA graph: the host would read, or compile, while nothing runs",
        saw=saw,
        expected="calls that ran once before, with arguments and results in CUDA memory",
        hint="call the function once before the capture, and read its results after it",
    )
