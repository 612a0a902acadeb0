"""Attention over a whole prompt, by PyTorch: Heddle has none for long prefills."""

from __future__ import annotations

from typing import Any

import torch


def attend_prompt(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor, spec: dict[str, Any]
) -> torch.Tensor:
    """softmax(Q K^T) V with what a spec of decode_attention says of scale, window and cap.

    q: [sequences, tokens, heads, head_dim]; k, v: the same with kv_heads, prompts padded on the
    left. lengths: [sequences], tokens without padding. Returns q's shape; rows of padding are
    finite and mean nothing.
    """
    tokens = q.shape[1]
    scale = spec["scale_dim"] ** -0.5
    position = torch.arange(tokens, device=q.device)
    distance = position[:, None] - position[None, :]
    visible = distance >= 0
    if spec["window"]:
        visible = visible & (distance < spec["window"])
    first = tokens - lengths[:, None, None]
    # Padding sees itself, so that no softmax is of nothing.
    visible = (visible[None] & (position[None, None, :] >= first)) | (distance == 0)[None]
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    if spec["softcap"]:
        out = _capped(q, k, v, visible[:, None], scale, spec["softcap"])
    else:
        out = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=visible[:, None], scale=scale, enable_gqa=q.shape[1] != k.shape[1]
        )
    return out.transpose(1, 2)


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
    for sequence in range(q.shape[0]):
        for head in range(k.shape[1]):
            rows = slice(head * group, (head + 1) * group)
            logits = (q[sequence, rows] @ k[sequence, head].mT).float() * scale
            logits = cap * torch.tanh(logits / cap)
            logits.masked_fill_(~visible[sequence], float("-inf"))
            out[sequence, rows] = logits.softmax(-1).to(v.dtype) @ v[sequence, head]
    return out
