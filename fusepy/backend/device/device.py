"""`Device`: an open GPU or software driver, with the queue, memory, caches and counters that fusepy keeps for it."""

from __future__ import annotations

import atexit
import functools
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

import slangpy as spy

from fusepy.backend.cache.disk import DiskCache
from fusepy.backend.cache.format import sealed, unsealed
from fusepy.backend.cuda.reads import CudaReads
from fusepy.backend.device.block import APART
from fusepy.backend.device.counters import Counters
from fusepy.backend.device.idle import give, keep_for_good, settle
from fusepy.backend.device.live import OPEN, Live, open_devices
from fusepy.backend.device.native_methods import NativeMethods
from fusepy.backend.device.pool import Pool
from fusepy.backend.device.queue import Queue
from fusepy.backend.device.recorder import outlive
from fusepy.backend.device.strided_copy import StridedCopies
from fusepy.backend.device.target import Target, is_in_order, kind_of, lanes_of
from fusepy.backend.device.transfer import Transfer
from fusepy.backend.device.waiting import holds
from fusepy.backend.lost import Losses, Lost, lost_error
from fusepy.backend.shared import Shared
from fusepy.backend.slang.compiler import Compiler
from fusepy.backend.slang.facts import FACTS_VERSION, Facts
from fusepy.backend.slang.oracle import SlangOracle
from fusepy.backend.slang.serialised import place
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import DeviceLostError

MAX_LIVE_PLANS = 256  # this and the sessions take 640 MB of resident memory, measured with 1,000 functions


class Device(Shared, NativeMethods):
    """An open device. `init_device` makes it; ``Device(...)`` opens one with the arguments of slangpy's class.

    Attributes:
        include_paths: folders in which Slang looks for imports, after the folder of the importing file.
        name: adapter and API, e.g. ``llvmpipe (LLVM 15.0.6, 256 bits) (Vulkan)``.
        identity: the device's part of the key of a compiled program.

    Example:
        >>> import fusepy as fp
        >>> dev = fp.init_device()
        >>> dev.is_open
        True
    """

    def __init__(
        self,
        type: spy.DeviceType = spy.DeviceType.automatic,
        *,
        sgl: spy.Device | None = None,
        include_paths: Sequence[str] | None = None,
        deferred: bool = True,
        cuda: int | None = None,
        options: Hashable = None,
        **arguments: Any,
    ):
        sgl = self._sgl = sgl or spy.Device(type, **arguments)
        self._hash = hash(sgl)
        self._options = options  # the options that opened `sgl`; None if others opened it and will close it
        info, built = sgl.info, f"{spy.SGL_VERSION} {spy.SGL_GIT_VERSION}"
        self.name = f"{info.adapter_name} ({info.api_name})"
        self.opened = f"{self.name}, opened as {id(self):#x}"  # of several with one name
        self.identity = f"{built} {info.api_name} {info.adapter_name} {sgl.supported_shader_model.name}"
        folders = sgl.slang_session.desc.compiler_options.include_paths if include_paths is None else include_paths
        self.include_paths = tuple(map(str, folders))
        self.lock = threading.RLock()
        self.losses = Losses(self)
        self.queue: Queue = Queue(sgl, self.lock, deferred=deferred, losses=self.losses)
        if self.queue.driver is not None:
            self.queue.driver.devices.append(weakref.ref(self.losses))
        self.reads = None if self.queue.driver is None else CudaReads(self.queue, self.lock)
        self.transfer = Transfer(sgl, flush=self.queue.flush, copy=self.queue.copy_out, fetch=self.reads, losses=self.losses)
        spends = not self.transfer.host_addressable  # other programs want the memory of the host, too
        self.pool = Pool(sgl, keeps_peak=spends, before_release=self.wait, lock=self.lock, clock=self.queue)
        self.pool.apart = 0 if spends else APART
        self.cache = DiskCache.from_environment()
        self.compiler = Compiler(sgl, self.lock, partial(place, self.cache, self.identity))
        self.counters = Counters()
        kind, adapter = kind_of(sgl), info.adapter_name
        self.target = Target(kind, sgl.info.type == spy.DeviceType.vulkan, lanes_of(adapter), is_in_order(kind, adapter))
        self.copies = StridedCopies(sgl, self.compiler, self.target, self.counters)
        self.features = frozenset(f.name for f in sgl.features)
        self.kernels: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()  # live ones by cache key
        self._facts: dict[str, Facts] = {}
        self.programs: Live[Any] = Live()  # compiled, for `reload`
        self.joints: OrderedDict[Any, Any] = OrderedDict()  # programs of recorded calls, by structure, in order of use
        self.replaced: set[str] = set()  # closures of sources that a reload has replaced
        self.modules: Live[Any] = Live()
        self.libraries: dict[str, Any] = {}  # fusepy's own modules, loaded when first used, by name
        self.recorded: list[tuple[Any, list[Any]]] = []  # objects that must outlive users' encoders
        self.cells: list[Any] = []  # memory for results that become numbers, which no call uses now
        self.retired: list[Any] = []  # owners of foreign memory that kernels may still read
        self.cuda = cuda  # the index of the CUDA device whose primary context it is in, as memory of torch, JAX and CuPy
        self.element_keys: dict[tuple[Any, object], object] = {}  # by element, and rank or shape information (`Element.key`)
        self.lost: str | None = None  # the reason why the device cannot be used any more
        self._plans: OrderedDict[int, weakref.ref[Any]] = OrderedDict()
        OPEN.add(self)
        # a device that is dropped releases the native one too
        self._dropped = weakref.finalize(self, give, options, sgl, self.transfer.waits) if options is not None else None
        if self._dropped is not None:
            self._dropped.atexit = False

    # ---- for users ---------------------------------------------------------------------------------------------

    @property
    def sgl(self) -> spy.Device:
        """The slangpy device, after all recorded work was submitted."""
        self.check()
        self.queue.flush()
        return self._sgl

    @property
    def is_open(self) -> bool:
        """True while calls can run here: false after `close`, a fork, or a loss."""
        return self.lost is None

    def wait(self) -> None:
        """Submits the recorded work and waits until the device is idle."""
        self.check()
        count = len(self.retired)
        last = self.queue.flush()
        if self.queue.driver is not None:
            self.queue.driver.wait(self.queue.stream)  # it says whether a kernel has failed; sgl would end the process
        self._sgl.wait()
        self.losses.check(self._sgl, last)
        del self.retired[:count]

    def close(self) -> None:
        """Waits for the device and for calls on other threads, then releases it.

        Every later use, on any thread, raises `DeviceLostError`. The memory of tensors is released too. Inside a call on this
        device (a hook, or a finaliser that runs there) the device is closed when that call ends.
        """
        if holds(self.lock):
            threading.Thread(target=self.close, name="fusepy-close").start()
            return
        if self.lost is None:
            self.save_facts()
            self.cache.flush()  # needs files that close with the device
        with self.lock:
            if self.lost is None:
                sgl, waits, healthy = self._sgl, self.transfer.waits, False
                try:
                    with suppress(DeviceLostError):  # noticed only here
                        self.wait()
                        self.forget()
                        healthy = True
                finally:
                    outlive(self.recorded)
                    if self.lost is None:
                        self.lose("it was closed")
                    if self._dropped is not None:
                        self._dropped.detach()
                        if healthy:
                            give(self._options, sgl, waits)

    def __repr__(self) -> str:
        return f"Device({self.name if self.lost is None else self.lost})"

    # ---- for the rest of fusepy ---------------------------------------------------------------------------------

    @property
    def raw(self) -> spy.Device:
        """The sgl device. Recorded work is not submitted."""
        return self._sgl

    @functools.cached_property
    def point_sampler(self) -> spy.Sampler:
        """A sampler that reads single texels without filtering."""
        point, edge = spy.TextureFilteringMode.point, spy.TextureAddressingMode.clamp_to_edge
        return self._sgl.create_sampler(
            min_filter=point, mag_filter=point, mip_filter=point, address_u=edge, address_v=edge, address_w=edge
        )

    def check(self) -> None:
        """Raises `DeviceLostError` if the device cannot be used any more."""
        if self.lost is not None:
            raise lost_error(self.lost)

    def release_retired(self) -> None:
        """Releases foreign memory whose tensors are gone, once no kernel reads it."""
        count = len(self.retired)
        if count:
            self.transfer.settle()
            del self.retired[:count]

    def lose(self, cause: str) -> None:
        """Marks the device as lost, for all users, also for threads inside a call."""
        self.lost = cause
        self.queue.close(cause)
        for part in (self.transfer, self.pool, self.compiler):
            part.close(cause)
        self._replace(cause)
        self.joints.clear()
        self.cells.clear()
        self.retired.clear()

    def break_down(self, cause: str) -> None:
        """Marks the device as lost because a kernel has broken it. No lock is taken: other threads may wait for this one."""
        if self.lost is None:
            cuda, parts = self.queue.driver is not None, (self.transfer, self.pool, self.compiler)
            self.queue.drop(cause)
            self.leave(cause, keeps=cuda)  # slang-rhi ends the process in any use of a broken context, also to release something
            if not cuda:
                threading.Thread(target=lambda: [part.close(cause) for part in parts], name="fusepy-close", daemon=True).start()

    def leave(self, cause: str, keeps: bool = True) -> None:
        """Marks the device as lost and, if it `keeps` that, leaves everything of it untouched until the process ends."""
        if self._dropped is not None:
            self._dropped.detach()
        if keeps:
            held = (self._sgl, self.queue, self.transfer, self.pool, self.compiler, self.copies, *self.cells)
            keep_for_good(*held, *self.kernels.values(), self.__dict__.get("point_sampler"))
        self.lost = cause
        self._replace(cause)

    def _replace(self, cause: str) -> None:
        """Replaces everything that accesses the native device with objects that raise `DeviceLostError`."""
        self._sgl = self.queue = self.transfer = self.pool = self.compiler = self.copies = cast("Any", Lost(cause))
        self.__dict__.pop("point_sampler", None)

    def facts(self, source: ModuleSource) -> Facts:
        """Returns the known facts about a module, from this process or the disk cache."""
        found = self._facts.get(source.closure)
        if found is None:
            key = f"facts {FACTS_VERSION} {source.closure} {self.identity}" if source.cacheable else None
            entry = self.cache.get(key) if key is not None else None
            found = self._facts[source.closure] = Facts(unsealed(entry.header) if entry else None, key)
        return found

    def save_facts(self) -> None:
        """Writes new facts to the disk cache. It runs when a kernel is built, and before the process ends."""
        for facts in list(self._facts.values()):
            if facts.changed and facts.key is not None:
                facts.changed = False
                self.cache.put_async(facts.key, sealed(facts.data), {})

    def oracle(self, sources: dict[str, ModuleSource]) -> SlangOracle:
        """Returns an oracle that answers about modules by the aliases of a graph."""
        self.check()
        return SlangOracle(self.compiler, sources, {alias: self.facts(s) for alias, s in sources.items()})

    def keep(self, plan: Any) -> None:
        """Registers a live plan. Beyond `MAX_LIVE_PLANS` the oldest plan drops its kernels; its next call compiles them again."""
        self.save_facts()
        with self.lock:
            self._plans[id(plan)] = weakref.ref(plan)
            self._plans.move_to_end(id(plan))
            while len(self._plans) > MAX_LIVE_PLANS:
                _, oldest = self._plans.popitem(last=False)
                evicted = oldest()
                if evicted is not None:
                    evicted.evict()

    def forget(self) -> None:
        """Drops all kernels, free memory, and all facts about modules."""
        self.save_facts()
        with self.lock:
            while self._plans:
                plan = self._plans.popitem()[1]()
                if plan is not None:
                    plan.evict()
            self.copies.clear()
            self.compiler.forget()
            self._facts.clear()
            self.wait()
            self.pool.trim()


def _after_fork() -> None:
    for device in open_devices():  # untouched: threads that do not exist here may have held its locks
        device.leave("it was opened before a fork, and a GPU context does not survive one in the child")
        device.lock = threading.RLock()


def _at_exit() -> None:
    for device in open_devices():
        device.close()  # threads may still call, and sgl's own devices end right after this
    settle()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
