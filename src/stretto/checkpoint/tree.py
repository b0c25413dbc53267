"""Any nested state as named tensors and JSON values, and exactly back, without pickle.

A state is what `state_dict()` gives: dictionaries, lists, tuples, numbers, text, bytes, None and tensors, nested in
any way. `flatten` takes the tensors out under readable names (`model/conv1.weight`) and leaves values that JSON can
hold. What JSON cannot say is said by a dictionary with one key that starts with `$`.

>>> tensors, values = flatten({"step": 3, "betas": (0.9, float("inf"))})
>>> values
{'step': 3, 'betas': {'$tuple': [0.9, {'$float': 'inf'}]}}
>>> unflatten(tensors, values)
{'step': 3, 'betas': (0.9, inf)}
"""

from __future__ import annotations

import base64
import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from stretto.errors import CheckpointError

HELD_TYPES = "dictionaries, lists, tuples, numbers, text, bytes, None and tensors"


def flatten(state: Any) -> tuple[dict[str, Tensor], Any]:
    """The tensors of a state by name, and the rest as values that JSON can hold.

    Tensors are not copied. One tensor that stands in several places (tied weights) is named once and comes back as one
    tensor. Raises CheckpointError, naming the place, for a value that is none of the types above.
    """
    collecting = _Collecting()
    values = collecting.encode(state, "")
    return collecting.tensors, values


def unflatten(tensors: Mapping[str, Tensor], values: Any) -> Any:
    """The state that `flatten` took apart; raises CheckpointError when the two do not belong together."""
    if isinstance(values, list):
        return [unflatten(tensors, each) for each in values]
    if not isinstance(values, dict):
        return values
    if len(values) == 1 and (tag := next(iter(values))).startswith("$"):
        return _decode(tag, values[tag], tensors)
    return {key: unflatten(tensors, each) for key, each in values.items()}


class _Collecting:
    """The walk over one state, with the tensors found so far."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self._names: dict[tuple[Any, ...], str] = {}

    def encode(self, value: Any, path: str) -> Any:
        if isinstance(value, Tensor):
            return {"$tensor": self._name(_dense(value, path), path)}
        encoder = self._encoders.get(type(value))
        if encoder is None:
            place = f'"{path}"' if path else "the state"
            fact = f"{place} is of type {type(value).__module__}.{type(value).__qualname__}"
            raise CheckpointError(f"{fact}, which a checkpoint cannot hold; make it of {HELD_TYPES}")
        return encoder(self, value, path)

    def _name(self, tensor: Tensor, path: str) -> str:
        known = self._names.get(identity(tensor)) if tensor.numel() else None
        if known is not None:
            return known
        name = self._free_name(path or "tensor")
        self.tensors[name] = tensor
        self._names[identity(tensor)] = name
        return name

    def _free_name(self, wanted: str) -> str:
        """Two places may read alike (the keys 0 and "0"), and safetensors keeps one name for itself."""
        name, count = wanted, 1
        while name in self.tensors or name == "__metadata__":
            count += 1
            name = f"{wanted}~{count}"
        return name

    def _plain(self, value: Any, path: str) -> Any:
        return value

    def _float(self, value: float, path: str) -> Any:
        return value if math.isfinite(value) else {"$float": repr(value)}

    def _bytes(self, value: bytes, path: str) -> Any:
        return {"$bytes": base64.b64encode(value).decode("ascii")}

    def _list(self, value: list[Any], path: str) -> Any:
        return [self.encode(each, _join(path, index)) for index, each in enumerate(value)]

    def _tuple(self, value: tuple[Any, ...], path: str) -> Any:
        return {"$tuple": self._list(list(value), path)}

    def _dict(self, value: dict[Any, Any], path: str) -> Any:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: self.encode(each, _join(path, key)) for key, each in value.items()}
        return {"$dict": self._pairs(value, path)}

    def _counter(self, value: Counter[Any], path: str) -> Any:
        return {"$counter": self._pairs(value, path)}

    def _pairs(self, value: Mapping[Any, Any], path: str) -> list[Any]:
        return [[self.encode(key, f"{path} (key)"), self.encode(each, _join(path, key))] for key, each in value.items()]

    _encoders: dict[type, Callable[[_Collecting, Any, str], Any]] = {
        type(None): _plain,
        bool: _plain,
        int: _plain,
        str: _plain,
        float: _float,
        bytes: _bytes,
        list: _list,
        tuple: _tuple,
        torch.Size: _tuple,
        dict: _dict,
        OrderedDict: _dict,
        Counter: _counter,
    }


def identity(tensor: Tensor) -> tuple[Any, ...]:
    """Equal for two tensors exactly when they are one piece of memory read in one way (tied weights)."""
    place = (tensor.device, tensor.untyped_storage().data_ptr(), tensor.storage_offset())
    return (*place, tensor.dtype, tuple(tensor.shape), tensor.stride())


def _dense(tensor: Tensor, path: str) -> Tensor:
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
        kind = "has no data" if tensor.is_meta else "is sparse or quantized"
        raise CheckpointError(f'tensor "{path}" {kind}, which a checkpoint cannot hold; store it as dense tensors')
    return tensor.detach()


def _decode(tag: str, value: Any, tensors: Mapping[str, Tensor]) -> Any:
    match tag:
        case "$tensor" if value in tensors:
            return tensors[value]
        case "$float":
            return float(value)
        case "$bytes":
            return base64.b64decode(value, validate=True)
        case "$tuple":
            return tuple(unflatten(tensors, each) for each in value)
        case "$dict":
            return {unflatten(tensors, key): unflatten(tensors, each) for key, each in value}
        case "$counter":
            return Counter({unflatten(tensors, key): unflatten(tensors, each) for key, each in value})
    raise CheckpointError(f"the values of this checkpoint hold {tag}: {value!r}, which has no meaning here")


def _join(path: str, key: Any) -> str:
    return f"{path}/{key}" if path else str(key)
