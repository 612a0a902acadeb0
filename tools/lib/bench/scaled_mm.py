"""PyTorch's FP8 GEMM, which is cuBLASLt's, as a baseline where PyTorch is present.

Run by itself: python3 scaled_mm.py NxK M,M... prints JSON: for each mode and M a time in
microseconds, or null where PyTorch has none.
"""

import json
import sys

ROTATION_BYTES = 160 << 20  # of weights: several times any L2 cache
REPLAYS = 11
# One scale for each tensor, or one for 128 columns of a row of X and for 128 by 128 of W; whether
# sums of FP8 stay in the tensor cores.
MODES = {"tensor fast": True, "tensor": False, "blocks": False}


def random_codes(torch, *shape):
    """Uniform e4m3 codes of at most 64, as the harness of Heddle has them."""
    codes = torch.randint(0, 256, shape, device="cuda", dtype=torch.uint8)
    large = (codes & 0x7F) > 0x68
    return torch.where(large, codes & 0x3F, codes).view(torch.float8_e4m3fn)


def scales(torch, mode, m, n, k):
    """Of X and of W, as PyTorch wants them."""
    if mode != "blocks":
        return (torch.full((), 0.01, device="cuda"),) * 2
    groups = -(-k // 128)
    of_x = torch.full((groups, m), 0.01, device="cuda").t()
    return of_x, torch.full((-(-n // 128), groups), 0.01, device="cuda").t()


def time_us(torch, launch, calls):
    """Median over replays of a graph with so many launches."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        launch(0)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(calls):
            launch(i)
    times = []
    for _ in range(REPLAYS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(1e3 * begin.elapsed_time(end) / calls)
    return sorted(times)[len(times) // 2]


def main(shape, m_list):
    import torch

    n, k = map(int, shape.split("x"))
    weights = [random_codes(torch, n, k).t() for _ in range(max(2, ROTATION_BYTES // (n * k) + 1))]
    times = {mode: {} for mode in MODES}
    for m in map(int, m_list.split(",")):
        x = random_codes(torch, m, k)
        for mode, fast in MODES.items():
            of_x, of_w = scales(torch, mode, m, n, k)

            def launch(i, of_x=of_x, of_w=of_w, fast=fast, x=x):
                torch._scaled_mm(x, weights[i % len(weights)], scale_a=of_x, scale_b=of_w,
                                 out_dtype=torch.bfloat16, use_fast_accum=fast)

            try:
                times[mode][m] = time_us(torch, launch, max(8, len(weights)))
            except RuntimeError:
                times[mode][m] = None
    print(json.dumps(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
