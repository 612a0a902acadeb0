"""Attention over a whole prompt, by PyTorch: Heddle has none for long prefills."""

from __future__ import annotations

from typing import Any

import torch


def attend_prompt(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    lengths: torch.Tensor | None,
    spec: dict[str, Any],
    sinks: torch.Tensor | None = None,
) -> torch.Tensor:
    """softmax(Q K^T) V with what a spec of decode_attention says of scale, window, cap and sinks.

    q: [sequences, tokens, heads, head_dim]; k, v: the same with kv_heads, prompts padded on the
    left. lengths: [sequences], tokens without padding; None: there is none. sinks: [heads], with
    sink_logits. Returns q's shape; rows of padding are finite and mean nothing.
    """
    tokens = q.shape[1]
    scale = spec["scale_dim"] ** -0.5
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    grouped = q.shape[1] != k.shape[1]
    if sinks is not None:
        visible = _visible(tokens, lengths, spec["window"], q.device)
        return _with_sinks(q, k, v, visible, scale, sinks).transpose(1, 2)
    if lengths is None and not spec["softcap"] and not 0 < spec["window"] < tokens:
        # Without a mask PyTorch has faster kernels.
        out = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=True, scale=scale, enable_gqa=grouped
        )
        return out.transpose(1, 2)
    visible = _visible(tokens, lengths, spec["window"], q.device)
    if spec["softcap"]:
        out = _capped(q, k, v, visible, scale, spec["softcap"])
    else:
        out = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=visible[:, None], scale=scale, enable_gqa=grouped
        )
    return out.transpose(1, 2)


def _with_sinks(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    visible: torch.Tensor,
    scale: float,
    sinks: torch.Tensor,
) -> torch.Tensor:
    """A sink is the logit of one more key, whose value is zero.

    SDPA has no sinks: elements behind those of a head make this logit. A query's are the sink in
    two parts, whose sum has more than 16 bits.
    """
    dim, more = q.shape[-1], 8
    whole = (sinks.float() / scale)[None, :, None].expand(*q.shape[:3])
    high = whole.to(q.dtype)
    q, k, v = (torch.nn.functional.pad(t, (0, more)) for t in (q, k, v))
    q[..., dim], q[..., dim + 1] = high, whole - high.float()
    key = k.new_zeros(k.shape[-1])
    key[dim : dim + 2] = 1
    k = torch.cat([k, key.expand(*k.shape[:2], 1, -1)], 2)
    v = torch.nn.functional.pad(v, (0, 0, 0, 1))
    # With a mask PyTorch's kernels that store no logits want as many heads of K as of Q.
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    mask = torch.nn.functional.pad(visible, (0, 1), value=True)
    out = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask[:, None], scale=scale
    )
    return out[..., :dim]


def _visible(
    tokens: int, lengths: torch.Tensor | None, window: int, device: torch.device
) -> torch.Tensor:
    """Which tokens a token sees: [sequences, or 1 if all are alike, tokens, tokens]."""
    position = torch.arange(tokens, device=device)
    distance = position[:, None] - position[None, :]
    visible = (distance >= 0)[None]
    if window:
        visible = visible & (distance < window)
    if lengths is not None:
        first = tokens - lengths[:, None, None]
        visible = visible & (position[None, None, :] >= first)
        # Padding sees itself, so that no softmax is of nothing.
        visible = visible | (distance == 0)
    return visible


def _capped(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    visible: torch.Tensor,
    scale: float,
    cap: float,
) -> torch.Tensor:
    """With the logits' cap, which SDPA lacks; a sequence and a head of K at a time saves memory."""
    group = q.shape[1] // k.shape[1]
    out = torch.empty_like(q)
    visible = visible.expand(q.shape[0], -1, -1)
    for sequence in range(q.shape[0]):
        for head in range(k.shape[1]):
            rows = slice(head * group, (head + 1) * group)
            logits = (q[sequence, rows] @ k[sequence, head].mT).float() * scale
            logits = cap * torch.tanh(logits / cap)
            logits.masked_fill_(~visible[sequence], float("-inf"))
            out[sequence, rows] = logits.softmax(-1).to(v.dtype) @ v[sequence, head]
    return out
