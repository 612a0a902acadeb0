// CheckpointReader: a checkpoint as the packed weights that Heddle's kernels take.
//
// docs/checkpoints.md says which checkpoints are read and how an engine uses this. Needs no GPU and
// makes no CUDA call; heddle/uploader.h brings what is packed to a device.
#ifndef HEDDLE_CHECKPOINT_H_
#define HEDDLE_CHECKPOINT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/export.h"
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
  kF64,
};

// Bytes of one element.
HEDDLE_EXPORT int bytes_of(TensorType type) noexcept;
// The type's name in safetensors files: "F8_E4M3", "BF16" ...
HEDDLE_EXPORT std::string_view to_string(TensorType type) noexcept;

// Shell patterns for the names of tensors, or of modules: a module's name means all inside of it.
struct TensorChoice {
  std::vector<std::string> keep;  // left as they are, also quantised ones: plain tensors
  std::vector<std::string> skip;  // left out
};

// One of several GPUs that share a model by tensor parallelism: matrices that make heads or inner
// features are split along N, those that take them along K.
struct TensorParallel {
  static constexpr std::int64_t kMostSize = 1024;

  std::int64_t rank = 0;
  std::int64_t size = 1;  // of GPUs, up to kMostSize
};

struct CheckpointOptions {
  // Path of the model's config.json. Empty: that beside the tensors. The files in its folder in
  // which some quantisers write what others write into it are read, too.
  std::string config;
  // Layers whose rows one kernel may take together are one layer: q_proj, k_proj and v_proj as
  // qkv_proj, gate_proj and up_proj as gate_up_proj.
  bool fuse = true;
  TensorChoice choice;
  TensorParallel parallel;
  // The engine rotates activations where the config asks for it at run time, which Heddle does not
  // do and refuses otherwise.
  bool engine_rotates = false;
  // Layers that are a gate_proj and an up_proj get kernels that also do what follows, with
  // epilogue.gated and the config's activation, and are packed for them. Needs `fuse`. Layers for
  // which the config does not say that it is so stay as they are, with a note.
  bool gated = false;
  // Dense linear layers whose weights are not quantised, lm_head and routers among them, are
  // packed, too, as the 16 bits that they are: their type must be that of the config's activations,
  // their sides those that the config says. Layers of the config without a tensor are in a note.
  // A checkpoint that is not quantised at all is then read. A head that shares the weights of the
  // embeddings is a layer of its own, and the embeddings stay among the plain tensors. Of model
  // types that docs/models.md lists.
  bool dense = false;
  // 8 or 4: lm_head is quantised from its 16 bits to so many, with or without `dense`, by the
  // scheme that docs/checkpoints.md says. 0: it is packed as the checkpoint has it, or not at all.
  int lm_head_bits = 0;
  // 0: layers whose activations the config quantises to 8 bits take them so, where a kernel does;
  // notes() say it, and why others take 16. 16: all take 16. Pack and make kernels with the same.
  int activation_bits = 0;
  // Target::arch() of the GPU that the weights are for: only that of a kernel of 8-bit activations
  // gets such layers. 0: not known, and taken to be one.
  int arch = 0;
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
  // Experts of one tensor, whose packed weights follow each other. 1: the layer is one matrix.
  std::int64_t matrices = 1;
  // U8 [weight_layout(spec.gemm()).total_bytes], or U8 [matrices, total_bytes] of experts:
  // GemmArgs::weights. Scales and zero points are in it, and so is the FP32 factor of the whole
  // tensor that weight.tensor_scale stands for.
  CheckpointTensor packed;
  int layout_version = 1;  // what an engine that stores the bytes stores with them
  // I32 [K], where the spec has activation.act_order: GemmArgs::permutation.
  std::optional<CheckpointTensor> permutation;
  // Where the spec has epilogue.bias: GemmArgs::bias, [N], or [matrices, N] of experts. The type is
  // that of the checkpoint: convert it where it is not the activation's.
  std::optional<CheckpointTensor> bias;
  // [K], where the spec has activation.pre_scale: GemmArgs::pre_scale. Its type likewise.
  std::optional<CheckpointTensor> pre_scale;
  // F32 [1], where the scale of 8-bit activations is static: GemmArgs::x_scales, and
  // RowTransformArgs::tensor_scale of what makes them. Of fused parts the largest.
  std::optional<CheckpointTensor> input_scale;
  // Bytes of the checkpoint's tensors that the packed weights are made from; of a packed file, its
  // own.
  std::size_t source_bytes = 0;
};

// A layer that was read, but that no kernel takes: its tensors are among the plain ones.
struct UnservedLayer {
  std::string name;
  std::string reason;
  std::int64_t n = 0;  // 0 where it is no matrix
  std::int64_t k = 0;
  std::vector<std::string> tensors;
};

// Takes the bytes of one tensor in pieces that follow each other: `offset` is the sum of the sizes
// before. The bytes live for the call. Returns false to stop: Error(kCancelled,
// "checkpoint.cancelled"). What it throws is passed on.
using ByteSink = std::function<bool(std::size_t offset, const void* data, std::size_t bytes)>;

// After a layer is done.
struct CheckpointProgress {
  const CheckpointLayer& layer;
  std::size_t done = 0;  // layers
  std::size_t total = 0;
  std::uint64_t bytes_done = 0;  // packed bytes of these layers
  std::uint64_t bytes_total = 0;
};

// An opened checkpoint: a value whose copies share everything. It is immutable, so any thread may
// call anything at any time, and different threads may pack different layers, or the same one.
// What a function makes is the same bytes each time, and the bytes that `heddle repack` writes.
//
// The files stay open for as long as a copy lives. A file that is written to meanwhile gives wrong
// weights or an error, never a crash; one that another takes the place of by a rename does not
// change anything.
//
// Host memory: an opened reader holds names, shapes, specs and permutations. pack() takes for the
// time of the call the layer's tensors as the checkpoint has them (source_bytes, all experts of a
// stacked tensor), their scales and zero points once more, one to four bytes each, and 32 rows of W
// (128 with scales of blocks, gated 256) in a byte per weight and once more packed. Of a layer of
// 16 bits it takes no tensor as a whole but 32 rows as they are and packed (256 rows, and their
// codes, of a head that is quantised), unless the model stores it transposed. read() of any other
// tensor takes at most kMostPieceBytes, or the tensor's own size where it is a bias or a pre_scale.
// None of it is kept.
class HEDDLE_EXPORT CheckpointReader {
 public:
  // What a sink is given at a time is at most so large.
  static constexpr std::size_t kMostPieceBytes = std::size_t{8} << 20;

  // `path` is a folder, a .safetensors file, or a model.safetensors.index.json. Reads the headers
  // of the files and of the tensors what specs depend on: zero points, orders of columns, biases.
  //
  // A file that `heddle repack` wrote, alone in its folder or named itself, gives the layers, specs
  // and bytes that it was packed from; packing is then a copy. Its metadata says all, and no config
  // is read. Options that are left at their defaults are the file's; `parallel` and, where the
  // engine has to rotate, `engine_rotates` must be. notes() does not repeat what repack has told.
  // Throws
  // - Error(kFile, "checkpoint.*") for files that are missing, damaged or contradict each other;
  // - of a packed file Error(kFile, "checkpoint.packed") where it is not as repack wrote it: a
  //   tensor that is missing, foreign or of another size; Error(kUnsupported,
  //   "checkpoint.packed_version") for another layout or version, "checkpoint.packed_arch" for
  //   kernels that options.arch does not have; Error(kUsage, "checkpoint.packed_options") for
  //   options that are not the file's;
  // - Error(kSpec) for a config that is none;
  // - Error(kUnsupported, "checkpoint.foreign") for files of another format, such as GGUF;
  //   "checkpoint.not_converted" that names every tensor which looks quantised and is not
  //   understood, and every layer whose tensors contradict each other or the config;
  //   "checkpoint.not_quantised" for a checkpoint without a layer to pack;
  //   "checkpoint.dense" for `dense` of a model type that is not known;
  //   "checkpoint.lm_head" for `lm_head_bits` without a head of 16 bits;
  //   "model.quantization" for a quantisation that cannot be read;
  //   "model.activation" for `gated` with an activation of which Heddle has no gated epilogue;
  // - Error(kUsage, "checkpoint.choice") for a pattern that names no tensor, a part of a layer
  //   alone, or the head that is to be quantised, "checkpoint.rank" for a rank that is none,
  //   "model.activations" for `activation_bits` that are none of those allowed,
  //   "checkpoint.gated" for `gated` without `fuse`, "checkpoint.lm_head" for `lm_head_bits` that
  //   are none of those allowed, "path.null_byte" for a null byte in `path` or in options.config.
  explicit CheckpointReader(const std::string& path, const CheckpointOptions& options = {});

  // Ascending by name.
  const std::vector<CheckpointLayer>& layers() const noexcept;
  // All that is neither skipped nor part of a layer above, as the checkpoint has it; ascending by
  // name. No two tensors of layers() and tensors() have one name.
  const std::vector<CheckpointTensor>& tensors() const noexcept;
  // Ascending by name.
  const std::vector<UnservedLayer>& unserved() const noexcept;
  // What a user should know: which layers were not fused and why, for one.
  const std::vector<std::string>& notes() const noexcept;

  // The one of layers(), or of tensors(), with this name. Throw Error(kUsage,
  // "checkpoint.no_layer"), with the reason if the layer is one of unserved(), and Error(kUsage,
  // "checkpoint.no_tensor").
  const CheckpointLayer& layer(std::string_view name) const;
  const CheckpointTensor& tensor(std::string_view name) const;

  // The packed weights of a layer of layers(): packed.bytes bytes. Throws
  // - Error(kUsage, "checkpoint.too_small") for memory with fewer `bytes`, "checkpoint.no_tensor"
  //   for a layer that this checkpoint does not have, or has with another spec; nothing is written;
  // - Error(kFile, "checkpoint.read"), "checkpoint.changed", and Error(kUnsupported,
  //   "checkpoint.layer") for files that have changed since they were opened; then some of the
  //   bytes may be written.
  void pack(const CheckpointLayer& layer, void* to, std::size_t bytes) const;
  // Packs into a sink, in pieces: for memory that is not the host's, or to need less of it.
  void pack(const CheckpointLayer& layer, const ByteSink& sink) const;

  // Reads any tensor of layers() or tensors(), by its name, in the two ways of pack().
  void read(const CheckpointTensor& tensor, void* to, std::size_t bytes) const;
  void read(const CheckpointTensor& tensor, const ByteSink& sink) const;

  // Calls work(layer) for each layer, `jobs` of them at a time on threads of its own and on the
  // caller's (0: one per core, 8 at most; the memory above is then needed so many times), and after
  // each of them `progress`, one call at a time. The first exception, or `progress` that returns
  // false, which throws Error(kCancelled, "checkpoint.cancelled"), begins no further layer and is
  // thrown once those that run have ended. Throws Error(kUsage, "checkpoint.jobs") for negative
  // jobs.
  void for_each_layer(const std::function<void(const CheckpointLayer& layer)>& work,
                      const std::function<bool(const CheckpointProgress&)>& progress = {},
                      int jobs = 0) const;

  struct State;

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_H_
