"""The C++ API of Heddle; use the package heddle."""

from collections.abc import Callable, Iterable, Sequence
import os
from typing import Any, ClassVar, overload

import numpy
import numpy.typing

import heddle
import heddle._weights



__version__: str

class Spec:
    """
    What a kernel must do: validated, canonical, immutable. docs/spec.md of Heddle describes every field.

    Specs that mean the same are equal, whatever their names are.
    """

    def __init__(self, spec: Spec | dict[str, Any] | str) -> None:
        """
        From a dict, a str of JSON, or another spec. Raises SpecError with every problem.
        """

    @property
    def op(self) -> str:
        """
        "gemm", "dequantize", "repack", "quantize_weight", "kv_append", "decode_attention" or "row_transform".
        """

    @property
    def name(self) -> str:
        """The optional label: no part of what is generated."""

    @property
    def weight_shape(self) -> tuple[int, int]:
        """(N, K) of W. AttributeError for an operation without weights."""

    @property
    def m_range(self) -> tuple[int, int]:
        """
        (least, most) rows of a launch. AttributeError for an operation without M.
        """

    def canonical_json(self) -> str:
        """One line of JSON with every default written out and without the name."""

    def to_dict(self) -> dict[str, Any]:
        """The canonical form as a dict, with the name."""

    def __eq__(self, other: object) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

    def __getstate__(self) -> tuple[str, str]: ...

    def __setstate__(self, arg: tuple[str, str], /) -> None: ...

def spec_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a spec."""

class Target:
    """The GPU that code is made for: by name, or Runtime.device_target()."""

    def __init__(self, name: str) -> None:
        """One of Target.known(), by name. Raises UsageError that lists them."""

    @property
    def name(self) -> str:
        """"h200", "sm_90" ..."""

    @property
    def major(self) -> int:
        """Compute capability."""

    @property
    def minor(self) -> int:
        """Compute capability."""

    @property
    def sm_count(self) -> int:
        """Streaming multiprocessors."""

    @property
    def shared_per_block(self) -> int:
        """Bytes that one block may have."""

    @property
    def shared_per_sm(self) -> int:
        """Bytes."""

    @property
    def registers_per_sm(self) -> int:
        """32-bit registers."""

    @property
    def threads_per_sm(self) -> int:
        """Resident threads."""

    @property
    def l2_bytes(self) -> int:
        """Bytes of L2 cache."""

    @property
    def memory_gb_per_s(self) -> float:
        """Data sheet, GB/s."""

    @property
    def sm_mhz(self) -> float:
        """Boost clock, MHz."""

    @property
    def tensor_tflops(self) -> float:
        """Best that was measured of a 16-bit GEMM; 0: not known."""

    @property
    def launch_us(self) -> float:
        """Microseconds of a launch inside a graph; 0: not known."""

    @property
    def arch(self) -> int:
        """10 * major + minor."""

    @property
    def compiler_arch(self) -> str:
        """What NVRTC is given: "sm_80", "sm_90a"."""

    @property
    def tuned_gpu(self) -> str:
        """The name that tuned tables have for the GPU."""

    @staticmethod
    def known() -> list[Target]:
        """Every named target: devices first, then architectures."""

    def __getstate__(self) -> tuple[str, int, int, int, int, int, int, int, int, float, float, float, float]: ...

    def __setstate__(self, arg: tuple[str, int, int, int, int, int, int, int, int, float, float, float, float], /) -> None: ...

    @staticmethod
    def from_facts(name: str, major: int, minor: int, sm_count: int, shared_per_block: int, shared_per_sm: int, registers_per_sm: int, threads_per_sm: int, l2_bytes: int, memory_gb_per_s: float, sm_mhz: float, tensor_tflops: float = 0.0, launch_us: float = 0.0) -> Target:
        """A GPU that no table names. resolve() refuses facts that no GPU has."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class TunedEntry:
    """The fastest kernel of Y[M, N] = X[M, K] * W[N, K]^T for a range of M."""

    @property
    def n(self) -> int:
        """Rows of W."""

    @property
    def k(self) -> int:
        """Columns of W."""

    @property
    def m_first(self) -> int:
        """Least M."""

    @property
    def m_last(self) -> int:
        """Most M."""

    @property
    def activation(self) -> str:
        """Type of X."""

    @property
    def granularity(self) -> str:
        """
        What has a scale of X: "none" of 16 bits, "tensor", "token" or "group".
        """

    @property
    def accumulation(self) -> str:
        """How sums of FP8 products are added: "promoted" or "fast"."""

    @property
    def family(self) -> str:
        """"stream" ..."""

    @property
    def family_version(self) -> int:
        """Of that family's kernels."""

    @property
    def kernel(self) -> str:
        """The kernel's label."""

    @property
    def us(self) -> float:
        """Microseconds of a launch with m_last tokens; 0: not told."""

    @property
    def source(self) -> str:
        """Where and when it was measured; may be empty."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class TunedCosts:
    """The cost parameters of a family of kernels."""

    @property
    def family(self) -> str:
        """"stream" ..."""

    @property
    def version(self) -> int:
        """Of that family's parameters."""

    @property
    def values(self) -> dict[str, float]:
        """Of all parameters, by name."""

    @property
    def source(self) -> str:
        """Where and when it was measured; may be empty."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class TunedTable:
    """
    Which kernels were measured to be the fastest on one GPU, and what the predicted times of all others are made of. Immutable but for merge().
    """

    def __init__(self, json: str) -> None:
        """
        From the text of a table (docs/planner.md). Raises SpecError with every problem.
        """

    @property
    def gpu(self) -> str:
        """As Target.tuned_gpu."""

    @property
    def entries(self) -> list[TunedEntry]:
        """Ascending by format, N, K and M."""

    @property
    def costs(self) -> list[TunedCosts]:
        """Ascending by family."""

    def merge(self, later: TunedTable) -> None:
        """
        Adds the entries of `later`, which replace what this table says of the same M. Raises UsageError for a table of another GPU.
        """

    def to_json(self) -> str:
        """The text that TunedTable(text) reads."""

    def __eq__(self, other: object) -> bool: ...

    def __repr__(self) -> str: ...

    __hash__: ClassVar[None]  # type: ignore[assignment]

class TunedTables:
    """Tuned tables, at most one for each GPU."""

    def __init__(self, tables: Sequence[TunedTable] = []) -> None:
        """
        Tables of one GPU are merged, later ones over earlier ones. None: every kernel is chosen by its predicted time.
        """

    @staticmethod
    def shipped() -> TunedTables:
        """Those that come with this version of Heddle."""

    def add(self, table: TunedTable) -> None:
        """Merges it over the table of the same GPU, if there is one."""

    def of(self, target: Target | str) -> TunedTable | None:
        """The table of the target's GPU."""

    @property
    def tables(self) -> list[TunedTable]:
        """Ascending by GPU."""

    def __repr__(self) -> str: ...

class DecodeProof:
    """The outcome of checking a decode plan."""

    @property
    def codes_checked(self) -> int:
        """Codes that were decoded."""

    @property
    def mismatches(self) -> int:
        """Those that differ; 0: the plan is exact."""

    @property
    def first_mismatch(self) -> str:
        """In words; may be empty."""

    @property
    def exact(self) -> bool:
        """Whether nothing differs."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class DecodePlan:
    """
    How 32-bit words of packed weights become pairs of 16-bit floats: the operations, and the place of each bit.
    """

    @property
    def instructions_per_weight(self) -> float:
        """Operations for each weight."""

    @property
    def words(self) -> int:
        """32-bit words of a unit."""

    @property
    def elements(self) -> int:
        """Weights of a unit."""

    @property
    def field_of(self) -> list[int]:
        """
        Element e has the bits [bits * field_of[e], bits * (field_of[e] + 1)) of a unit. Empty where an element is scattered.
        """

    def prove(self) -> DecodeProof:
        """
        Executes the plan for every code in every position and compares with exact arithmetic.
        """

    def describe(self) -> str:
        """One line for each operation, for people; not a stable format."""

    def to_json(self) -> str:
        """A stable format."""

    def __repr__(self) -> str: ...

class PlannedKernel:
    """One compiled kernel of a plan."""

    @property
    def name(self) -> str:
        """The entry point's name."""

    @property
    def size_min(self) -> int:
        """
        Least size that it serves: M, of decode_attention tokens of a sequence.
        """

    @property
    def size_max(self) -> int:
        """Most."""

    @property
    def threads(self) -> int:
        """Of a thread block."""

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory."""

    @property
    def blocks_per_sm(self) -> int:
        """What the register budget is set for."""

    @property
    def starts_early(self) -> bool:
        """
        Whether it may start before the kernel before it in the stream has ended.
        """

    @property
    def arguments(self) -> list[str]:
        """What the entry point takes, in order."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class Plan:
    """
    Every decision that turns a spec into kernels for a target; resolve() makes one. Immutable.
    """

    @property
    def spec(self) -> Spec: ...

    @property
    def target(self) -> Target: ...

    @property
    def kernels(self) -> list[PlannedKernel]:
        """By ascending, contiguous ranges of sizes."""

    @property
    def before(self) -> list[PlannedKernel]:
        """
        Kernels that run before that of every size: the gather of X with act-order.
        """

    @property
    def reasons(self) -> list[str]:
        """Why each decision was made, for people."""

    @property
    def decode_plans(self) -> list[DecodePlan]:
        """What the kernels decode weights by."""

    def kernel_for(self, size: int) -> int:
        """Index of the kernel that serves a size. ValueError where none does."""

    def workspace_bytes(self, m: int) -> int:
        """Bytes of zeroed device memory that a launch with M needs."""

    @property
    def max_workspace_bytes(self) -> int:
        """The most for any M."""

    def describe(self) -> str:
        """Every decision in words, for people; not a stable format."""

    def to_json(self) -> str:
        """Every decision as JSON; a stable format."""

    def to_dict(self) -> dict[str, Any]:
        """to_json() as a dict."""

    def __eq__(self, other: object) -> bool: ...

    def __repr__(self) -> str: ...

def resolve(spec: Spec | dict[str, Any] | str, target: Target | str, tables: TunedTables | None = None) -> Plan:
    """
    Plans the kernels of a spec for a target. Pure: no disk, no CUDA. `tables` default to those that come with Heddle. Raises UnsupportedError with every reason.
    """

class Source:
    """One readable CUDA translation unit."""

    @property
    def kernel_name(self) -> str:
        """The extern "C" entry point."""

    @property
    def file_name(self) -> str:
        """Names the content."""

    @property
    def arch(self) -> str:
        """For NVRTC: "sm_80", "sm_90a"."""

    @property
    def threads(self) -> int:
        """Per block."""

    @property
    def dynamic_shared_bytes(self) -> int:
        """Per block."""

    @property
    def text(self) -> str:
        """The CUDA that the compiler gets; it includes nothing."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class Binary:
    """What the compiler made of a source."""

    @property
    def kernel_name(self) -> str:
        """The entry point's name."""

    @property
    def arch(self) -> str:
        """"sm_90a" ..."""

    @property
    def compiler(self) -> str:
        """NVRTC's version and build-ids."""

    @property
    def registers(self) -> int:
        """Per thread."""

    @property
    def spill_bytes(self) -> int:
        """Registers in local memory, per thread."""

    @property
    def local_bytes(self) -> int:
        """Stack frame, per thread."""

    @property
    def static_shared_bytes(self) -> int:
        """Per block."""

    @property
    def dynamic_shared_bytes(self) -> int:
        """Per block."""

    @property
    def threads(self) -> int:
        """Per block."""

    @property
    def compile_ms(self) -> float:
        """Milliseconds, also of a cache hit."""

    @property
    def cubin(self) -> bytes:
        """The machine code, an ELF file."""

    @property
    def ptx(self) -> str:
        """The PTX; empty in a bundle without texts."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class BuildResult:
    """One source on its way through cache and compiler."""

    @property
    def kernel_name(self) -> str:
        """The entry point's name."""

    @property
    def key(self) -> str:
        """Hex digest of source, target and compiler."""

    @property
    def hit(self) -> bool:
        """Whether the cache had it."""

    @property
    def stored(self) -> bool:
        """Whether the next process will find it."""

    @property
    def ms(self) -> float:
        """Milliseconds that this call took for the kernel."""

    @property
    def binary(self) -> Binary:
        """The compiled kernel; None of Runtime.find() for what the cache lacks."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

def render(spec: Plan | Spec | dict[str, Any] | str, target: Target | str | None = None, tables: TunedTables | None = None) -> list[Source]:
    """
    The CUDA of every kernel of a plan, or of a spec for a target, in the order of Plan.kernels, then Plan.before. Pure: no disk, no CUDA.
    """

class WeightLayout:
    """Where everything lies in packed weights."""

    @property
    def row_blocks(self) -> int:
        """Blocks of 16 rows."""

    @property
    def chunks_per_row_block(self) -> int:
        """Of 128 columns."""

    @property
    def meta_group(self) -> int:
        """Columns of an entry of scales."""

    @property
    def groups_per_chunk(self) -> int:
        """Such entries in a chunk."""

    @property
    def entry_offset(self) -> int:
        """Columns before the chunk that its first entry begins."""

    @property
    def chunk_bytes(self) -> int:
        """A multiple of 16."""

    @property
    def scale_offset(self) -> int:
        """Inside a chunk."""

    @property
    def scale_bytes(self) -> int:
        """Of one entry: 16 scales."""

    @property
    def zero_offset(self) -> int:
        """Inside a chunk."""

    @property
    def zero_bytes(self) -> int:
        """Of one entry; 0 if there are none."""

    @property
    def channel_offset(self) -> int:
        """Of metadata per channel."""

    @property
    def channel_bytes(self) -> int:
        """Of one row block; 0 with scales of groups alone."""

    @property
    def channel_zero_offset(self) -> int:
        """Inside the row block's metadata."""

    @property
    def channel_sum_offset(self) -> int:
        """The same: int32 sums of the rows' codes; 0 if there are none."""

    @property
    def block_bytes(self) -> int:
        """
        The FP32 scales of blocks, for 64 rows and a chunk; 0 if there are none.
        """

    @property
    def tensor_offset(self) -> int:
        """Of the FP32 tensor scale."""

    @property
    def total_bytes(self) -> int:
        """Of all."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

def weight_layout(spec: Spec | dict[str, Any] | str) -> WeightLayout:
    """The bytes of a spec's packed weights; docs/layouts.md describes them."""

LAYOUT_VERSION: int = 6

def layout_version(spec: Spec | dict[str, Any] | str) -> int:
    """
    The version since which such weights have the bytes that they have now: store it with packed weights.
    """

def check_packed_weights(kernel: Spec | dict[str, Any] | str, packed: Spec | dict[str, Any] | str, version: int) -> None:
    """
    Raises UsageError unless a kernel of the spec `kernel` reads weights that were packed for the spec `packed`, in a layout of `version`.
    """

def pack_weights(spec: Spec | dict[str, Any] | str, codes: object, scales: object = None, zeros: object = None, tensor_scale: float = 1.0, channel_scales: object = None) -> numpy.typing.NDArray[numpy.uint8]:
    """
    Weights in the layout that kernels of a gemm's spec read: [bytes] uint8. The arrays are those of QuantizedWeights, rows in the checkpoint's order. Raises UsageError that names the array.
    """

def unpack_weights(spec: Spec | dict[str, Any] | str, packed: object) -> heddle._weights.QuantizedWeights:
    """The inverse of pack_weights()."""

def quantize(spec: Spec | dict[str, Any] | str, w: object) -> heddle._weights.QuantizedWeights:
    """
    W to the nearest codes, on the host, with the bits that "op": "quantize_weight" writes. w: [N, K] of the spec's 16-bit type, of a gemm's spec activation.dtype; with activations of 8 bits float16, or bfloat16 as uint16.
    """

class KvTensorLayout:
    """The bytes of K, or of V: a tensor of codes and one of scales."""

    @property
    def heads(self) -> int:
        """Heads of a token."""

    @property
    def order(self) -> str:
        """"hnd" or "nhd": the order inside a page."""

    @property
    def row_bytes(self) -> int:
        """Of the codes of one head of one token."""

    @property
    def scale_heads(self) -> int:
        """Heads that have a row of scales."""

    @property
    def scale_row_bytes(self) -> int:
        """0: no scales are stored."""

    @property
    def scales_of_row(self) -> int:
        """Scales in such a row."""

    @property
    def scale_tokens(self) -> int:
        """Neighbouring tokens that share a row of scales."""

    @property
    def residual_row_bytes(self) -> int:
        """Of a row of the residual window; 0: there is none."""

    def code_bytes(self, pages: int, page_tokens: int) -> int:
        """Bytes of KvCacheTensor.codes."""

    def scale_bytes(self, pages: int, page_tokens: int) -> int:
        """Bytes of KvCacheTensor.scales."""

    def residual_bytes(self, slots: int) -> int:
        """Bytes of KvCacheTensor.residual."""

    def code_offset(self, page: int, page_tokens: int, token: int, head: int) -> int:
        """Byte at which the codes of a token's head begin."""

    def scale_offset(self, page: int, page_tokens: int, token: int, head: int) -> int:
        """Byte at which its scales begin."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class KvCacheLayout:
    """The bytes of a key-value cache."""

    @property
    def k(self) -> KvTensorLayout:
        """K."""

    @property
    def v(self) -> KvTensorLayout:
        """V."""

    @property
    def token_bytes(self) -> int:
        """Bytes that one token takes in K and V, scales included."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

def kv_cache_layout(spec: Spec | dict[str, Any] | str) -> KvCacheLayout:
    """
    The bytes of the cache that a spec of kv_append or decode_attention works on.
    """

class ModelKernel:
    """One operation of the model that has a kernel."""

    @property
    def spec(self) -> Spec:
        """Its name is the operation's: "qkv_proj" ..."""

    @property
    def layers(self) -> int:
        """How many layers use it."""

    @property
    def covers(self) -> str:
        """The checkpoint's own names."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class ModelUnserved:
    """An operation that no kernel can be made for."""

    @property
    def name(self) -> str:
        """As in the checkpoint."""

    @property
    def reason(self) -> str:
        """And what would be needed."""

    @property
    def layers(self) -> int:
        """How many layers have it."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class ModelPart:
    """One module of a layer."""

    @property
    def path(self) -> str:
        """"self_attn.q_proj"."""

    @property
    def n(self) -> int:
        """Rows."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class ModelLayer:
    """A layer with weights, of every decoder layer alike."""

    @property
    def name(self) -> str:
        """As engines fuse it: "qkv_proj"."""

    @property
    def kind(self) -> str:
        """"linear", "experts", "convolution" ..."""

    @property
    def parts(self) -> list[ModelPart]:
        """In the order of their rows."""

    @property
    def n(self) -> int:
        """Rows; 0 where there is no matrix."""

    @property
    def k(self) -> int:
        """Columns; 0 where there is no matrix."""

    @property
    def matrices(self) -> int:
        """Experts of a layer."""

    @property
    def bias(self) -> bool:
        """Whether it has one."""

    @property
    def layers(self) -> list[int]:
        """The decoder layers that have it."""

    @property
    def weights(self) -> str:
        """"uint4, groups of 128", "16 bits"."""

    @property
    def kernel(self) -> int:
        """Index into Model.kernels; -1: there is none."""

    @property
    def reason(self) -> str:
        """Why there is none."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class Model:
    """The kernels that a model needs, and what is known of it."""

    @property
    def model_type(self) -> str:
        """"llama", "qwen2" ..."""

    @property
    def quant_method(self) -> str:
        """"awq", "gptq" ...; may be empty."""

    @property
    def kernels(self) -> list[ModelKernel]:
        """Of its linear layers, or of its cache."""

    @property
    def rows(self) -> list[ModelKernel]:
        """Norms and activations between them."""

    @property
    def unserved(self) -> list[ModelUnserved]:
        """What no kernel can be made for."""

    @property
    def layers(self) -> list[ModelLayer]:
        """Every layer with weights, served or not."""

    @property
    def notes(self) -> list[str]:
        """What was left out and why."""

    @property
    def assumptions(self) -> list[str]:
        """What the configs cannot tell."""

    @property
    def specs(self) -> list[Spec]:
        """The specs of kernels, then of rows: what Runtime.prepare() takes."""

    def facts(self) -> dict[str, Any]:
        """
        The model's shape, kinds of norms, attention and experts; the type alone where the model type is not known.
        """

    @staticmethod
    def from_config(config: dict[str, Any] | str, *, hf_quant_config: dict[str, Any] | str | None = None, quantize_config: dict[str, Any] | str | None = None, plain_too: bool = False, engine_rotates: bool = False, gated: bool = False, dense: bool = False, lm_head_bits: int = 0, activation_bits: int = 0, arch: int = 0) -> Model:
        """
        From a Hugging Face config.json, as a dict or its text, and the files beside it. plain_too: a model that is not quantised is described, not refused. gated: a gated epilogue for gate_up_proj. dense: also linear layers of 16 bits. lm_head_bits: 8 or 4, lm_head is quantised. activation_bits: 16, no activations of 8 bits; 0, as the model says. arch: of the GPU, 90 for sm_90; 0, one that has kernels of 8-bit activations. engine_rotates: the engine rotates activations. Raises SpecError and UnsupportedError.
        """

    @staticmethod
    def cache_from_config(config: dict[str, Any] | str, kv: dict[str, Any] | str) -> Model:
        """
        The operations on the model's key-value cache: kv_append and decode_attention. kv: a spec's kv block, or words such as "int8:head" or "int8:head,int4".
        """

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class ModelWeightSize:
    """Weights of layers that are alike."""

    @property
    def name(self) -> str:
        """"qkv_proj", "embeddings", "norms"."""

    @property
    def weights(self) -> str:
        """"uint4, groups of 128", "16 bits"."""

    @property
    def packed(self) -> bool:
        """Whether they are in Heddle's layout."""

    @property
    def count(self) -> int:
        """Layers."""

    @property
    def each(self) -> int:
        """Bytes of one."""

    @property
    def bytes(self) -> int:
        """Of all."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class ModelCacheSize:
    """The caches of layers that are alike."""

    @property
    def name(self) -> str:
        """Of the kernel that fills it."""

    @property
    def count(self) -> int:
        """Layers."""

    @property
    def pages(self) -> int:
        """Of one layer."""

    @property
    def page_tokens(self) -> int:
        """Tokens of a page."""

    @property
    def each(self) -> int:
        """Bytes of one layer."""

    @property
    def bytes(self) -> int:
        """Of all."""

    @property
    def window(self) -> int:
        """Tokens that queries see; 0: all."""

    @property
    def each_in_window(self) -> int:
        """Bytes of one that keeps the pages of its window alone."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class ModelWorkspaceSize:
    """What launches of a kernel need."""

    @property
    def name(self) -> str:
        """The kernel's spec."""

    @property
    def bytes(self) -> int:
        """The most of any launch for the batch."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class ModelUncounted:
    """What is no part of the sums."""

    @property
    def name(self) -> str:
        """What it is."""

    @property
    def reason(self) -> str:
        """Why."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class ModelSize:
    """How much device memory a model takes."""

    @property
    def weights(self) -> list[ModelWeightSize]:
        """By kinds of layers."""

    @property
    def caches(self) -> list[ModelCacheSize]:
        """By kinds of layers."""

    @property
    def workspaces(self) -> list[ModelWorkspaceSize]:
        """Of kernels that need some."""

    @property
    def uncounted(self) -> list[ModelUncounted]:
        """What is no part of the sums."""

    @property
    def assumptions(self) -> list[str]:
        """What the config cannot tell."""

    @property
    def weight_bytes(self) -> int:
        """The sum."""

    @property
    def cache_bytes(self) -> int:
        """The sum."""

    @property
    def workspace_bytes(self) -> int:
        """The largest: kernels share it."""

    @property
    def bytes(self) -> int:
        """Weights, caches and workspace."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

def model_size(model: Model, cache: Model | None, target: Target | str, *, sequences: int = 1, context: int = 1, tables: TunedTables | None = None) -> ModelSize:
    """
    Bytes of weights, key-value cache and workspace, from the models of a config: Model.from_config() and Model.cache_from_config(). Needs no GPU. Raises UsageError.
    """

class CheckpointTensor:
    """A tensor as it is packed or copied."""

    @property
    def name(self) -> str:
        """As `heddle repack` writes it."""

    @property
    def type(self) -> str:
        """As safetensors call it: "U8", "BF16" ..."""

    @property
    def shape(self) -> list[int]:
        """Row-major."""

    @property
    def bytes(self) -> int:
        """Of all elements."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class CheckpointPart:
    """A module whose rows a layer has."""

    @property
    def name(self) -> str:
        """"model.layers.0.self_attn.q_proj"."""

    @property
    def rows(self) -> int:
        """Of one matrix."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class CheckpointLayer:
    """One layer as a kernel takes it."""

    @property
    def name(self) -> str:
        """"model.layers.0.self_attn.qkv_proj"."""

    @property
    def spec(self) -> Spec:
        """A gemm, of one matrix."""

    @property
    def parts(self) -> list[CheckpointPart]:
        """In the order of their rows."""

    @property
    def matrices(self) -> int:
        """Experts of one tensor; else 1."""

    @property
    def packed(self) -> CheckpointTensor:
        """U8 [bytes], of experts [matrices, bytes]: the argument `weights`."""

    @property
    def layout_version(self) -> int:
        """What whoever stores the bytes stores with them."""

    @property
    def permutation(self) -> CheckpointTensor | None:
        """I32 [K], with act_order."""

    @property
    def bias(self) -> CheckpointTensor | None:
        """[N], with epilogue.bias, in the checkpoint's type."""

    @property
    def pre_scale(self) -> CheckpointTensor | None:
        """[K], with activation.pre_scale, in the checkpoint's type."""

    @property
    def input_scale(self) -> CheckpointTensor | None:
        """F32 [1], where the scale of 8-bit activations is static."""

    @property
    def source_bytes(self) -> int:
        """Of the tensors that it is packed from."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class UnservedLayer:
    """A layer that was read, but that no kernel takes."""

    @property
    def name(self) -> str:
        """Its module."""

    @property
    def reason(self) -> str:
        """Why."""

    @property
    def n(self) -> int:
        """Rows; 0 where it is no matrix."""

    @property
    def k(self) -> int:
        """Columns."""

    @property
    def tensors(self) -> list[str]:
        """Their names."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class CheckpointReader:
    """
    An opened checkpoint; docs/checkpoints.md says which are read. Immutable; any thread may use it. The files stay open as long as it lives.
    """

    def __init__(self, path: str | os.PathLike[str], *, config: str | os.PathLike[str] | None = None, fuse: bool = True, keep: Sequence[str] = [], skip: Sequence[str] = [], rank: int = 0, size: int = 1, engine_rotates: bool = False, gated: bool = False, dense: bool = False, lm_head_bits: int = 0, activation_bits: int = 0, arch: int = 0) -> None:
        """
        Reads headers only. path: a folder, a .safetensors file or an index. config: of the model, if it is not beside the tensors. fuse: q, k and v as qkv_proj, gate and up as gate_up_proj. keep, skip: shell patterns of tensors that are copied, or left out. rank, size: of tensor parallelism. gated, dense, lm_head_bits, activation_bits, arch, engine_rotates: as of Model.from_config(). Raises FileError, SpecError, UnsupportedError, UsageError.
        """

    @property
    def layers(self) -> list[CheckpointLayer]:
        """Ascending by name."""

    @property
    def tensors(self) -> list[CheckpointTensor]:
        """All that is neither skipped nor part of a layer; ascending by name."""

    @property
    def unserved(self) -> list[UnservedLayer]:
        """Layers that no kernel takes."""

    @property
    def notes(self) -> list[str]:
        """What a user should know."""

    def layer(self, name: str) -> CheckpointLayer:
        """
        The layer of this name. Raises UsageError, with the reason if it is unserved.
        """

    def tensor(self, name: str) -> CheckpointTensor:
        """The tensor of this name. Raises UsageError."""

    def pack(self, layer: CheckpointLayer, out: object = None) -> Any:
        """
        The packed weights of a layer: a new array [bytes] uint8, or `out`, contiguous memory of the host with at least so many bytes. Raises UsageError, FileError.
        """

    def read(self, tensor: CheckpointTensor, out: object = None) -> Any:
        """The bytes of any tensor, as pack() gives them."""

    def for_each_layer(self, work: Callable[[CheckpointLayer], object], progress: Callable[[CheckpointLayer, int, int], object] | None = None, jobs: int = 0) -> None:
        """
        Calls work(layer) for each layer, `jobs` of them at a time (0: one per core, 8 at most), and progress(layer, done, total) after each. The first exception, or progress that returns False, which raises CancelledError, begins no further layer.
        """

class DeviceMemory:
    """
    A raw device pointer and how many bytes lie behind it, for memory that no array stands for. Its type and shape cannot be checked, so launches that take their M or a stride from an array want those beside it.
    """

    def __init__(self, pointer: int, bytes: int, device: int = -1, owner: object = None) -> None:
        """
        `device` is an ordinal, or -1: not known, not checked. `owner` is kept alive.
        """

    @property
    def pointer(self) -> int: ...

    @property
    def bytes(self) -> int: ...

    @property
    def device(self) -> int: ...

    def __repr__(self) -> str: ...

class Launch:
    """
    A kernel with the arguments of a launch, checked once by bind(). Calling it launches, and does nothing else: it may be captured into a CUDA graph. It keeps its arrays alive; they must not be resized.

    launch(stream=None) enqueues the kernel on `stream`, in the current context: an int, or a stream of PyTorch, CuPy or cuda.core. None: PyTorch's current stream if torch is in use, else the default stream. Any thread.
    """

    def __call__(self, stream: object = None) -> None: ...

    @property
    def op(self) -> str: ...

    @property
    def device(self) -> int: ...

    def __repr__(self) -> str: ...

class GemmKernel:
    """
    Y[M, N] = X[M, K] * W[N, K]^T with quantised W, and what its spec adds.
    """

    @property
    def op(self) -> str:
        """The operation."""

    @property
    def spec(self) -> Spec:
        """What it does."""

    @property
    def plan(self) -> Plan:
        """How it does it."""

    @property
    def device(self) -> int:
        """Ordinal of the device that it was loaded for."""

    @property
    def max_workspace_bytes(self) -> int:
        """
        Bytes of workspace that suffice for every launch; 0 if none needs any. Set them to zero once. Launches that may run at the same time need their own.
        """

    def __repr__(self) -> str: ...

    def workspace_bytes(self, m: int) -> int:
        """
        Bytes that a launch with M needs. Raises UsageError outside of shape.m.
        """

    def bind(self, *, x: object, weights: object, y: object, bias: object = None, residual: object = None, pre_scale: object = None, permutation: object = None, workspace: object = None, x_scales: object = None, x_zero_points: object = None, x_scale_stride: int | None = None, y_scales: object = None, m: int | None = None) -> Launch:
        """
        Checks the arguments of a launch. Every array is dense and aligned to 16 bytes, x_scales, unless they are of groups, x_zero_points and y_scales to 4.

        x: [M, K] of activation.dtype. weights: [bytes] uint8, from pack_weights() or a checkpoint. y: [M, N], with a gated epilogue [M, N / 2], of output.dtype. bias: [N] of activation.dtype, with activations of 8 bits of output.dtype, where both have 8 bits float32. residual: as y; it may be y; where y has 8 bits of bias's type. pre_scale: [K] of activation.dtype. permutation: [K] int32. workspace: zeroed memory of workspace_bytes(m). x_scales: float32, [M] or, of granularity tensor, [1], or, of groups, as row_transform writes them column_major, lines x_scale_stride apart, without it dense; x_zero_points: [M] int32; of activations of 8 bits. y_scales, of y of 8 bits: float32, [1], read, or, of groups, written as x_scales are read, dense. m: only where x is a DeviceMemory.
        """

    def launch(self, *, x: object, weights: object, y: object, bias: object = None, residual: object = None, pre_scale: object = None, permutation: object = None, workspace: object = None, x_scales: object = None, x_zero_points: object = None, x_scale_stride: int | None = None, y_scales: object = None, m: int | None = None, stream: object = None) -> None:
        """
        bind() and one launch on `stream`. The arrays must live until it has ended.
        """

class DequantizeKernel:
    """Packed weights, or a checkpoint's, to 16-bit floats."""

    @property
    def op(self) -> str:
        """The operation."""

    @property
    def spec(self) -> Spec:
        """What it does."""

    @property
    def plan(self) -> Plan:
        """How it does it."""

    @property
    def device(self) -> int:
        """Ordinal of the device that it was loaded for."""

    @property
    def max_workspace_bytes(self) -> int:
        """
        Bytes of workspace that suffice for every launch; 0 if none needs any. Set them to zero once. Launches that may run at the same time need their own.
        """

    def __repr__(self) -> str: ...

    def bind(self, *, weights: object, w: object, scales: object = None, zeros: object = None, group_index: object = None, permutation: object = None) -> Launch:
        """
        Checks the arguments of a launch. Every array is dense and aligned to 16 bytes.

        weights: packed weights, [bytes] uint8, or a checkpoint's qweight, int32: AWQ [K, N * bits / 32], GPTQ [K * bits / 32, N]. Of a checkpoint also scales: [G, N] of the weight's scale_dtype, and zeros: its qzeros, [G, N * bits / 32] int32. group_index (to dequantise GPTQ), permutation (all else): [K] int32, with act_order. w: [N, K] of the 16-bit type of the spec. packed: [bytes] uint8, in Heddle's layout.
        """

    def launch(self, *, weights: object, w: object, scales: object = None, zeros: object = None, group_index: object = None, permutation: object = None, stream: object = None) -> None:
        """
        bind() and one launch on `stream`. The arrays must live until it has ended.
        """

class RepackKernel:
    """A checkpoint's weights to packed weights."""

    @property
    def op(self) -> str:
        """The operation."""

    @property
    def spec(self) -> Spec:
        """What it does."""

    @property
    def plan(self) -> Plan:
        """How it does it."""

    @property
    def device(self) -> int:
        """Ordinal of the device that it was loaded for."""

    @property
    def max_workspace_bytes(self) -> int:
        """
        Bytes of workspace that suffice for every launch; 0 if none needs any. Set them to zero once. Launches that may run at the same time need their own.
        """

    def __repr__(self) -> str: ...

    def bind(self, *, weights: object, packed: object, scales: object = None, zeros: object = None, permutation: object = None) -> Launch:
        """
        Checks the arguments of a launch. Every array is dense and aligned to 16 bytes.

        weights: packed weights, [bytes] uint8, or a checkpoint's qweight, int32: AWQ [K, N * bits / 32], GPTQ [K * bits / 32, N]. Of a checkpoint also scales: [G, N] of the weight's scale_dtype, and zeros: its qzeros, [G, N * bits / 32] int32. group_index (to dequantise GPTQ), permutation (all else): [K] int32, with act_order. w: [N, K] of the 16-bit type of the spec. packed: [bytes] uint8, in Heddle's layout.
        """

    def launch(self, *, weights: object, packed: object, scales: object = None, zeros: object = None, permutation: object = None, stream: object = None) -> None:
        """
        bind() and one launch on `stream`. The arrays must live until it has ended.
        """

class QuantizeWeightKernel:
    """16-bit floats to packed weights."""

    @property
    def op(self) -> str:
        """The operation."""

    @property
    def spec(self) -> Spec:
        """What it does."""

    @property
    def plan(self) -> Plan:
        """How it does it."""

    @property
    def device(self) -> int:
        """Ordinal of the device that it was loaded for."""

    @property
    def max_workspace_bytes(self) -> int:
        """
        Bytes of workspace that suffice for every launch; 0 if none needs any. Set them to zero once. Launches that may run at the same time need their own.
        """

    def __repr__(self) -> str: ...

    def bind(self, *, w: object, packed: object) -> Launch:
        """
        Checks the arguments of a launch. Every array is dense and aligned to 16 bytes.

        weights: packed weights, [bytes] uint8, or a checkpoint's qweight, int32: AWQ [K, N * bits / 32], GPTQ [K * bits / 32, N]. Of a checkpoint also scales: [G, N] of the weight's scale_dtype, and zeros: its qzeros, [G, N * bits / 32] int32. group_index (to dequantise GPTQ), permutation (all else): [K] int32, with act_order. w: [N, K] of the 16-bit type of the spec. packed: [bytes] uint8, in Heddle's layout.
        """

    def launch(self, *, w: object, packed: object, stream: object = None) -> None:
        """
        bind() and one launch on `stream`. The arrays must live until it has ended.
        """

class RowTransformKernel:
    """A norm, an activation or a gate on rows."""

    @property
    def op(self) -> str:
        """The operation."""

    @property
    def spec(self) -> Spec:
        """What it does."""

    @property
    def plan(self) -> Plan:
        """How it does it."""

    @property
    def device(self) -> int:
        """Ordinal of the device that it was loaded for."""

    @property
    def max_workspace_bytes(self) -> int:
        """
        Bytes of workspace that suffice for every launch; 0 if none needs any. Set them to zero once. Launches that may run at the same time need their own.
        """

    def __repr__(self) -> str: ...

    def bind(self, *, x: object, y: object, residual: object = None, weight: object = None, bias: object = None, pre_scale: object = None, tensor_scale: object = None, scales: object = None, zero_points: object = None, m: int | None = None, x_stride: int | None = None, y_stride: int | None = None, scale_stride: int | None = None) -> Launch:
        """
        Checks the arguments of a launch. Memory is aligned to 16 bytes.

        x: [M, columns], with a gate [M, 2 * columns], of input.dtype. y: [M, columns] of output.dtype; it may be x. Rows of both may be parts of wider ones. residual: [M, columns], read and replaced by X + residual. weight, bias: [columns]. m, x_stride, y_stride (elements): only of a DeviceMemory.

        Of a y of 8 bits: pre_scale: [columns] of input.dtype. tensor_scale: one float32, read. scales, written: with granularity token [M] float32, with group the memory of a matrix whose lines are scale_stride scales apart; without scale_stride they are dense. zero_points: [M] int32, written.
        """

    def launch(self, *, x: object, y: object, residual: object = None, weight: object = None, bias: object = None, pre_scale: object = None, tensor_scale: object = None, scales: object = None, zero_points: object = None, m: int | None = None, x_stride: int | None = None, y_stride: int | None = None, scale_stride: int | None = None, stream: object = None) -> None:
        """
        bind() and one launch on `stream`. The arrays must live until it has ended.
        """

class KvAppendKernel:
    """K and V of new tokens into a cache, and Q of them prepared."""

    @property
    def op(self) -> str:
        """The operation."""

    @property
    def spec(self) -> Spec:
        """What it does."""

    @property
    def plan(self) -> Plan:
        """How it does it."""

    @property
    def device(self) -> int:
        """Ordinal of the device that it was loaded for."""

    @property
    def max_workspace_bytes(self) -> int:
        """
        Bytes of workspace that suffice for every launch; 0 if none needs any. Set them to zero once. Launches that may run at the same time need their own.
        """

    def __repr__(self) -> str: ...

    def bind(self, *, k: object, v: object, lengths: object, cache: heddle.KvCache, offsets: object = None, rotations: object = None, q: object = None, q_out: object = None, k_norm: object = None, q_norm: object = None, tokens: int | None = None, sequences: int | None = None, rotation_rows: int | None = None, k_stride: int | None = None, v_stride: int | None = None, q_stride: int | None = None) -> Launch:
        """
        Checks the arguments of a launch.

        k, v: [tokens, kv_heads, head_dim] of activation.dtype; tokens may be parts of wider rows. lengths: [sequences] int32, tokens in the cache once the new ones are there. offsets: [sequences + 1] int32, where each sequence's tokens begin; None: one token each. rotations: [positions, rope.dim] float32, exactly with rope.source table. q: as k with query.heads heads; q_out: the same, dense. k_norm, q_norm: [head_dim]. The numbers are only of DeviceMemory.
        """

    def launch(self, *, k: object, v: object, lengths: object, cache: heddle.KvCache, offsets: object = None, rotations: object = None, q: object = None, q_out: object = None, k_norm: object = None, q_norm: object = None, tokens: int | None = None, sequences: int | None = None, rotation_rows: int | None = None, k_stride: int | None = None, v_stride: int | None = None, q_stride: int | None = None, stream: object = None) -> None:
        """
        bind() and one launch on `stream`. The arrays must live until it has ended.
        """

class DecodeAttentionKernel:
    """Attention of the last tokens of each sequence over a cache."""

    @property
    def op(self) -> str:
        """The operation."""

    @property
    def spec(self) -> Spec:
        """What it does."""

    @property
    def plan(self) -> Plan:
        """How it does it."""

    @property
    def device(self) -> int:
        """Ordinal of the device that it was loaded for."""

    @property
    def max_workspace_bytes(self) -> int:
        """
        Bytes of workspace that suffice for every launch; 0 if none needs any. Set them to zero once. Launches that may run at the same time need their own.
        """

    def __repr__(self) -> str: ...

    def bind(self, *, q: object, out: object, lengths: object, cache: heddle.KvCache, slopes: object = None, sink_logits: object = None, log_sum_exp: object = None, workspace: object = None, sequences: int | None = None) -> Launch:
        """
        Checks the arguments of a launch.

        q, out: [sequences, query_len, heads, head_dim] of activation.dtype. lengths: [sequences] int32, tokens in the cache, those of q among them. slopes, sink_logits: [heads] float32. log_sum_exp: [sequences, query_len, heads] float32. workspace: zeroed memory of max_workspace_bytes. sequences: only where q is a DeviceMemory.
        """

    def launch(self, *, q: object, out: object, lengths: object, cache: heddle.KvCache, slopes: object = None, sink_logits: object = None, log_sum_exp: object = None, workspace: object = None, sequences: int | None = None, stream: object = None) -> None:
        """
        bind() and one launch on `stream`. The arrays must live until it has ended.
        """

class KernelRequest:
    """A kernel that is made in the background."""

    def ready(self) -> bool:
        """Whether making it has ended, well or not."""

    def wait(self) -> heddle.Kernel:
        """Waits for it. Raises what making it raised."""

    def kernel(self, stream: object = None) -> heddle.Kernel:
        """
        What to launch on `stream` now, without waiting: the kernel itself once it is ready, until then a general one. Ask before every launch. Raises MissingError while there is neither.
        """

class PreparationStatus:
    """How far a preparation is."""

    @property
    def done(self) -> int:
        """Kernels that the background has compiled."""

    @property
    def total(self) -> int:
        """That are left to it."""

    @property
    def ended(self) -> bool:
        """Well or not: nothing more is made."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class Preparation:
    """What prepare() with urgent ranges has begun."""

    @property
    def requests(self) -> list[KernelRequest]:
        """One for each spec, in their order."""

    def status(self) -> PreparationStatus: ...

    def wait(self) -> None:
        """
        Waits until nothing more is made. Raises what the first kernel that failed raised.
        """

    def cancel(self) -> None:
        """Compiles no more than what is being compiled."""

class Runtime:
    """
    Compiles, caches and loads kernels. Any thread may use it. Making one loads nothing: libnvrtc is opened on the first cache miss, libcuda when a device is needed.
    """

    def __init__(self, *, cache_dir: str | os.PathLike[str] | None = None, read_only_roots: Sequence[str | os.PathLike[str]] = [], disk_cache: bool = True, cache_max_bytes: int = 1073741824, strict: bool = False, record_file: str | os.PathLike[str] | None = None, tuned_tables: str = '', nvrtc_dir: str | os.PathLike[str] | None = None, jobs: int = 0, log: Callable[[str, str], object] | None = None) -> None:
        """
        cache_dir: a folder, or layers: "rw:/folder:ro:/image/layer:ro:/image/model.hdl"; None: $HEDDLE_CACHE, else ~/.cache/heddle. read_only_roots: more layers. strict: compile nothing. record_file: notes every spec that is asked for. tuned_tables: files, separated by colons. nvrtc_dir: where libnvrtc is looked for last; None: the wheel nvidia-cuda-nvrtc, if it is installed. jobs: compilations at a time; 0: one per core, 8 at most. log(level, text) is called from any thread with "debug", "info", "warning" or "error".
        """

    def build(self, sources: Sequence[Source], progress: Callable[[BuildResult, int, int], object] | None = None) -> list[BuildResult]:
        """
        Compiles what the cache lacks, in parallel, without a GPU. progress(result, done, total) is called after each; if it returns False, CancelledError is raised.
        """

    def find(self, sources: Sequence[Source]) -> list[BuildResult]:
        """What the cache has of them, in their order; nothing is compiled."""

    def tuned_tables(self) -> TunedTables:
        """What kernels are planned with."""

    def set_tuned_tables(self, list: str) -> None:
        """As the argument `tuned_tables`, until a kernel was planned."""

    def compiler_identity(self) -> str:
        """
        Version and build-ids of NVRTC. Raises DriverError where there is none.
        """

    def compiler_archs(self) -> list[int]:
        """The architectures that NVRTC compiles for, ascending: 75, 80, ..."""

    def device_target(self, ordinal: int = 0) -> Target:
        """
        The current context's device, or, without one, device `ordinal`. Raises DriverError.
        """

    def has_device(self) -> bool:
        """Whether libcuda is there and has a device."""

    def kernel(self, spec: Spec | dict[str, Any] | str, stream: object = None) -> heddle.Kernel:
        """
        The kernel of a spec for the current context's device (without one, device 0): found or compiled, and loaded. With `stream`, which may be in capture, only what was prepared is served while it captures. Keep the kernel.
        """

    @overload
    def prepare(self, specs: Iterable[Spec | dict[str, Any] | str], *, progress: Callable[[BuildResult, int, int], object] | None = None) -> list[heddle.Kernel]:
        """
        All kernels of a model, compiled in parallel, loaded and kept, in the order of the specs. progress(result, done, total) is called after each, from any thread; if it returns False, CancelledError is raised.
        """

    @overload
    def prepare(self, specs: Iterable[Spec | dict[str, Any] | str], *, urgent: tuple[int, int] | Sequence[tuple[int, int]], progress: Callable[[BuildResult, int, int], object] | None = None) -> Preparation:
        """
        The same, but it returns when launches with an M inside `urgent` are served, a range for all specs or one for each; the background makes the rest. progress tells of the kernels that are waited for, Preparation.status() of the rest.
        """

    def request(self, spec: Spec | dict[str, Any] | str) -> KernelRequest:
        """
        Makes the kernel in the background. The current context must live until it is ready.
        """

    def seal(self) -> None:
        """
        From here on nothing is compiled or loaded: what was not prepared is MissingError.
        """

    def load(self, plan: Plan) -> heddle.Kernel:
        """
        As kernel(), for a plan that was resolved for this device; it is not kept.
        """

class BundleReport:
    """What was written."""

    @property
    def kernels(self) -> int:
        """How many."""

    @property
    def bytes(self) -> int:
        """Of the file."""

    @property
    def tables(self) -> TunedTables:
        """Tuned tables that went in."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class BundledKernel:
    """One kernel of a bundle."""

    @property
    def kernel_name(self) -> str:
        """The entry point's name."""

    @property
    def key(self) -> str:
        """As BuildResult.key."""

    @property
    def arch(self) -> str:
        """"sm_90a" ..."""

    @property
    def compiler(self) -> str:
        """NVRTC's version and build-ids."""

    @property
    def gpus(self) -> list[str]:
        """That it was planned for."""

    @property
    def cubin_bytes(self) -> int:
        """Of machine code."""

    @property
    def stored_bytes(self) -> int:
        """In the file."""

    @property
    def has_source(self) -> bool:
        """Whether its CUDA text is there."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

class BundleContents:
    """What is in a bundle."""

    @property
    def bytes(self) -> int:
        """Of the file."""

    @property
    def kernels(self) -> list[BundledKernel]:
        """By name, then key."""

    @property
    def tables(self) -> TunedTables:
        """The tuned tables that it carries."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

def write_bundle(runtime: Runtime, path: str | os.PathLike[str], specs: Iterable[Spec | dict[str, Any] | str], targets: Iterable[Target | str], texts: bool = True, progress: Callable[[BuildResult, int, int], object] | None = None) -> BundleReport:
    """
    Builds the kernels of every spec for every target and writes them to one file, a name that ends in ".hdl", without a GPU. A Runtime takes it in `cache_dir` ("ro:model.hdl") or `read_only_roots`. texts: with CUDA source and PTX. progress as of Runtime.build().
    """

def read_bundle(path: str | os.PathLike[str]) -> BundleContents:
    """
    What is in a bundle. Raises FileError for a file that a Runtime would not use.
    """

class Uploader:
    """
    Bytes from the host to device memory, in the order of a stream, through a small page-locked buffer. Works in the current context. One thread at a time.
    """

    def __init__(self, stream: object = None, staging_bytes: int = 16777216) -> None:
        """`stream` as of Launch; it is kept alive."""

    def pack(self, reader: CheckpointReader, layer: CheckpointLayer, to: object) -> None:
        """The packed weights of a layer to device memory, aligned to 16 bytes."""

    def read(self, reader: CheckpointReader, tensor: CheckpointTensor, to: object) -> None:
        """The bytes of any tensor of the reader."""

    def write(self, from_: object, to: object) -> None:
        """A contiguous array of the host, which may go once this returns."""

    def finish(self) -> None:
        """
        Waits until all has arrived. Launch nothing that reads the memory before.
        """
