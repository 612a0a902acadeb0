"""What tests of heddle.torch on a GPU share."""

import heddle
import numpy as np
import torch

N, K = 512, 1024


def plain(n=N, k=K, dtype=torch.float16):
    return (torch.randn(n, k, device="cuda") / k**0.5).to(dtype)


def values_of(layer):
    """The weights of a layer, in FP64."""
    spec = layer.spec
    codes, scales, zeros, *_ = heddle.unpack_weights(spec, layer.weights.cpu().numpy())
    group = codes.shape[1] // scales.shape[1]
    middle = 1 << (heddle.Spec(spec).to_dict()["weight"]["bits"] - 1)
    shift = middle if zeros is None else np.repeat(zeros.astype(np.float64), group, 1)
    if scales.dtype == np.uint16:  # bfloat16
        scales = torch.from_numpy(scales).view(torch.bfloat16).float().numpy()
    w = (codes.astype(np.float64) - shift) * np.repeat(scales.astype(np.float64), group, 1)
    return torch.from_numpy(w).cuda()


def close(y, expected, tolerance=4e-3):
    error = (y.double() - expected.double()).abs().max()
    assert torch.isfinite(y).all()
    assert error <= tolerance * expected.abs().max(), float(error)


def norm_spec(ht, **more):
    return ht.canonical({"heddle": 1, "op": "row_transform", "shape": {"columns": K},
                         "input": {"dtype": "fp16"}, "norm": {"type": "rms", "epsilon": 1e-5},
                         **more})
