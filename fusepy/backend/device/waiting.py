"""Waiting for a device without holding the GIL, and a test of whether this thread holds a lock."""

from __future__ import annotations

import os
import threading
import time

import slangpy as spy

from fusepy.backend.lost import ASKED_S, Losses

BUSY_S = 1e-3


def wait_for_submission(device: spy.Device, submission: int, losses: Losses, *, short: bool = False, busy: bool = False) -> None:
    """Waits until a submission is finished. Meanwhile other threads run, and Ctrl-C interrupts.

    ``Device.wait_for_submit`` holds the GIL. Between polls the core is offered to other threads, above all to those of a software
    driver: a call that returns a number takes 26 µs that way and 43 without, on 2 cores with other work. After 200 µs it sleeps
    between polls, for 1/16 of the time waited so far, at most 1 ms.

    Args:
        losses: asked in long waits.
        short: true if such work of a software driver ended within microseconds before. Then it waits itself, which leaves
            both cores to its threads: a call that returns a number takes 40 µs, and 58 with polling.
        busy: true if the work runs on a GPU, to which a core means nothing. Then it keeps the core for `BUSY_S`: a call that
            returns a number takes 30 µs on an H100 with Vulkan, and 62 if it offers the core between polls. Afterwards it
            sleeps for 1/64 of the time waited so far: 1/16 would add 120 µs to a wait of 4 ms.

    Raises:
        DeviceLostError: if the device is lost.
    """
    finished = device.is_submit_finished
    if finished(submission):
        return
    if short:
        device.wait_for_submit(submission)
        return
    start = time.perf_counter()
    while busy and time.perf_counter() - start < BUSY_S:
        if finished(submission):
            return
    asked = ASKED_S
    while not finished(submission):
        waited = time.perf_counter() - start
        if waited > asked:
            asked = waited + ASKED_S
            losses.ask(device)
        if busy or waited > 200e-6:
            time.sleep(min(waited / (64 if busy else 16), 1e-3))
        else:
            _yield()


def holds(lock: threading.RLock) -> bool:
    """True if this thread holds the lock."""
    try:
        threading.Condition(lock).notify(0)
    except RuntimeError:  # "un-acquired lock"
        return False
    return True


def _sleep_0() -> None:
    time.sleep(0)


_yield = getattr(os, "sched_yield", _sleep_0)  # Windows has no such call
