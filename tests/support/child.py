"""Programs in processes of their own, each forked from a process that has imported fusepy and has opened no device.

Importing slangpy and fusepy takes most of the time of a short process. A test of imports themselves starts Python instead.
slangpy imports torch where it is installed, and a process that has torch takes 0.6 s longer to end: only programs that name torch
get it.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

# A line of standard input is a program; the fork that runs it leaves the loop, and ends as any Python does.
SERVER = """
import json, os, signal, sys
if sys.argv[1:] == ["without torch"]:
    sys.modules["torch"] = None
import fusepy
while line := sys.stdin.readline():
    job = json.loads(line)
    process = os.fork()
    if not process:
        break
    before = sum(os.times()[2:4])
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    print(status, sum(os.times()[2:4]) - before, flush=True)
else:
    os._exit(0)
for name, number in (("in", 0), ("out", 1), ("err", 2)):
    os.dup2(os.open(job[name], os.O_RDWR | os.O_CREAT), number)
sys.stdin = open(0, closefd=False)
os.environ.clear()
os.environ.update(job["env"])
signal.setitimer(signal.ITIMER_REAL, job["seconds"])
sys.argv = ["-c", *job["arguments"]]
exec(compile(job["program"], "<string>", "exec"), {"__name__": "__main__"})
"""


cpu_seconds: list[float] = []  # of each program that has run
_one_by_one = threading.Lock()


@cache
def _server(torch: bool) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SERVER, *["without torch"] * (not torch)]
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    server = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(server.kill)
    return server


def run(
    program: str, *arguments: str, seconds: float = 120, input: bytes = b"", torch: bool | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program with the environment of this process and what is said beside it.

    It gets torch as ``torch`` says, or if it names it.

    Raises:
        subprocess.TimeoutExpired: if it was killed, after so many seconds.
    """
    from fusepy.backend.cuda.driver import cuda_driver  # torch's libraries are those that CUDA's devices find

    env: Mapping[str, str] = {**os.environ, **environment}
    command = [sys.executable, "-c", program, *arguments]
    if not sys.platform.startswith("linux"):  # forks of other systems must not use their graphics libraries
        paths = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH")]))
        done = subprocess.run(
            command, env={**env, "PYTHONPATH": paths}, cwd=ROOT, input=input, capture_output=True, timeout=seconds
        )
        return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())
    with tempfile.TemporaryDirectory() as folder, _one_by_one:
        files = {name: Path(folder) / name for name in ("in", "out", "err")}
        files["in"].write_bytes(input)
        job: dict[str, Any] = {name: str(path) for name, path in files.items()}
        job |= {"program": program, "arguments": arguments, "env": env, "seconds": seconds}
        if torch is None:
            torch = any("torch" in text for text in (program, *arguments)) or cuda_driver() is not None
        server = _server(torch)
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(job) + "\n")
        server.stdin.flush()
        status, seconds_taken = server.stdout.readline().split()
        cpu_seconds.append(float(seconds_taken))
        if int(status) == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(command, seconds)
        return subprocess.CompletedProcess(command, int(status), files["out"].read_text(), files["err"].read_text())


def start(command: list[str], *, input: bytes, timeout: float, **_: Any) -> subprocess.CompletedProcess[bytes]:
    """`subprocess.run` of ``[python, "-c", program]``, for code of fusepy that starts such a process."""
    ended = run(*command[2:], seconds=timeout, input=input)
    return subprocess.CompletedProcess(command, ended.returncode, ended.stdout.encode(), ended.stderr.encode())
