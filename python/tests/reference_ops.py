"""Heddle's operators in plain PyTorch on the host, from the formulas of docs/: FP32, rounded once.

With them whole models run without a GPU. They say what the launches must compute, not how.
"""

import functools
import math

import heddle
import torch
from heddle.torch._specs import DTYPES, fields
from torch.utils.weak import WeakTensorKeyDictionary

ACTIVATIONS = {
    "none": lambda x: x, "silu": torch.nn.functional.silu, "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
}
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])


def scales_of(array, dtype):
    made = torch.from_numpy(array)
    if dtype == "bf16":
        return made.view(torch.bfloat16).float()
    if dtype == "e8m0":
        return torch.exp2(made.float() - 127)
    if dtype == "e4m3":
        return made.view(torch.float8_e4m3fn).float()
    return made.float()


def weights_of(spec, packed):
    """W [N, K] in FP32, in the order of packed columns."""
    weight = fields(spec, "gemm")["weight"]
    codes, scales, zeros, factor, of_channels = heddle.unpack_weights(spec, packed.numpy())
    assert of_channels is None
    codes = torch.from_numpy(codes)
    if weight["bits"] == 16:
        return codes.view(DTYPES[weight["type"]]).float()
    scales = scales_of(scales, weight["scale_dtype"]) * factor
    columns = torch.arange(codes.shape[1]) * scales.shape[1] // codes.shape[1]
    if weight["group_size"] > 0:  # a shard may begin and end inside a group
        first = weight.get("group_offset", 0)
        columns = (torch.arange(codes.shape[1]) + first) // weight["group_size"]
    if weight["type"] in {"e4m3", "e5m2"}:
        values = codes.view(DTYPES["fp8_" + weight["type"]]).float()
    elif weight["type"] == "e2m1":
        values = E2M1[codes.long()]
    else:
        values = codes.float()
        if weight["type"] == "int":
            values = torch.where(values >= 1 << (weight["bits"] - 1),
                                 values - (1 << weight["bits"]), values)
        if zeros is not None:
            values = values - torch.from_numpy(zeros).float()[:, columns]
        elif weight["type"] == "uint":
            values = values - (1 << (weight["bits"] - 1))
    return values * scales[:, columns]


decoded = WeakTensorKeyDictionary()


def gemm(x, weights, spec, bias=None, residual=None, pre_scale=None, permutation=None):
    given = fields(spec, "gemm")
    if weights not in decoded:
        decoded[weights] = weights_of(spec, weights)
    if pre_scale is not None:
        x = x * pre_scale
    if permutation is not None:
        x = x[:, permutation.long()]
    y = x.float() @ decoded[weights].T
    if bias is not None:
        y = y + bias.float()
    activation = ACTIVATIONS[given["epilogue"]["activation"]]
    if given["epilogue"].get("gated"):
        gate, up = y.chunk(2, -1)
        y = activation(gate) * up
    else:
        y = activation(y)
    if residual is not None:
        y = y + residual.float()
    return y.to(DTYPES[given.get("output", given["activation"])["dtype"]])


def moe(x, gate_up, down, ids, weights, spec, gate_up_bias=None, down_bias=None, residual=None,
        logits=None, correction_bias=None, expert_scales=None, shared_gates=None,
        permutation=None):
    """One expert after the other, in FP32; between the products values have X's type."""
    given = fields(spec, "moe")
    shape, routing, epilogue = given["shape"], given["routing"], given["epilogue"]
    assert (routing["weight"], correction_bias, expert_scales) == ("output", None, None)
    assert shared_gates is None
    assert (permutation is not None) == given["activation"].get("act_order", False)
    if logits is not None:
        assert (routing["scores"], routing["groups"], ids, weights) == ("softmax", 1, None, None)
        assert logits.dtype == DTYPES[routing["logits_dtype"]]
        weights, ids = logits.float().softmax(-1).topk(shape["top_k"])
        if routing["renormalize"]:
            weights = weights / weights.sum(-1, keepdim=True)
    assert ids.shape == weights.shape == (len(x), shape["top_k"])
    y = torch.zeros(x.shape) if residual is None else residual.float()
    gemms = [gemm.canonical_json() for gemm in heddle.moe_gemms(spec)]
    for of_weights, gemm in zip((gate_up, down), gemms, strict=True):
        if of_weights not in decoded:
            decoded[of_weights] = [weights_of(gemm, packed) for packed in of_weights]
    for expert in range(shape["experts"]):
        tokens, places = (ids == expert).nonzero(as_tuple=True)
        rows = x[tokens] if permutation is None else x[tokens][:, permutation[expert].long()]
        inner = rows.float() @ decoded[gate_up][expert].T
        inner += 0 if gate_up_bias is None else gate_up_bias[expert].float()
        inner = expert_activation(inner, epilogue).to(x.dtype).float()
        made = inner @ decoded[down][expert].T
        made += 0 if down_bias is None else down_bias[expert].float()
        y.index_add_(0, tokens, made * weights[tokens, places, None].float())
    return y.to(x.dtype)


def expert_activation(x, epilogue):
    if not epilogue.get("gated"):
        return ACTIVATIONS[epilogue["activation"]](x)
    gate, up = x.chunk(2, -1)
    if limit := epilogue.get("limit", 0):
        gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    if epilogue["activation"] == "clamped_swiglu":
        return (up + 1) * gate * torch.sigmoid(1.702 * gate)
    return ACTIVATIONS[epilogue["activation"]](gate) * up


def row_transform(x, spec, residual=None, weight=None, bias=None):
    given = fields(spec, "row_transform")
    if residual is not None:
        residual.copy_((x.float() + residual.float()).to(x.dtype))
        x = residual
    s, norm = x.float(), given["norm"]
    if norm["type"] == "rms":
        s = s / (s.square().mean(-1, keepdim=True) + norm["epsilon"]).sqrt()
        s = s * (weight.float() + norm["weight_offset"])
    assert norm["type"] != "layer"
    assert given["gate"]["order"] == "none"
    return s.to(DTYPES[given["output"]["dtype"]])


def rotate(x, positions, spec):
    """x: [tokens, heads, head_dim]."""
    rope = spec["rope"]
    if rope["pairing"] == "none":
        return x
    dim = rope["dim"] or x.shape[-1]
    turns = rope["base"] ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    turns, factor = scaled(turns, dim, rope["base"], rope.get("scaling", {"type": "none"}))
    angle = positions[:, None].double() * turns
    cos, sin = (factor * f(angle).float()[:, None] for f in (torch.cos, torch.sin))
    rotated, rest = x[..., :dim], x[..., dim:]
    if rope["pairing"] == "gptj":
        a, b = rotated[..., 0::2], rotated[..., 1::2]
        made = torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)
    else:
        a, b = rotated.chunk(2, -1)
        made = torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
    return torch.cat([made, rest], -1)


def scaled(turns, dim, base, scaling):
    """Angles of a position for each pair, and what multiplies cosines and sines."""
    kind = scaling["type"]
    if kind == "none":
        return turns, 1
    if kind == "linear":
        return turns / scaling["factor"], 1
    trained = scaling["original_max_position_embeddings"]
    if kind == "llama3":
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        s = ((trained * turns / (2 * math.pi) - low) / (high - low)).clamp(0, 1)
        return (1 - s) * turns / scaling["factor"] + s * turns, 1

    def pair(rotations):
        return dim * math.log(trained / (2 * math.pi * rotations)) / (2 * math.log(base))

    low, high = (pair(scaling.get(name, default))
                 for name, default in (("beta_fast", 32), ("beta_slow", 1)))
    if scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    s = ((torch.arange(dim // 2, dtype=torch.float64) - low) / (high - low)).clamp(0, 1)
    factor = scaling.get("attention_factor", 0.1 * math.log(scaling["factor"]) + 1)
    return s * turns / scaling["factor"] + (1 - s) * turns, factor


def prepared(x, positions, spec, weight):
    x = x.float()
    if weight is not None:
        x = x / (x.square().mean(-1, keepdim=True) + spec["norm"]["epsilon"]).sqrt()
        x = x * (weight.float() + spec["norm"].get("weight_offset", 0))
    return rotate(x, positions, spec)


def encode(x, kv):
    """Codes and scales of x [heads, head_dim]; symmetric INT8 by head, or 16 bits as they are."""
    if kv["dtype"] in {"fp16", "bf16"}:
        return x.to(DTYPES[kv["dtype"]]), None
    assert (kv["dtype"], kv["granularity"], kv["symmetric"]) == ("int8", "head", True)
    scale = (x.abs().amax(-1) / 127).to(DTYPES[kv["scale_dtype"]])
    codes = (x / scale.float().clamp(min=1e-30)[:, None]).round().clamp(-127, 127) + 128
    return codes.to(torch.uint8), scale


def rows(tensor, kv, spec):
    """Codes [pages, heads, tokens, head_dim] and scales [pages, heads, tokens] of a hnd cache."""
    shape = (-1, spec["shape"]["kv_heads"], spec["kv"]["page_size"])
    codes = tensor[0].view(*shape, spec["shape"]["head_dim"])
    return codes, None if tensor[1] is None else tensor[1].view(shape)


def append(q, k, v, lengths, spec, k_codes, v_codes, k_scales, v_scales, _k_residual, _v_residual,
           _k_given, _v_given, table, _slots, _pages, _page_tokens, _slot_count, offsets=None,
           _rotations=None, k_norm=None, q_norm=None):
    given = fields(spec, "kv_append")
    page = given["kv"]["page_size"]
    if offsets is None:
        offsets = torch.arange(len(lengths) + 1)
    counts = offsets[1:] - offsets[:-1]
    sequences = torch.arange(len(lengths)).repeat_interleave(counts)
    positions = torch.arange(len(k)) - offsets[1:][sequences] + lengths[sequences]
    stores = [rows(t, given["kv"][n], given) for n, t in
              (("k", (k_codes, k_scales)), ("v", (v_codes, v_scales)))]
    keys = prepared(k, positions, given, k_norm)
    for i, position in enumerate(positions.tolist()):
        if position < 0:
            continue
        at = int(table[sequences[i], position // page])
        for name, (codes, scales), row in (("k", stores[0], keys[i]),
                                           ("v", stores[1], v[i].float())):
            code, scale = encode(row, given["kv"][name])
            codes[at, :, position % page] = code
            if scales is not None:
                scales[at, :, position % page] = scale
    return None if q is None else prepared(q, positions, given, q_norm).to(q.dtype)


def attention(q, lengths, spec, k_codes, v_codes, k_scales, v_scales, _k_residual, _v_residual,
              _k_given, _v_given, table, _slots, _pages, _page_tokens, _slot_count, _slopes=None,
              sink_logits=None):
    given = fields(spec, "decode_attention")
    page, group = given["kv"]["page_size"], given["shape"]["heads"] // given["shape"]["kv_heads"]
    out = torch.zeros_like(q)

    def values(name, tensor, count, i):
        codes, scales = rows(tensor, given["kv"][name], given)
        pages = table[i, :-(-count // page)].long()
        made = codes[pages].transpose(1, 2).flatten(0, 1)[:count].float()
        if scales is not None:
            made = (made - 128) * scales[pages].transpose(1, 2).flatten(0, 1)[:count, :, None]
        return made.repeat_interleave(group, 1)

    for i, count in enumerate(lengths.tolist()):
        keys = values("k", (k_codes, k_scales), count, i)
        logits = torch.einsum("qhd,thd->qht", q[i].float(), keys) / math.sqrt(given["scale_dim"])
        if given["softcap"]:
            logits = given["softcap"] * torch.tanh(logits / given["softcap"])
        position = count - q.shape[1] + torch.arange(q.shape[1])
        distance = position[:, None] - torch.arange(count)[None]
        visible = distance >= 0
        if given["window"]:
            visible &= distance < given["window"]
        logits = logits.masked_fill(~visible[:, None], float("-inf"))
        assert given["sink_logits"] == (sink_logits is not None)
        if sink_logits is not None:
            sinks = sink_logits[None, :, None].expand(len(logits), -1, 1)
            logits = torch.cat([logits, sinks], -1)
        made = torch.einsum("qht,thd->qhd", logits.softmax(-1)[..., :count],
                            values("v", (v_codes, v_scales), count, i))
        out[i] = made.nan_to_num().to(q.dtype)
    return [out]


def install():
    """Operators on host memory compute from here on; returns what keeps them."""
    library = torch.library.Library("heddle", "IMPL")
    for name, function in (
            ("gemm", gemm), ("moe", moe), ("row_transform", row_transform),
            ("kv_append_query", append), ("kv_append", functools.partial(append, None)),
            ("decode_attention", attention)):
        library.impl(name, function, "CPU", allow_override=True)
    return library
