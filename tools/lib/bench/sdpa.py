"""PyTorch's attention over a 16-bit cache, as a baseline where PyTorch is present.

Run by itself: python3 sdpa.py HEADS KV_HEADS HEAD_DIM SEQUENCESxTOKENS... prints JSON, a time in
microseconds for each load, or null where PyTorch has no room.
"""

import json
import sys

ROTATION_BYTES = 320 << 20  # several times any L2 cache
REPLAYS = 15


def time_us(torch, heads, kv_heads, head_dim, sequences, tokens):
    """Median over replays of a graph in which caches take turns."""
    attention = torch.nn.functional.scaled_dot_product_attention
    kind = {"device": "cuda", "dtype": torch.float16}
    size = 4 * sequences * tokens * kv_heads * head_dim
    caches = [torch.randn(2, sequences, kv_heads, tokens, head_dim, **kind)
              for _ in range(max(1, min(16, ROTATION_BYTES // size + 1)))]
    q = torch.randn(sequences, heads, 1, head_dim, **kind)
    calls = max(4, len(caches))

    def launch_all():
        for i in range(calls):
            k, v = caches[i % len(caches)]
            attention(q, k, v, enable_gqa=heads != kv_heads)

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        launch_all()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch_all()
    times = []
    for _ in range(REPLAYS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(1e3 * begin.elapsed_time(end) / calls)
    return sorted(times)[len(times) // 2]


def main(heads, kv_heads, head_dim, *loads):
    import torch

    times = []
    for load in loads:
        sequences, tokens = map(int, load.split("x"))
        try:
            times.append(time_us(torch, int(heads), int(kv_heads), int(head_dim), sequences,
                                 tokens))
        except torch.cuda.OutOfMemoryError:
            times.append(None)
    print(json.dumps(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
