// CheckpointReader: a checkpoint as the packed weights that Heddle's kernels take.
//
// docs/checkpoints.md says which checkpoints are read and how an engine uses this. Needs no GPU and
// makes no CUDA call; heddle/uploader.h brings what is packed to a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/export.h"
#include "heddle/model.h"
#include "heddle/spec.h"

namespace heddle {

// The element types of safetensors.
enum class TensorType {
  kBool,
  kU8,
  kI8,
  kF8E4M3,
  kF8E5M2,
  kF8E8M0,
  kU16,
  kI16,
  kF16,
  kBf16,
  kU32,
  kI32,
  kF32,
  kU64,
  kI64,
  kF64
};

HEDDLE_EXPORT int bytes_of(TensorType type) noexcept;
// The name in safetensors files: "F8_E4M3", "BF16" ...
HEDDLE_EXPORT std::string_view to_string(TensorType type) noexcept;

// Shell patterns for the names of tensors, or of modules: a module's name means all inside of it.
struct TensorChoice {
  std::vector<std::string> keep;  // left as they are, also quantised ones: plain tensors
  std::vector<std::string> skip;  // left out
};

// One of several GPUs that share a model: matrices that make heads or inner features are split
// along N, those that take them along K.
struct TensorParallel {
  static constexpr std::int64_t kMostSize = 1024;

  std::int64_t rank = 0;
  std::int64_t size = 1;  // of GPUs, up to kMostSize
};

// One of several GPUs that share the experts of a model: each has as many whole ones, those of rank
// 0 first. With `parallel`, which then names the same rank, other layers are split as it says.
struct ExpertParallel {
  static constexpr std::int64_t kMostSize = 1024;

  std::int64_t rank = 0;
  std::int64_t size = 1;  // of GPUs, a divisor of the number of experts
};

struct CheckpointOptions : ModelOptions {
  // Path of the model's config.json. Empty: that beside the tensors. A quantiser's own file beside
  // it is read, too.
  std::string config;
  // q_proj, k_proj and v_proj are one layer, qkv_proj; gate_proj and up_proj are gate_up_proj,
  // which `gated` needs.
  bool fuse = true;
  TensorChoice choice;
  TensorParallel parallel;
  ExpertParallel expert_parallel;  // needs `fuse`
};

// A tensor as it is packed or copied: row-major, little-endian, without padding.
struct CheckpointTensor {
  std::string name;  // as `heddle repack` writes it
  TensorType type = TensorType::kU8;
  std::vector<std::int64_t> shape;
  std::size_t bytes = 0;
};

// A module of the checkpoint whose rows a layer has.
struct CheckpointPart {
  std::string name;       // "model.layers.0.self_attn.q_proj"
  std::int64_t rows = 0;  // of one matrix; with several ranks those of the rank
};

// One layer as a kernel takes it.
struct CheckpointLayer {
  std::string name;                   // "model.layers.0.self_attn.qkv_proj"
  std::vector<CheckpointPart> parts;  // in the order of their rows; one: not fused
  Spec spec;                          // a gemm; of one matrix
  // Experts, whose packed weights follow each other. 1: the layer is one matrix, unless a member
  // of experts() has it.
  std::int64_t matrices = 1;
  // GemmArgs::weights: U8 [weight_layout(spec.gemm()).total_bytes], of experts [matrices, ...].
  CheckpointTensor packed;
  int layout_version = 1;  // what an engine that stores the bytes stores with them
  // What GemmArgs takes by these names, where the spec has it: permutation is I32 [K], of experts()
  // [matrices, K]; bias [N] or [matrices, N] and pre_scale [K] have the checkpoint's type, to be
  // converted where GemmArgs wants another one. The biases of experts() have the type that MoeArgs
  // takes.
  std::optional<CheckpointTensor> permutation;
  std::optional<CheckpointTensor> bias;
  std::optional<CheckpointTensor> pre_scale;
  // F32 [1], where the scale of 8-bit activations is static: GemmArgs::x_scales and
  // RowTransformArgs::tensor_scale. Of fused parts the largest.
  std::optional<CheckpointTensor> input_scale;
  // Bytes of the checkpoint's tensors that the packed weights are made from.
  std::size_t source_bytes = 0;
};

// The experts of a decoder layer, as a kernel of a moe takes them. Their two products are layers():
// packed, bias and permutation of `gate_up` are MoeArgs::gate_up, gate_up_bias and permutation,
// those of `down` the others. With act-order of down, rows and biases of gate_up have the order in
// which down's columns are packed.
struct CheckpointExperts {
  std::string name;  // "model.layers.0.mlp.experts"
  Spec spec;         // a moe, for 1 to kDefaultMaxTokens tokens, of the rank's experts
  std::string gate_up;
  std::string down;
  std::optional<Spec> routed{};  // as ModelKernel::routed
};

// A layer that was read, but that no kernel takes: its tensors are among the plain ones.
struct UnservedLayer {
  std::string name;
  std::string reason;
  std::int64_t n = 0;  // 0 where it is no matrix
  std::int64_t k = 0;
  std::vector<std::string> tensors;
};

// Takes the bytes of one tensor in runs that follow each other: `offset` is the sum of the sizes
// before. The bytes live for the call. Returns false to stop: Error(kCancelled,
// "checkpoint.cancelled").
using ByteSink = std::function<bool(std::size_t offset, const void* data, std::size_t bytes)>;

// After a layer is done.
struct CheckpointProgress {
  const CheckpointLayer& layer;
  std::size_t done = 0;  // layers
  std::size_t total = 0;
  std::uint64_t bytes_done = 0;  // packed bytes of these layers
  std::uint64_t bytes_total = 0;
};

// An opened checkpoint: an immutable value whose copies share everything. Any thread may call
// anything at any time. Packing gives the same bytes each time, those that `heddle repack` writes.
//
// The files stay open. One that is written to meanwhile gives wrong weights or an error, never a
// crash; one that is replaced by a rename changes nothing.
//
// Host memory: an opened reader holds names, shapes, specs and permutations, but those of
// experts(). pack() takes for the time of the call the layer's tensors (source_bytes; of experts()
// those of one expert), their scales and zero points once more, and a block of rows as bytes and
// packed; of a layer of 16 bits a block of rows alone. read() takes at most kMostPieceBytes, or the
// tensor's size where it is a bias or a pre_scale.
class HEDDLE_EXPORT CheckpointReader {
 public:
  // What a sink is given at a time is at most so large.
  static constexpr std::size_t kMostPieceBytes = std::size_t{8} << 20;

  // `path`: a folder, a .safetensors file, or a model.safetensors.index.json. Reads headers, and of
  // tensors what specs depend on.
  // A file that `heddle repack` wrote gives the layers, specs and bytes that it was packed from:
  // options have their defaults or equal the file's, but `parallel`, `expert_parallel` and
  // `engine_rotates` are given.
  // Throws, with the reason,
  // - Error(kFile, "checkpoint.*") for files that are missing, damaged or contradict each other;
  // - Error(kSpec) for a config that is none;
  // - Error(kUnsupported) for what is read but cannot be packed: "checkpoint.foreign" (another
  //   format, such as GGUF), "checkpoint.not_converted" (names every tensor that looks quantised
  //   and is not understood), "checkpoint.not_quantised", "checkpoint.dense", "checkpoint.lm_head",
  //   "checkpoint.packed_version", "checkpoint.packed_arch", "model.quantization",
  //   "model.activation";
  // - Error(kUsage) for options: "checkpoint.choice" (a pattern that names no tensor or a part of a
  //   layer), "checkpoint.rank", "checkpoint.experts", "checkpoint.gated", "checkpoint.lm_head",
  //   "checkpoint.packed_options", "model.activations", "path.null_byte".
  explicit CheckpointReader(const std::string& path, const CheckpointOptions& options = {});

  // All ascend by name. Tensors: all that is neither skipped nor part of a layer. Experts: of model
  // types that are known, unless layers are not fused.
  const std::vector<CheckpointLayer>& layers() const noexcept;
  const std::vector<CheckpointTensor>& tensors() const noexcept;
  const std::vector<CheckpointExperts>& experts() const noexcept;
  const std::vector<UnservedLayer>& unserved() const noexcept;
  // What a user should know: which layers were not fused and why, for one.
  const std::vector<std::string>& notes() const noexcept;

  // The one with this name. Throw Error(kUsage, "checkpoint.no_layer"), with the reason if the
  // layer is one of unserved(), and "checkpoint.no_tensor".
  const CheckpointLayer& layer(std::string_view name) const;
  const CheckpointTensor& tensor(std::string_view name) const;

  // The packed weights of a layer: packed.bytes bytes. Throws Error(kUsage, "checkpoint.too_small")
  // for fewer `bytes` and "checkpoint.no_tensor" for a layer of another checkpoint, before anything
  // is written; Error(kFile, "checkpoint.read" or "checkpoint.changed") and Error(kUnsupported,
  // "checkpoint.layer") for files that have changed since.
  void pack(const CheckpointLayer& layer, void* to, std::size_t bytes) const;
  // As above, into a sink: for memory that is not the host's, or to need less of it.
  void pack(const CheckpointLayer& layer, const ByteSink& sink) const;

  // Reads any tensor of layers() or tensors(), by its name, in the two ways of pack().
  void read(const CheckpointTensor& tensor, void* to, std::size_t bytes) const;
  void read(const CheckpointTensor& tensor, const ByteSink& sink) const;

  // Calls work(layer) for each layer, `jobs` at a time (0: one per core, 8 at most), and after each
  // of them `progress`, one call at a time. The first exception, or `progress` that returns false
  // (Error(kCancelled, "checkpoint.cancelled")), begins no further layer and is thrown once those
  // that run have ended. Throws Error(kUsage, "checkpoint.jobs") for negative jobs.
  void for_each_layer(const std::function<void(const CheckpointLayer& layer)>& work,
                      const std::function<bool(const CheckpointProgress&)>& progress = {},
                      int jobs = 0) const;

  struct State;

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace heddle
