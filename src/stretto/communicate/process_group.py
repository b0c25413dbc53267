"""Seats that are processes, through torch.distributed (gloo on processors, nccl on GPUs)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import reduce
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import Store

from stretto.communicate.mesh import LARGEST_BYTES, Mesh
from stretto.communicate.transport import Waiting, gather_bytes
from stretto.errors import PeerLost


class ProcessGroup:
    """A group of processes that exchange tensors by torch's collectives, and small ones by a mesh where there is one.

    The death of a peer breaks its connections, which makes everybody's present exchange raise `PeerLost` at once.
    """

    def __init__(self, group: dist.ProcessGroup, mesh: Mesh | None, channels: list[int], waiting: Waiting) -> None:
        self.rank, self.size = group.rank(), group.size()
        self.sent_bytes = self.received_bytes = 0
        self._group, self._mesh, self._waiting = group, mesh, waiting
        self._channels = channels  # shared by all that were split from one: the next free channel of the mesh
        self._channel = channels[0]
        channels[0] += 1

    @classmethod
    def form(cls, store: Store, rank: int, size: int, *, backend: str, timeout_s: float) -> ProcessGroup:
        """Meet the other seats at a rendezvous store and form torch's default group, which user code sees too."""
        patience = timedelta(seconds=timeout_s)
        _translate(lambda: dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=patience))
        return cls.present(timeout_s)

    @classmethod
    def present(cls, timeout_s: float = 1800.0) -> ProcessGroup:
        """Use the default group that has been formed, with a mesh beside it where all seats are on one host."""
        if dist.group.WORLD is None:
            raise PeerLost("torch.distributed has no default group")
        group = cls(dist.group.WORLD, None, [0], Waiting())
        group._mesh = Mesh.form(group.rank, group.size, lambda content: gather_bytes(group, content), timeout_s)
        return group

    @property
    def waited_s(self) -> float:
        """How long this seat has stood still for the others."""
        return self._waiting.seconds

    def sum(self, tensor: Tensor) -> GroupSum | MeshSum:
        """Begin to sum a tensor over all seats."""
        if self._is_small(tensor):
            return MeshSum(self, tensor, self._send(tensor))
        self._count(tensor, 2 * (self.size - 1) / self.size)  # what a ring sends
        return GroupSum(self, _translate(lambda: dist.all_reduce(tensor, group=self._group, async_op=True)))

    def gather(self, tensor: Tensor, uneven: bool = False) -> list[Tensor]:
        """Gather everyone's tensor; uneven ones are padded on the way and cut again."""
        if uneven:
            return self._gather_uneven(tensor)
        if self._is_small(tensor):
            return self.collect(tensor, self._send(tensor))
        self._count(tensor, self.size - 1)
        parts = [torch.empty_like(tensor) for _ in range(self.size)]
        self.wait(lambda: dist.all_gather(parts, tensor.contiguous(), group=self._group))
        return parts

    def broadcast(self, tensor: Tensor, source: int = 0) -> None:
        """Take over the tensor of the seat `source`."""
        if self.rank == source:
            self._count(tensor, 1)
        self.wait(lambda: dist.broadcast(tensor, source, group=self._group))

    def split(self, purpose: str) -> ProcessGroup:
        """Form a second group of the same seats."""
        group = _translate(lambda: dist.new_group(list(range(self.size)), group_desc=purpose))
        return ProcessGroup(group, self._mesh, self._channels, self._waiting)

    def close(self) -> None:
        """Leave the default group and all split from it."""
        if self._mesh is not None:
            self._mesh.close()
        if dist.is_initialized():
            dist.destroy_process_group()

    def collect(self, tensor: Tensor, own: bytes) -> list[Tensor]:
        """Receive what the others sent for the exchange that `own` was sent for."""
        if self._mesh is None:
            raise PeerLost("these seats have no mesh")
        mesh = self._mesh
        parts: list[bytes] = self.wait(lambda: mesh.collect(self._channel, own))
        return [torch.frombuffer(bytearray(part), dtype=tensor.dtype).view(tensor.shape) for part in parts]

    def wait(self, call: Callable[[], Any]) -> Any:
        """Do what may have to wait for other seats, and count the time."""
        return self._waiting.count(lambda: _translate(call))

    def _is_small(self, tensor: Tensor) -> bool:
        size_bytes = tensor.numel() * tensor.element_size()
        return self._mesh is not None and tensor.is_cpu and 0 < size_bytes <= LARGEST_BYTES

    def _send(self, tensor: Tensor) -> bytes:
        self._count(tensor, self.size - 1)
        content = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        if self._mesh is not None:
            self._mesh.send(self._channel, content)
        return content

    def _gather_uneven(self, tensor: Tensor) -> list[Tensor]:
        lengths = [int(n) for n in self.gather(torch.tensor([len(tensor)], device=tensor.device))]
        padded = tensor.new_zeros((max(lengths), *tensor.shape[1:]))
        padded[: len(tensor)] = tensor
        return [part[:length] for part, length in zip(self.gather(padded), lengths, strict=True)]

    def _count(self, tensor: Tensor, share: float) -> None:
        moved_bytes = int(tensor.numel() * tensor.element_size() * share)
        self.sent_bytes += moved_bytes
        self.received_bytes += moved_bytes


class GroupSum:
    """An all-reduce that has begun."""

    def __init__(self, group: ProcessGroup, work: Any) -> None:
        self._group, self._work = group, work

    def wait(self) -> None:
        """Return when the sum is there."""
        self._group.wait(self._work.wait)


class MeshSum:
    """A sum of small tensors that has begun: added in the order of ranks, so the same on every seat."""

    def __init__(self, group: ProcessGroup, tensor: Tensor, own: bytes) -> None:
        self._group, self._tensor, self._own = group, tensor, own

    def wait(self) -> None:
        """Return when the sum is there."""
        parts = self._group.collect(self._tensor, self._own)
        with torch.no_grad():
            self._tensor.copy_(reduce(torch.add, parts))


def _translate(call: Callable[[], Any]) -> Any:
    """Turn torch's errors about connections into ours."""
    try:
        return call()
    except (RuntimeError, ConnectionError) as error:
        raise PeerLost(f"another seat has gone, or the network between us: {str(error).splitlines()[0]}") from error
