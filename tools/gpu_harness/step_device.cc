#include "tools/gpu_harness/step_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "decode_attention/config.h"
#include "heddle/decode_attention.h"
#include "heddle/error.h"
#include "heddle/gemm.h"
#include "heddle/kv_append.h"
#include "heddle/row_transform.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

constexpr std::uint32_t kEmbeddingSeed = 3;

// Columns of what a launch reads and writes, of one sequence.
struct Columns {
  std::int64_t in = 0;
  std::int64_t out = 0;
  DType out_dtype = DType::kFp16;
};

Columns columns_of(const Spec& spec) {
  if (const auto* rows = spec.get_if<RowTransformSpec>()) {
    return {rows->x_columns(), rows->shape.columns, rows->input};
  }
  if (const auto* append = spec.get_if<KvAppendSpec>()) {
    const std::int64_t q = std::int64_t{append->query.heads} * append->shape.head_dim;
    const std::int64_t kv = std::int64_t{append->shape.kv_heads} * append->shape.head_dim;
    return {q + 2 * kv, q, append->activation};
  }
  if (const auto* attention = spec.get_if<DecodeAttentionSpec>()) {
    const std::int64_t q = std::int64_t{attention->shape.heads} * attention->shape.head_dim;
    return {q, q, attention->activation};
  }
  return {spec.gemm().shape.k, spec.gemm().output_columns(), spec.gemm().output_dtype()};
}

}  // namespace

void check_step_load(const DecodeStep& step, const StepLoad& load) {
  for (const Spec& spec : step.kernels) {
    const MRange range = spec.has_m() ? spec.m_range() : MRange{1, device::kMostSequences};
    if (load.sequences >= range.min && load.sequences <= range.max) continue;
    throw Error(ErrorCategory::kUsage, "step.batch",
                fmt::format("{} takes {} to {} sequences, not {}", spec.name(), range.min,
                            range.max, load.sequences));
  }
}

StepDevice::StepDevice(const DecodeStep& step, const std::vector<Kernel>& kernels,
                       const StepWeights& weights, const StepLoad& load,
                       const HelperKernels& helpers, const OwnedStream& stream)
    : step_(step),
      kernels_(kernels),
      weights_(weights),
      load_(load),
      helpers_(helpers),
      stream_(stream),
      caches_(step, load, stream),
      dtype_(step.kernels.front().row_transform().input) {
  make_buffers();
  connect();
  stream.synchronize();
}

void StepDevice::make_buffers() {
  std::size_t most = 0;
  std::size_t workspace = 0;
  std::size_t heads = 0;
  const auto sequences = static_cast<std::size_t>(load_.sequences);
  for (std::size_t i = 0; i < step_.kernels.size(); ++i) {
    const Columns columns = columns_of(spec(i));
    most = std::max({most, 2 * static_cast<std::size_t>(columns.in),
                     static_cast<std::size_t>(columns.out * bytes_of(columns.out_dtype))});
    workspace = std::max(workspace, kernels_[i].max_workspace_bytes());
    if (const auto* attention = spec(i).get_if<DecodeAttentionSpec>()) {
      heads = std::max(heads, static_cast<std::size_t>(attention->shape.heads));
    }
    const auto* append = spec(i).get_if<KvAppendSpec>();
    if (append != nullptr && append->rope.source == RopeSource::kTable) {
      const int dim = append->rope.dim == 0 ? append->shape.head_dim : append->rope.dim;
      const auto count = static_cast<std::size_t>(load_.context) * static_cast<std::size_t>(dim);
      if (count * sizeof(float) > rotations_.bytes()) {
        rotations_ = to_device(std::vector<float>(count, 0.7F), stream_);
      }
    }
  }
  for (DeviceBuffer& buffer : activations_) {
    buffer = DeviceBuffer(sequences * most);
    buffer.fill(0, stream_);
  }
  const auto hidden = static_cast<std::size_t>(columns_of(step_.kernels.front()).out);
  embeddings_ = DeviceBuffer(2 * sequences * hidden);
  residual_ = DeviceBuffer(embeddings_.bytes());
  helpers_.fill_normal(embeddings_.get(), sequences * hidden, kEmbeddingSeed, 1.0F, dtype_,
                       stream_);
  lengths_ = to_device(std::vector<std::int32_t>(sequences, load_.context), stream_);
  heads_ = to_device(std::vector<float>(heads, 0.01F), stream_);
  workspace_ = DeviceBuffer(workspace);
  workspace_.fill(0, stream_);
}

void StepDevice::begin() const {
  helpers_.copy_words(embeddings_.get(), residual_.get(), residual_.bytes() / 4, stream_);
}

void StepDevice::connect() {
  std::vector<std::size_t> turns(step_.kernels.size());
  for (std::size_t i = 0; i < step_.launches.size(); ++i) {
    const auto [kernel, layer] = step_.launches[i];
    const DeviceBuffer& in = i == 0 ? residual_ : activations_[i % 2];
    DeviceBuffer& out = activations_[1 - i % 2];
    const Columns columns = columns_of(spec(kernel));
    outputs_.push_back(
        {&out, static_cast<std::size_t>(load_.sequences * columns.out), columns.out_dtype});
    const std::size_t turn = turns[kernel]++;
    if (spec(kernel).get_if<RowTransformSpec>() != nullptr) {
      launches_.push_back(rows(kernel, turn, in, out));
    } else if (spec(kernel).get_if<KvAppendSpec>() != nullptr) {
      launches_.push_back(append(kernel, layer, in, out));
    } else if (spec(kernel).get_if<DecodeAttentionSpec>() != nullptr) {
      launches_.push_back(attention(kernel, layer, in, out));
    } else {
      launches_.push_back(gemm(kernel, turn, in, out));
    }
  }
}

StepDevice::Enqueue StepDevice::gemm(std::size_t kernel, std::size_t turn, const DeviceBuffer& in,
                                     const DeviceBuffer& out) const {
  GemmArgs args = weights_.gemm_args(kernel, turn);
  args.x = in.memory();
  args.y = out.memory();
  args.workspace = workspace_.memory();
  args.m = load_.sequences;
  return [args, own = GemmKernel(kernels_[kernel]), this] { own.launch(args, stream_.get()); };
}

StepDevice::Enqueue StepDevice::rows(std::size_t kernel, std::size_t turn, const DeviceBuffer& in,
                                     const DeviceBuffer& out) const {
  const RowTransformSpec& rows = spec(kernel).row_transform();
  RowTransformArgs args;
  args.x = in.memory();
  args.y = out.memory();
  if (rows.residual) args.residual = residual_.memory();
  if (rows.norm.type != NormType::kNone) args.weight = weights_.norm_weight(kernel, turn);
  args.m = load_.sequences;
  return
      [args, own = RowTransformKernel(kernels_[kernel]), this] { own.launch(args, stream_.get()); };
}

// Q, K and V lie behind each other in the rows of `in`; Q goes to `out`.
StepDevice::Enqueue StepDevice::append(std::size_t kernel, int layer, const DeviceBuffer& in,
                                       const DeviceBuffer& out) const {
  const KvAppendSpec& append = spec(kernel).kv_append();
  const auto dim = static_cast<std::size_t>(append.shape.head_dim);
  const std::size_t q = static_cast<std::size_t>(append.query.heads) * dim;
  const std::size_t kv = static_cast<std::size_t>(append.shape.kv_heads) * dim;
  KvAppendArgs args;
  args.q = in.memory();
  args.k = in.memory(2 * q);
  args.v = in.memory(2 * (q + kv));
  args.q_stride = args.k_stride = args.v_stride = static_cast<std::int64_t>(q + 2 * kv);
  args.q_out = out.memory();
  if (append.norm.epsilon) args.k_norm = args.q_norm = weights_.head_norm(kernel);
  args.tokens = args.sequences = load_.sequences;
  args.lengths = lengths_.memory();
  if (append.rope.source == RopeSource::kTable) {
    args.rotations = rotations_.memory();
    args.rotation_rows = load_.context;
  }
  args.cache = caches_.of_layer(layer);
  return [args, own = KvAppendKernel(kernels_[kernel]), this] { own.launch(args, stream_.get()); };
}

StepDevice::Enqueue StepDevice::attention(std::size_t kernel, int layer, const DeviceBuffer& in,
                                          const DeviceBuffer& out) const {
  const DecodeAttentionSpec& attention = spec(kernel).decode_attention();
  DecodeAttentionArgs args;
  args.q = in.memory();
  args.out = out.memory();
  args.sequences = load_.sequences;
  args.lengths = lengths_.memory();
  args.cache = caches_.of_layer(layer);
  if (attention.alibi == Alibi::kGiven) args.slopes = heads_.memory();
  if (attention.sink_logits) args.sink_logits = heads_.memory();
  args.workspace = workspace_.memory();
  return [args, own = DecodeAttentionKernel(kernels_[kernel]), this] {
    own.launch(args, stream_.get());
  };
}

}  // namespace heddle
