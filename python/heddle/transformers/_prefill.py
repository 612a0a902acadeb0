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
) -> torch.Tensor:
    """softmax(Q K^T) V with what a spec of decode_attention says of scale, window and cap.

    q: [sequences, tokens, heads, head_dim]; k, v: the same with kv_heads, prompts padded on the
    left. lengths: [sequences], tokens without padding; None: there is none. Returns q's shape; rows
    of padding are finite and mean nothing.
    """
    tokens = q.shape[1]
    scale = spec["scale_dim"] ** -0.5
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    grouped = q.shape[1] != k.shape[1]
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
