"""Tensors of PyTorch on a CUDA device that is not there, for launches on the fake driver."""

import itertools

import torch
from fake_arrays import DlpackArray

addresses = itertools.count(1)


class FakeCuda(torch.Tensor):
    """A tensor that says it is on cuda:0, at an address that nobody reads."""

    @staticmethod
    def __new__(cls, shape, dtype=torch.float16, strides=None, pointer=None):
        made = torch.Tensor._make_wrapper_subclass(
            cls, shape, strides=strides, dtype=dtype, device="cuda:0")
        made.pointer = next(addresses) << 32 if pointer is None else pointer
        return made

    def __dlpack__(self, *, stream=None):
        name = str(self.dtype).removeprefix("torch.")
        self.array = DlpackArray(self.shape, name, pointer=self.pointer, strides=self.stride())
        return self.array.__dlpack__(stream=stream)

    @classmethod
    def __torch_dispatch__(cls, op, types, given=(), named=None):
        if op.namespace == "heddle":
            return op.redispatch(torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA), *given)
        meta = [torch.empty_strided(a.shape, a.stride(), dtype=a.dtype, device="meta")
                if isinstance(a, cls) else a for a in given]
        named = {name: value for name, value in (named or {}).items() if name != "device"}
        made = op(*meta, **named)
        views = op in (torch.ops.aten.view.default, torch.ops.aten.view.dtype,
                       torch.ops.aten.detach.default)
        return cls(made.shape, made.dtype, made.stride(), given[0].pointer if views else None)
