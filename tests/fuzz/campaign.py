"""Many programs in worker processes: restarted for the memory's sake, watched, and survived where they die."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE = 120.0  # seconds for one program, beyond which it hangs
BATCH = 300  # programs of one process


class Broken(Exception):
    """The fuzzer itself has failed: it made no program, or found no meaning of one."""


@dataclass
class Summary:
    """What a campaign has seen."""

    programs: int = 0
    calls: int = 0
    refusals: collections.Counter[str] = field(default_factory=collections.Counter)
    findings: list[dict[str, Any]] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{self.programs} programs, {self.calls} calls, {len(self.findings)} findings"]
        lines += [f"  refused {count} times: {kind}" for kind, count in self.refusals.most_common(12)]
        kinds = collections.Counter(f"{f['kind']}" for f in self.findings)
        lines += [f"  found {count} times: {kind}" for kind, count in kinds.most_common()]
        return "\n".join(lines)


class Campaign:
    """Programs from a seed on, until the time is over."""

    def __init__(self, seconds: float, seed: int, jobs: int, folder: Path | None = None, torch: bool = False):
        self.until = time.monotonic() + seconds
        self.started = time.monotonic()
        self.jobs = jobs
        self.torch = torch
        self.folder = folder
        self.summary = Summary()
        self._next = seed * 1_000_000
        self._broken: BaseException | None = None  # a fault of the fuzzer's own, which ends the campaign
        self._lock = threading.Lock()

    def run(self) -> Summary:
        """Runs it; prints a line now and then.

        Raises:
            Broken: if the fuzzer itself fails.
        """
        threads = [threading.Thread(target=self._job, daemon=True) for _ in range(self.jobs)]
        for t in threads:
            t.start()
        last = time.monotonic()
        while any(t.is_alive() for t in threads):
            time.sleep(0.2)
            if time.monotonic() - last > 20:
                last = time.monotonic()
                with self._lock:
                    s = self.summary
                    rate = s.programs / (last - self.started)
                    print(f"{last - self.started:5.0f} s: {s.programs} programs ({rate:.1f} a second), {s.calls} calls, "
                          f"{len(s.findings)} findings", flush=True)  # fmt: skip
        if self._broken is not None:
            raise self._broken
        return self.summary

    def _job(self) -> None:
        try:
            self._batches()
        except Exception as error:  # noqa: BLE001  # handed to the thread that waits
            self._broken = error
            self.until = 0

    def _batches(self) -> None:
        while time.monotonic() < self.until:
            with self._lock:
                first = self._next
                self._next += BATCH
            end = first + BATCH
            while first < end and time.monotonic() < self.until:
                first = self._batch(first, end - first)

    def _batch(self, first: int, count: int) -> int:
        """One process; returns the seed after the last one that it has seen."""
        errors = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115  # closed below
        command = [sys.executable, "-W", "ignore", "-m", "tests.fuzz", "--worker", str(first), str(count)]
        process = subprocess.Popen(
            command + (["--torch"] if self.torch else []), stdout=subprocess.PIPE, stderr=errors, text=True, env=os.environ
        )
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
        running: int | None = None
        seen = first
        try:
            while True:
                try:
                    line = lines.get(timeout=PATIENCE)
                except queue.Empty:
                    self._died(running, "hang", f"no answer in {PATIENCE:.0f} seconds", errors)
                    return seen + 1
                if line is None:
                    break
                said = json.loads(line)
                if "start" in said:
                    running = seen = said["start"]
                    continue
                if "broken" in said:
                    raise Broken(f"program {said['broken']}: {said['words']}")
                running = None
                self._done(said)
                if time.monotonic() > self.until:
                    return first + count
            code = process.wait(timeout=30)
            if running is not None or code:
                self._died(running if running is not None else first, "crash", f"exit {code}", errors)
            return seen + 1
        finally:
            with contextlib.suppress(OSError):
                process.kill()
            process.wait()
            errors.close()

    def _done(self, said: dict[str, Any]) -> None:
        with self._lock:
            self.summary.programs += 1
            self.summary.calls += said["calls"]
            for words in set(said["refusals"].values()):
                self.summary.refusals[kind_of_refusal(words)] += 1
            for finding in said["findings"][:1]:
                self._write({**finding, "seed": said["done"], "program": json.loads(said["program"])})

    def _died(self, seed: int | None, kind: str, words: str, errors: Any) -> None:
        from tests.fuzz.generate import program

        errors.seek(0)
        tail = errors.read()[-3000:]
        with self._lock:
            self.summary.programs += 1
            made = json.loads(program(seed, self.torch).dumps()) if seed is not None else {}
            self._write({"kind": kind, "mode": "", "words": f"{words}\n{tail}", "seed": seed, "program": made})

    def _write(self, finding: dict[str, Any]) -> None:
        self.summary.findings.append(finding)
        print(f"finding: seed {finding['seed']}, {finding['kind']} ({finding['mode']}): {finding['words'][:300]}", flush=True)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / f"{finding['seed']}.json").write_text(json.dumps(finding, indent=1))


def kind_of_refusal(words: str) -> str:
    """A refusal without what differs from program to program."""
    name, _, rest = words.partition(": ")
    rest = rest.split(": ", 1)[-1] if rest[:1].isalpha() and ".py:" in rest.split(": ")[0] else rest
    return f"{name}: " + " ".join(w for w in rest.split() if not any(c.isdigit() for c in w) and "'" not in w)[:70]


def _read(stream: Any, lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)
