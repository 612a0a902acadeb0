"""python -m heddle bench-model: a token of a whole model, on Heddle and by Transformers."""

from __future__ import annotations

import json
import os
import statistics
from typing import TYPE_CHECKING, Any

import torch
import transformers

from .. import Model, kv_cache_layout
from .._errors import UnsupportedError, UsageError
from ..torch import Linear, runtime
from ._cache import HeddleCache
from ._convert import convert
from ._decoder import CACHE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_REPLAYS = 30


def bench_model(options: argparse.Namespace) -> str:
    """What is printed. Raises UnsupportedError without a GPU, and for what cannot be made."""
    path = options.config
    if os.path.isdir(path):
        path = os.path.join(path, "config.json")
    text = _config(path)
    weights = weights_of(text, options.bits)
    # Both refuse what they do not serve, before anything is made.
    Model.from_config(text, plain_too=True)
    Model.cache_from_config(text, options.kv)
    if not torch.cuda.is_available():
        raise UnsupportedError("bench-model needs a GPU: PyTorch finds none", "transformers.gpu")
    config = transformers.AutoConfig.from_pretrained(path)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    if options.layers:
        config.num_hidden_layers = min(options.layers, config.num_hidden_layers)
        if getattr(config, "layer_types", None):
            config.layer_types = config.layer_types[: config.num_hidden_layers]
    with torch.no_grad():
        rows = _measure(config, weights, options)
    target = runtime().device_target()
    report = {"gpu": target.name, "gb_per_s": target.memory_gb_per_s, "torch": torch.__version__,
              "kv": options.kv, "context": options.context, "layers": config.num_hidden_layers,
              "rows": rows}
    return json.dumps(report, indent=2) if options.json else text_of(report)


def _config(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}", "transformers.config") from error
    if not isinstance(found, dict):
        raise UsageError(f"{path} has no object", "transformers.config")
    return found


def weights_of(config: dict[str, Any], bits: int) -> dict[str, Any]:
    """A spec's `weight` for each fused layer: the config's, else so many bits in groups of 128."""
    if "quantization_config" not in config:
        return {"bits": bits, "group_size": 128}
    described = Model.from_config(config, gated=True, activation_bits=16)
    made = {}
    for layer in described.layers:
        if layer.kernel >= 0 and layer.layers:
            made[layer.name] = described.kernels[layer.kernel].spec.to_dict()["weight"]
    return made


def _measure(config: Any, weights: dict[str, Any], options: argparse.Namespace) -> list[Any]:
    with torch.device("cuda"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
    rows = []
    for batch in options.batch:
        run = _plain_step(model, model, batch, options.context)
        rows.append({"batch": batch, "what": "Transformers, BF16, in a graph", **_timed(run)})
        if not options.no_compile:
            torch._dynamo.reset()
            compiled = torch.compile(model)
            run = _plain_step(model, compiled, batch, options.context)
            rows.append({"batch": batch, "what": "Transformers, BF16, compiled", **_timed(run)})
    torch._dynamo.reset()
    if getattr(config, "dtype", None) == torch.float16:
        model.half()
    convert(model, weights, options.lm_head)
    torch.cuda.empty_cache()
    for batch in options.batch:
        cache = HeddleCache(model, batch, options.context, options.kv)
        run = _heddle_step(model, cache, options.context)
        row = {"batch": batch, "what": "Heddle, in a graph", **_timed(run)}
        row["floor_ms"] = floor_ms(model, cache, options.context)
        row["times_the_floor"] = row["ms"] / row["floor_ms"]
        row["kernels"], row["between_kernels"] = _by_kernel(run, row["ms"])
        rows.append(row)
    return rows


def _plain_step(model: Any, forward: Any, batch: int, context: int) -> Callable[[], None]:
    """A step of Transformers on its static cache, whose last token is made anew each time."""
    cache = transformers.StaticCache(config=model.config, max_cache_len=context)
    tokens = torch.zeros(batch, 1, dtype=torch.int64, device="cuda")
    positions = torch.full((1, 1), context - 1, device="cuda")

    def step() -> None:
        out = forward(input_ids=tokens, position_ids=positions, use_cache=True, **{CACHE: cache})
        tokens.copy_(out.logits[:, -1].argmax(-1, keepdim=True))
        torch._foreach_sub_([layer.cumulative_length for layer in cache.layers], 1)

    model(input_ids=tokens, use_cache=True, **{CACHE: cache})
    for layer in cache.layers:
        layer.cumulative_length.fill_(context - 1)
    return _graph(step)


def _heddle_step(model: Any, cache: HeddleCache, context: int) -> Callable[[], None]:
    tokens = torch.zeros(cache.batch, 1, dtype=torch.int64, device="cuda")
    cache.lengths.fill_(context - 1)

    def step() -> None:
        cache.seen = context - 1
        out = model(input_ids=tokens, use_cache=True, **{CACHE: cache})
        tokens.copy_(out.logits[:, -1].argmax(-1, keepdim=True))
        cache.lengths.sub_(1)

    return _graph(step)


def _graph(step: Callable[[], None]) -> Callable[[], None]:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    replay: Callable[[], None] = graph.replay
    return replay


def _timed(run: Callable[[], None]) -> dict[str, float]:
    """The median of a replay."""
    for _ in range(5):
        run()
    times = []
    for _ in range(_REPLAYS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return {"ms": statistics.median(times)}


def floor_ms(model: Any, cache: HeddleCache, context: int) -> float:
    """Milliseconds in which the GPU's memory can be read for a step: weights, lm_head, cache."""
    weights = sum(m.weights.numel() for m in model.modules() if isinstance(m, Linear))
    head = model.get_output_embeddings()
    if isinstance(head, torch.nn.Linear):
        weights += head.weight.numel() * head.weight.element_size()
    tokens = sum(kv_cache_layout(spec).token_bytes for spec in cache.decoder.append_specs)
    total = weights + tokens * context * cache.batch
    return float(total / runtime().device_target().memory_gb_per_s / 1e6)


def _by_kernel(run: Callable[[], None], ms: float) -> tuple[dict[str, float], float]:
    """Milliseconds of each kernel in a step, and the share of the step that no kernel ran."""
    from torch.profiler import ProfilerActivity, profile  # noqa: PLC0415

    run()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        for _ in range(3):
            run()
        torch.cuda.synchronize()
    spans = []
    found: dict[str, float] = {}
    for event in profiled.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            spans.append((event.time_range.start, event.time_range.end))
            name = event.name.split("(")[0].split("<")[0]
            found[name] = found.get(name, 0) + event.time_range.elapsed_us() / 3000
    by_time = dict(sorted(found.items(), key=lambda each: -each[1]))
    return by_time, max(1 - busy_ms(spans) / 3 / ms, 0)


def busy_ms(spans: list[tuple[float, float]]) -> float:
    """Milliseconds in which at least one of the spans, in microseconds, was running."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(end - max(begin, until), 0)
        until = max(until, end)
    return total / 1000


def text_of(report: dict[str, Any]) -> str:
    """The report for people."""
    lines = [f"{report['gpu']}, PyTorch {report['torch']}; context {report['context']}, cache"
             f" {report['kv']}, {report['layers']} layers, random weights",
             f"floor: weights, lm_head and cache once, at the {report['gb_per_s']:.0f} GB/s of the"
             " data sheet",
             f"{'batch':>5}  {'ms/token':>8}  {'tokens/s':>8}  {'x floor':>7}  what"]
    for row in report["rows"]:
        floor = f"{row['times_the_floor']:7.2f}" if "floor_ms" in row else " " * 7
        lines.append(f"{row['batch']:>5}  {row['ms']:8.3f}  {row['batch'] * 1e3 / row['ms']:8.0f}"
                     f"  {floor}  {row['what']}")
    for row in report["rows"]:
        if "kernels" in row:
            lines.append(f"\nHeddle at batch {row['batch']}, ms of a step by kernel;"
                         f" {100 * row['between_kernels']:.1f} % between kernels")
            lines += [f"  {ms:8.3f}  {name}" for name, ms in row["kernels"].items()]
    return "\n".join(lines)
