"""Linear layers on packed weights."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import torch

from .. import check_packed_weights, layout_version, pack_weights, quantize
from .._errors import UsageError
from ._checks import NAMES_OF_16, check_parts, check_tensor
from ._matrices import gemm, quantize_weight
from ._specs import DTYPES, NAMES, canonical, fields, gemm_output, packed_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import CheckpointLayer, CheckpointReader, Uploader
    from ._specs import SpecLike


class Linear(torch.nn.Module):
    """Y = X W^T and what the gemm's spec adds: a bias, an activation, a gate, a residual.

    weights: [bytes] uint8, packed for `spec`. bias: [N], pre_scale: [K] of activation.dtype,
    permutation: [K] int32, exactly where the spec has them. split: columns of each part of a fused
    layer (q, k and v), whose outputs forward() then returns as a tuple of views.

    The state has the buffers of these names, the spec and the version of the layout, which are
    compared when a state is loaded. Raises UsageError.
    """

    weights: torch.Tensor
    bias: torch.Tensor | None
    pre_scale: torch.Tensor | None
    permutation: torch.Tensor | None

    def __init__(
        self,
        spec: SpecLike,
        weights: torch.Tensor,
        *,
        bias: torch.Tensor | None = None,
        pre_scale: torch.Tensor | None = None,
        permutation: torch.Tensor | None = None,
        split: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        self.spec = canonical(spec)
        given = fields(self.spec, "gemm")
        self.in_features: int = given["shape"]["k"]
        self.out_features, self.dtype = gemm_output(self.spec)
        self.split = None if split is None else tuple(split)
        if self.split is not None and sum(self.split) != self.out_features:
            raise UsageError(
                f"split is {list(self.split)}, in all {sum(self.split)} columns; the layer has"
                f" {self.out_features}",
                "torch.split",
            )
        check_tensor("weights", weights, torch.uint8, [packed_bytes(self.spec)])
        self.register_buffer("weights", weights)
        n, k, dtype = given["shape"]["n"], given["shape"]["k"], given["activation"]["dtype"]
        for name, value, wanted, size, kind in (
            ("bias", bias, given["epilogue"]["bias"], n, DTYPES[dtype]),
            ("pre_scale", pre_scale, given["activation"]["pre_scale"], k, DTYPES[dtype]),
            ("permutation", permutation, given["activation"]["act_order"], k, torch.int32),
        ):
            if (value is not None) != wanted:
                raise UsageError(
                    f"{name} is {'missing' if wanted else 'given'}, and the spec"
                    f" {'has' if wanted else 'has not'} one",
                    "torch." + name,
                )
            if value is not None:
                check_tensor(name, value, kind, [size])
            self.register_buffer(name, value)

    @classmethod
    def quantized(
        cls,
        w: torch.Tensor | Sequence[torch.Tensor],
        weight: dict[str, Any] | None = None,
        *,
        bias: torch.Tensor | None = None,
        epilogue: dict[str, Any] | None = None,
        **more: Any,
    ) -> Linear:
        """A layer of plain weights, which are quantised where they are.

        w: [N, K] of 16 bits, or the parts of a fused layer, whose rows follow each other: q, k and
        v; with "gated" in `epilogue` gate and up. weight: the spec's, 4 bits in groups of 128 if
        None; {"type": "fp16"} quantises nothing. epilogue, more: fields of the spec; a bias is one.
        On a GPU `quantize_weight` runs, with the same bits as on the host.
        """
        parts = [w] if isinstance(w, torch.Tensor) else list(w)
        gated = (epilogue or {}).get("gated")
        check_parts(parts, bool(gated) and not isinstance(w, torch.Tensor))
        split = None
        if not isinstance(w, torch.Tensor) and not gated:
            split = [len(part) for part in parts]
        whole = parts[0] if len(parts) == 1 else torch.cat(parts)
        name = NAMES[whole.dtype]
        spec = {
            "heddle": 1,
            "op": "gemm",
            "shape": {"n": whole.shape[0], "k": whole.shape[1]},
            "weight": weight or {"bits": 4, "group_size": 128},
            "activation": {"dtype": name},
            **more,
            "epilogue": {**(epilogue or {}), "bias": bias is not None},
        }
        line = canonical(spec)
        return cls(line, pack(line, whole.detach()), bias=bias, split=split)

    @classmethod
    def from_checkpoint(
        cls,
        reader: CheckpointReader,
        layer: CheckpointLayer | str,
        device: torch.device | str | int | None = None,
        *,
        weights: torch.Tensor | None = None,
        uploader: Uploader | None = None,
        **changes: Any,
    ) -> Linear:
        """A layer of a checkpoint on `device`; the outputs of a fused one are its parts.

        changes: fields of the layer's spec, as of `changed`. weights: what was packed before, for
        the changed spec; None: it is packed here for the layer's own spec, and UsageError tells
        of changes that would read it otherwise. uploader: for a CUDA device, of its current
        stream; the caller then waits for finish().
        """
        layer = reader.layer(layer) if isinstance(layer, str) else layer
        if layer.matrices != 1:
            raise UsageError(
                f"{layer.name} has {layer.matrices} matrices; allowed: one", "torch.matrices"
            )
        if fields(canonical(layer.spec), "gemm")["activation"]["dtype"] not in NAMES_OF_16:
            raise UsageError(
                f"{layer.name} takes activations of 8 bits, which Linear does not make; open the"
                " checkpoint with activation_bits=16",
                "torch.activations",
            )
        spec = changed(layer.spec, **changes)
        given = fields(spec, "gemm")
        dtype = DTYPES[given["activation"]["dtype"]]

        def read(tensor: Any) -> torch.Tensor | None:
            if tensor is None:
                return None
            plain = tensor_of(reader, tensor)
            return (plain.to(dtype) if plain.is_floating_point() else plain).to(device)

        if weights is None:
            # It is packed for the layer's own spec.
            check_packed_weights(spec, layer.spec, layout_version(layer.spec))
        if weights is None and uploader is not None:
            weights = torch.empty(layer.packed.bytes, dtype=torch.uint8, device=device)
            # PyTorch exports memory of its current device alone, and copies need its context.
            with torch.cuda.device(weights.device):
                uploader.pack(reader, layer, weights)
        elif weights is None:
            weights = torch.from_numpy(reader.pack(layer)).to(device)
        split = [part.rows for part in layer.parts]
        fused = len(split) > 1 and not given["epilogue"].get("gated")
        return cls(
            spec,
            weights,
            bias=read(layer.bias),
            pre_scale=read(layer.pre_scale),
            permutation=read(layer.permutation),
            split=split if fused else None,
        )

    def forward(
        self, x: torch.Tensor, residual: torch.Tensor | None = None
    ) -> torch.Tensor | tuple[torch.Tensor, ...]:
        """x: [..., K] of activation.dtype; residual: [..., N], with epilogue.residual.

        No rows give an empty Y; more rows than the spec's shape.m has go through several launches.
        """
        if x.shape[-1] != self.in_features:
            raise UsageError(
                f"x has {x.shape[-1]} columns; the layer has {self.in_features}", "torch.x"
            )
        rows = x.reshape(-1, self.in_features)
        added = None if residual is None else residual.reshape(-1, self.out_features)
        y = gemm(
            rows, self.weights, self.spec, self.bias, added, self.pre_scale, self.permutation
        ).reshape(*x.shape[:-1], self.out_features)
        return y if self.split is None else y.split(self.split, -1)

    def extra_repr(self) -> str:
        """What print() shows of the layer."""
        weight = fields(self.spec, "gemm")["weight"]
        parts = "" if self.split is None else f", split={list(self.split)}"
        return f"{self.in_features}, {self.out_features}, {weight['bits']} bits{parts}"

    def get_extra_state(self) -> torch.Tensor:
        """The spec and the version of its layout, as the bytes of a JSON text."""
        state = {"spec": json.loads(self.spec), "layout_version": layout_version(self.spec)}
        return torch.frombuffer(bytearray(json.dumps(state).encode()), dtype=torch.uint8)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any, **more: Any
    ) -> None:
        """Compares the specs before any tensor is overwritten, strict or not."""
        if prefix + "_extra_state" in state_dict:
            self.set_extra_state(state_dict[prefix + "_extra_state"])
        elif prefix + "weights" in state_dict:
            raise UsageError(
                f"the state has {prefix}weights and no {prefix}_extra_state, which says how they"
                " are packed",
                "torch.state",
            )
        super()._load_from_state_dict(state_dict, prefix, *rest, **more)

    def set_extra_state(self, state: torch.Tensor) -> None:
        """Raises UsageError unless the weights of the state are packed as these are."""
        try:
            stored = json.loads(bytes(state.cpu().numpy()).decode())
            spec, version = stored["spec"], stored["layout_version"]
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"_extra_state is not what a layer of Heddle has saved: {error}", "torch.state"
            ) from error
        check_packed_weights(self.spec, spec, version)


def changed(spec: SpecLike, **changes: Any) -> str:
    """A spec with other fields: an object is merged into its own, except for a weight."""
    given = json.loads(canonical(spec))
    for name, value in changes.items():
        merge = isinstance(value, dict) and name != "weight"
        given[name] = {**given.get(name, {}), **value} if merge else value
    return canonical(given)


def pack(spec: str, w: torch.Tensor) -> torch.Tensor:
    """Plain weights [N, K] quantised and packed for a gemm's spec, on their own device."""
    given = fields(spec, "gemm")
    if w.is_cuda and given["weight"]["bits"] <= 8:
        wanted = {
            "heddle": 1,
            "op": "quantize_weight",
            "shape": {"n": given["shape"]["n"], "k": given["shape"]["k"]},
            "weight": given["weight"],
            "input": {"dtype": given["activation"]["dtype"]},
        }
        if given["epilogue"].get("gated"):
            wanted["epilogue"] = {"gated": True}
        made: torch.Tensor = quantize_weight(w, canonical(wanted))
        # A gemm may read weights before the kernel ahead of it in the stream has ended.
        torch.cuda.current_stream(w.device).synchronize()
        return made
    plain = w.contiguous().cpu()
    if plain.dtype == torch.bfloat16:
        plain = plain.view(torch.uint16)
    array = plain.numpy()
    codes = quantize(spec, array) if given["weight"]["bits"] <= 8 else (array,)
    return torch.from_numpy(pack_weights(spec, *codes)).to(w.device)


_TYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
    "U8": torch.uint8, "BOOL": torch.bool, "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
}  # fmt: skip


def tensor_of(reader: CheckpointReader, tensor: Any) -> torch.Tensor:
    """A tensor of a checkpoint, on the host."""
    if tensor.type not in _TYPES:
        raise UsageError(
            f"{tensor.name} has the type {tensor.type}; allowed: {', '.join(_TYPES)}",
            "torch.tensor",
        )
    made = torch.empty(tensor.shape, dtype=_TYPES[tensor.type])
    if tensor.bytes:
        reader.read(tensor, made.reshape(-1).view(torch.uint8).numpy())
    return made
