// kv_append in a decode step: Q, K and V lie behind each other in the rows that it reads.
#include "heddle/kv_cache.h"
#include "heddle/operations.h"
#include "tools/gpu_harness/step/step_part.h"

namespace heddle {
namespace {

struct HeadNorms : StepWeights {
  DeviceBuffer vector;  // of queries and of keys
};

class KvAppendStep : public StepPart {
 public:
  StepNeeds needs(const Spec& spec, const StepLoad& load) const override {
    const KvAppendSpec& append = spec.kv_append();
    const std::int64_t q = std::int64_t{append.query.heads} * append.shape.head_dim;
    const std::int64_t kv = std::int64_t{append.shape.kv_heads} * append.shape.head_dim;
    StepNeeds needs{q + 2 * kv, q, append.activation};
    if (append.rope.source == RopeSource::kTable) {
      const int dim = append.rope.dim == 0 ? append.shape.head_dim : append.rope.dim;
      needs.rotations = static_cast<std::size_t>(load.context) * static_cast<std::size_t>(dim);
    }
    return needs;
  }
  double bytes(const Spec& spec, const StepLoad& load) const override {
    const KvAppendSpec& append = spec.kv_append();
    const std::int64_t rows =
        std::int64_t{2} * append.query.heads + std::int64_t{2} * append.shape.kv_heads;
    const KvTokenBytes token =
        kv_token_bytes(kv_cache_layout(append.kv, append.shape.kv_heads, append.shape.head_dim));
    return matrix_bytes(load.sequences, rows * append.shape.head_dim, append.activation) +
           static_cast<double>(load.sequences) * static_cast<double>(token.codes + token.scales);
  }
  std::unique_ptr<StepWeights> weights(const Spec& spec, std::size_t, const HelperKernels&,
                                       const OwnedStream& stream) const override {
    const KvAppendSpec& append = spec.kv_append();
    if (!append.norm.epsilon) return nullptr;
    auto made = std::make_unique<HeadNorms>();
    made->vector = norm_weights(append.shape.head_dim, 1, 1, append.norm.weight_offset,
                                append.activation, stream);
    return made;
  }
  std::function<void()> launch(const StepPlace& place, const StepShared& shared,
                               const StepWeights* weights) const override {
    const KvAppendSpec& append = place.kernel.plan().spec.kv_append();
    const auto dim = static_cast<std::size_t>(append.shape.head_dim);
    const std::size_t q = static_cast<std::size_t>(append.query.heads) * dim;
    const std::size_t kv = static_cast<std::size_t>(append.shape.kv_heads) * dim;
    KvAppendArgs args;
    args.q = place.in.memory();
    args.k = place.in.memory(2 * q);
    args.v = place.in.memory(2 * (q + kv));
    args.q_stride = args.k_stride = args.v_stride = static_cast<std::int64_t>(q + 2 * kv);
    args.q_out = place.out.memory();
    if (weights != nullptr) {
      args.k_norm = args.q_norm = static_cast<const HeadNorms&>(*weights).vector.memory();
    }
    args.tokens = args.sequences = shared.load.sequences;
    args.lengths = shared.lengths.memory();
    if (append.rope.source == RopeSource::kTable) {
      args.rotations = shared.rotations.memory();
      args.rotation_rows = shared.load.context;
    }
    args.cache = *place.cache;
    return [args, kernel = KvAppendKernel(place.kernel), &shared] {
      kernel.launch(args, shared.stream.get());
    };
  }
};

}  // namespace

const StepPart& kv_append_step() {
  static const KvAppendStep step;
  return step;
}

}  // namespace heddle
