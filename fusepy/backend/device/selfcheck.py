"""The self-check of a device: one small kernel shows that it can compile Slang, follow raw pointers and give right numbers.

`init_device` runs it on every device that it opens. A driver without a compiler (CUDA without NVRTC, say) is passed over at once,
instead of failing at the user's first call. The check also loads Slang's core module, which takes 11 ms and which the first
kernel of a process would otherwise pay.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import slangpy as spy

from fusepy.backend.slang.prelude import INCLUDE, SHORT, arguments
from fusepy.backend.slang.stage import COMPUTE

COUNT = 64
KERNEL = f"""
struct Block {{ float* a; float* b; float* r; }};
uniform Block block;
{" ".join(COMPUTE.attributes((COUNT, 1, 1)))}
void selfcheck(uint3 thread: SV_DispatchThreadID)
{{
    {INCLUDE}
    uint i = thread.x;
    block.r[i] = block.a[i] + block.b[i];
}}
"""


def _silent(stage: str) -> None:
    pass


def _compile(device: spy.Device, short: bool) -> tuple[spy.ShaderProgram, spy.ComputePipeline]:
    session = device.create_slang_session(
        compiler_options={"defines": SHORT, "downstream_args": list(arguments())} if short else {}
    )
    module = session.load_module_from_source("fusepy_selfcheck", KERNEL)
    program = session.link_program([module], [module.entry_point("selfcheck")])
    return program, COMPUTE.pipeline(device, program)


def selfcheck(device: spy.Device, enter: Callable[[str], None] = _silent) -> str | None:
    """Runs the kernel and returns the error in its results, or None.

    Args:
        enter: called with each stage before it begins (``"compile"``, ``"run"``, ``"check"``), because the process may end in it.

    Raises:
        RuntimeError, slangpy.SlangCompileError: raised by sgl.
    """
    enter("compile")
    on_cuda = device.info.type is spy.DeviceType.cuda
    try:
        program, pipeline = _compile(device, on_cuda)
    except RuntimeError:
        if not on_cuda:
            raise
        program, pipeline = _compile(device, False)  # behind the whole prelude, as any kernel that needs it

    enter("run")
    a = np.arange(COUNT, dtype=np.float32)
    b = a * np.float32(0.5)
    usage = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
    buffers = [device.create_buffer(size=a.nbytes, usage=usage) for _ in range(3)]
    buffers[0].copy_from_numpy(a)  # pyright: ignore[reportUnknownMemberType]
    buffers[1].copy_from_numpy(b)  # pyright: ignore[reportUnknownMemberType]
    root = device.create_root_shader_object(program)
    addresses = np.array([buffer.device_address for buffer in buffers], dtype=np.uint64)
    spy.ShaderCursor(root)["block"].set_data(addresses.view(np.uint8))  # pyright: ignore[reportUnknownMemberType]
    encoder = device.create_command_encoder()
    with COMPUTE.begin(encoder) as work:
        work.bind_pipeline(pipeline, root)
        work.dispatch_compute(spy.uint3(1, 1, 1))
    device.submit_command_buffer(encoder.finish())
    device.wait_for_idle()
    result = buffers[2].to_numpy().view(np.float32)  # pyright: ignore[reportUnknownMemberType]

    enter("check")
    wrong = int(np.count_nonzero(result != a + b))
    return f"a check kernel ran, and {wrong} of {COUNT} results are wrong" if wrong else None
