"""A layer of experts in PyTorch, whose GEMMs are cuBLAS's, as a baseline where PyTorch is present: two for each expert
that is hit, on weights of 16 bits, in one CUDA graph.

Run by itself: python3 expert_gemms.py HIDDENxINTERMEDIATExEXPERTSxTOP_K TOKENS,TOKENS... prints JSON: microseconds of
each number of tokens. Which tokens an expert has is known when the graph is captured, and nothing sorts them.
"""

import json
import sys

from scaled_mm import time_us

LAUNCHES = 4  # with other choices each


def layer_of(torch, hidden, intermediate, experts):
    """Gates and ups, and downs, of each expert."""
    def weights(rows, columns):
        return [torch.randn(columns, rows, device="cuda", dtype=torch.float16) / columns ** 0.5
                for _ in range(experts)]
    return weights(2 * intermediate, hidden), weights(hidden, intermediate)


def choices_of(torch, tokens, experts, top_k):
    """Of each expert that is hit the tokens and their weights."""
    scores = torch.rand(tokens, experts, device="cuda")
    weights, ids = scores.topk(top_k)
    weights = weights / weights.sum(-1, keepdim=True)
    hit = {}
    for expert in ids.unique().tolist():
        rows, places = (ids == expert).nonzero(as_tuple=True)
        hit[expert] = rows, weights[rows, places, None]
    return hit


def main(shape, token_list):
    import torch

    hidden, intermediate, experts, top_k = map(int, shape.split("x"))
    gate_up, down = layer_of(torch, hidden, intermediate, experts)
    times = {}
    for tokens in map(int, token_list.split(",")):
        x = torch.randn(tokens, hidden, device="cuda", dtype=torch.float16)
        drawn = [choices_of(torch, tokens, experts, top_k) for _ in range(LAUNCHES)]

        def launch(i, x=x, drawn=drawn, tokens=tokens):
            y = torch.zeros(tokens, hidden, device="cuda")
            for expert, (rows, weights) in drawn[i % LAUNCHES].items():
                gates, ups = (x[rows] @ gate_up[expert]).chunk(2, -1)
                made = (torch.nn.functional.silu(gates) * ups) @ down[expert]
                y.index_add_(0, rows, made * weights)

        times[tokens] = time_us(torch, launch, LAUNCHES)
    print(json.dumps(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
