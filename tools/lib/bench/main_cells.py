"""The main cells of every operation, which tools/bench-all times: specs and sizes, as data."""

import dataclasses
import json
import typing

from bench import bars, byte_gemms, kv_bars, moe_bars, run

EXAMPLES = run.ROOT / "examples/specs"


@dataclasses.dataclass(frozen=True)
class Case:
    """One spec and the sizes at which it is timed."""
    what: str  # tells it from every other case of its operation and shape
    spec: dict[str, typing.Any]
    m: tuple[int, ...] = ()      # of a gemm and of row_transform; of other operations none
    loads: tuple[str, ...] = ()  # of decode_attention: sequences x tokens of each

    @property
    def shape(self) -> tuple[int, int] | None:
        """N and K; None of operations that are not told apart by them."""
        shape = self.spec["shape"]
        return (shape["n"], shape["k"]) if "n" in shape else None


def few_tokens(quick: bool) -> typing.Iterator[Case]:
    for dtype in ("fp16",) if quick else ("fp16", "bf16"):
        for shape in bars.DECODE:
            yield Case(f"W4 {dtype.upper()}", run.gemm(*shape, bars.W4, dtype), bars.DECODE_M)


def other_weights(quick: bool) -> typing.Iterator[Case]:
    formats = [("W4 zero points", bars.W4_ZERO, "fp16"),
               ("16 bits", {"bits": 16, "type": "bf16"}, "bf16"),
               *((label, weight, dtype) for group in bars.DECODE_FORMATS.values()
                 for label, weight, dtype, _ in group)]
    for shape in ((8192, 8192),) if quick else bars.PROBE_SHAPES:
        for label, weight, dtype in formats:
            yield Case(f"{label} {dtype.upper()}", run.gemm(*shape, weight, dtype), (1, 16, 64))


def gated(quick: bool) -> typing.Iterator[Case]:
    epilogue = {"activation": "silu", "gated": True}
    for shape in ((28672, 4096),) if quick else ((28672, 4096), (57344, 8192), (37888, 3584)):
        yield Case("W4 FP16 gated", run.gemm(*shape, bars.W4, epilogue=epilogue), (1, 4, 16, 64, 512))


def many_tokens(quick: bool) -> typing.Iterator[Case]:
    for shape in bars.PREFILL:
        yield Case("W4 FP16", run.gemm(*shape, bars.W4),
                   (128, 256, 512, 2048) if quick else bars.PREFILL_M)


def byte_activations(quick: bool) -> typing.Iterator[Case]:
    kinds = [*byte_gemms.KINDS, *byte_gemms.FOUR_BITS, *byte_gemms.TWO_LEVELS]
    for shape in ((8192, 8192),) if quick else bars.W8A8_SHAPES:
        for kind in kinds:
            yield Case(kind, byte_gemms.spec_of(shape, kind), (1, 16, 64, 256, 1024))


def attention(quick: bool) -> typing.Iterator[Case]:
    kinds = {**kv_bars.TYPES, "FP16": {"dtype": "fp16"}}
    loads = ("1x8192", "8x4096", "64x1024", "64x8192") if quick else tuple(
        f"{sequences}x{tokens}" for sequences, tokens in kv_bars.LOADS)
    for heads in kv_bars.HEADS[:1] if quick else kv_bars.HEADS:
        for name, kv in kinds.items():
            spec = {"heddle": 1, "op": "decode_attention", "activation": {"dtype": "fp16"}, "kv": kv,
                    "shape": {"heads": heads, "kv_heads": kv_bars.KV_HEADS,
                              "head_dim": kv_bars.HEAD_DIM}}
            yield Case(f"{name} cache, {heads} heads", spec, loads=loads)


def append(quick: bool) -> typing.Iterator[Case]:
    for name, kv in {**kv_bars.TYPES, "FP16": {"dtype": "fp16"}}.items():
        yield Case(f"{name} cache", {
            "heddle": 1, "op": "kv_append", "activation": {"dtype": "fp16"}, "kv": kv,
            "shape": {"kv_heads": kv_bars.KV_HEADS, "head_dim": kv_bars.HEAD_DIM},
            "rope": {"pairing": "neox"}})


def example(name: str) -> dict[str, typing.Any]:
    return json.loads((EXAMPLES / f"{name}.json").read_text())


def rows(quick: bool) -> typing.Iterator[Case]:
    for name in ("rms-norm-residual", "rms-norm-residual-fp8-token", "silu-gate",
                 "silu-gate-fp8-group"):
        yield Case(name, example(name), (1, 16, 256, 4096))


def weights(quick: bool) -> typing.Iterator[Case]:
    for name in ("dequantize-awq", "dequantize-gptq", "dequantize-packed", "dequantize-nvfp4",
                 "repack-awq", "repack-gptq", "repack-gptq-act-order", "quantize-g128",
                 "quantize-channel", "quantize-mxfp4"):
        yield Case(name, example(name))


def experts(quick: bool) -> typing.Iterator[Case]:
    for name, spec in moe_bars.LAYERS.items():
        yield Case(name, spec, (1, 8, 64, 256) if quick else moe_bars.TOKENS)


# The cases of each group, main ones alone where `quick`.
GROUPS: dict[str, typing.Callable[[bool], typing.Iterator[Case]]] = {
    "few_tokens": few_tokens, "other_weights": other_weights, "gated": gated,
    "many_tokens": many_tokens, "byte_activations": byte_activations, "attention": attention,
    "append": append, "rows": rows, "weights": weights, "experts": experts,
}
