#include "checkpoint/plan/layer_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "checkpoint/modules/layer_error.h"
#include "checkpoint/modules/module_roles.h"
#include "checkpoint/plan/cache_note.h"
#include "checkpoint/plan/expert_notes.h"
#include "checkpoint/plan/expert_products.h"
#include "checkpoint/plan/gated_layers.h"
#include "checkpoint/plan/layer_activations.h"
#include "checkpoint/plan/lost_tensors.h"
#include "checkpoint/plan/read_group.h"
#include "generator/model/experts.h"
#include "generator/operations/gemm/gemm.h"
#include "generator/spec/document.h"
#include "generator/spec/error_place.h"
#include "heddle/error.h"

namespace heddle {
namespace {

// Why no kernel takes the layer; empty where one does.
std::string why_unserved(const GemmSpec& gemm) {
  std::string reasons;
  try {
    static_cast<void>(Spec::from_gemm(gemm));
    const std::vector<Problem> problems = check_meaning(gemm);
    if (problems.empty()) return {};
    reasons = problem_line(Error(ErrorCategory::kUnsupported, "checkpoint.repack", problems));
  } catch (const Error& error) {
    reasons = problem_line(error);
  }
  return fmt::format("{} x {}, {}-bit weights: {}", gemm.shape.n, gemm.shape.k, gemm.weight.bits,
                     reasons);
}

// The plan as it is made, group by group.
class Planner {
 public:
  Planner(const Checkpoint& checkpoint, const CheckpointConfig& config, const PackOptions& options,
          LayerPlan* plan)
      : checkpoint_(checkpoint),
        config_(config),
        parallel_(options.parallel),
        parallel_of_experts_(options.parallel_of_experts()),
        expert_parallel_(options.expert_parallel),
        plan_(*plan),
        gated_(config, options.gated),
        activations_(checkpoint, config, options.parallel) {}

  void add_all(const std::vector<LayerGroup>& groups, const std::vector<ExpertSet>& sets) {
    gated_.check(groups);
    for (const LayerGroup& group : groups) add(group);
    for (const ExpertSet& set : sets) add(set);
    if (parallel_.size > 1 || expert_parallel_.size > 1) {
      note_whole_residuals(checkpoint_, residual_, split_modules(), &plan_.notes);
    }
    finish();
  }

 private:
  // Of layers other than experts, those of which a rank has a part.
  std::set<std::string> split_modules() const {
    std::set<std::string> packed;
    if (parallel_.size == 1) return packed;
    for (const PackedLayer& layer : plan_.packed) {
      if (!layer.experts.empty()) continue;
      for (const LayerName& part : layer.group.parts) packed.insert(part.name);
    }
    return packed;
  }
  void add(const LayerGroup& group) {
    try {
      ViewedParts viewed = read_parts(checkpoint_, group, config_, parallel_, Load::kShape);
      std::string apart = why_apart(viewed.parts);
      if (apart.empty()) apart = Companions::why_apart(checkpoint_, group);
      if (apart.empty()) apart = activations_.why_apart(group);
      if (!apart.empty()) {
        plan_.notes.push_back(fmt::format("{} is not made: {}; its parts are packed alone",
                                          excerpt(group.name), apart));
        for (const LayerName& part : group.parts) add({part.name, {part}});
        return;
      }
      compare_sides(group, viewed);
      add_layer(group, std::move(viewed));
    } catch (const Error& error) {
      unconverted_.add(error);
    }
  }

  void add(const ExpertSet& set) {
    try {
      if (!set.fault.empty()) refuse_layer(set.name, set.fault);
      std::string why;
      MoeSpec moe = moe_of_block(*config_.decoder, *set.block, &why);
      if (why.empty() && !set.absent.empty()) {
        why = set.is_missing
                  ? fmt::format("the checkpoint has no tensor of the {} product of its experts",
                                set.absent)
                  : fmt::format(
                        "the weights of the {} product of its experts are not quantised; "
                        "--dense asks for kernels for such layers",
                        set.absent);
      }
      if (!why.empty()) return add_unserved(set, why, {}, {});
      add_experts(set, std::move(moe));
    } catch (const Error& error) {
      unconverted_.add(error);
    }
  }

  void add_experts(const ExpertSet& set, MoeSpec moe) {
    const std::int64_t ranks = expert_parallel_.size;
    if (moe.shape.experts % ranks != 0) {
      refuse_layer(set.name, fmt::format("{} experts cannot be shared by {} ranks alike (--ep)",
                                         moe.shape.experts, ranks));
    }
    if (ranks > 1) {
      moe.shape.local_experts = moe.shape.experts / ranks;
      moe.shape.first_expert = expert_parallel_.rank * moe.shape.local_experts;
    }
    ProductOfExperts gate_up = read_product(set.gate_up);
    const ProductOfExperts down = read_product(set.down);
    const ExpertModules modules = expert_modules(*set.block);
    gate_up.biases.check_complete(set.gate_up.name, modules.first.front().bias);
    down.biases.check_complete(set.down.name, modules.down.front().bias);
    const GemmShape& first = gate_up.gemm.shape;
    const GemmShape& second = down.gemm.shape;
    if (first.n != (moe.epilogue.gated ? 2 : 1) * second.k || second.n != first.k) {
      refuse_layer(set.name,
                   fmt::format("its experts are {} x {} and then {} x {}, which is no product of "
                               "the other",
                               first.n, first.k, second.n, second.k));
    }
    moe.shape.hidden = first.k;
    moe.shape.intermediate = second.k;
    moe.gate_up = gate_up.gemm.weight;
    moe.down = down.gemm.weight;
    moe.activation = gate_up.gemm.activation;
    moe.act_order = gate_up.gemm.act_order;
    moe.epilogue.bias = gate_up.biases.any() || down.biases.any();
    std::string why;
    if (gate_up.gemm.pre_scale || down.gemm.pre_scale) why = kExpertsUnscaled;
    if (why.empty()) why = why_no_moe(moe);
    if (!why.empty()) return add_unserved(set, why, first, second);
    const MoeGemms gemms = moe_gemms(moe);
    if (moe.epilogue.gated) gated_.add_gated_experts();
    ExpertOrder order{gate_up.gemm.act_order};
    if (down.gemm.act_order) {
      order.rows_as = set.down.each;
      gate_up.biases.order_rows(down.orders);
    }
    add_product(set.gate_up, gate_up, gemms.gate_up, moe, std::move(order));
    add_product(set.down, down, gemms.down, moe, {down.gemm.act_order});
    plan_.experts.push_back({set.name, Spec::from_moe(moe, "experts"), set.gate_up.name,
                             set.down.name, routed_moe(set.block->facts.experts, moe, "experts")});
    if (moe.epilogue.residual) residual_.push_back(&set);
    std::string note = shared_experts_note(set.block->facts.experts);
    std::vector<std::string>& notes = plan_.notes;
    const bool known = std::find(notes.begin(), notes.end(), note) != notes.end();
    if (!note.empty() && !known) notes.push_back(std::move(note));
  }

  ProductOfExperts read_product(const ExpertProduct& experts) {
    const auto see_first = [&](const LayerGroup& group, const ViewedParts& viewed) {
      compare_sides(group, viewed);
      note_experts(group, viewed);
    };
    return product_of_experts(checkpoint_, config_, parallel_of_experts_, experts, see_first,
                              &plan_.notes);
  }

  void note_experts(const LayerGroup& group, const ViewedParts& viewed) {
    has_plain_ = has_plain_ || group.parts.front().is_plain();
    if (viewed.views.front().is_whole && whole_++ == 0) first_whole_ = group.name;
    activations_.take_sixteen_bits(group, kExpertsTakeSixteenBits);
  }

  // All experts are read, so that the specs of all ranks are alike; the rank's are packed.
  void add_product(const ExpertProduct& experts, const ProductOfExperts& product,
                   const GemmSpec& gemm, const MoeSpec& moe, ExpertOrder order) {
    const std::int64_t first = moe.shape.first_expert;
    const std::int64_t count = moe.local_experts();
    PackedLayer layer{{experts.name, experts.shown},
                      Spec::from_gemm(gemm, label_of(experts.name)),
                      count,
                      product.heights,
                      {},
                      std::nullopt};
    const auto begin = experts.each.begin() + first;
    layer.experts.assign(begin, begin + count);
    layer.model_experts = moe.shape.experts;
    if (!order.rows_as.empty()) {
      const auto of_first = order.rows_as.begin() + first;
      order.rows_as = std::vector<LayerGroup>(of_first, of_first + count);
    }
    layer.order = std::move(order);
    layer.tensor_scales = product.tensor_scales;
    layer.expert_tensors = experts.tensors(checkpoint_);
    const std::set<std::string>& biases = product.biases.tensors();
    layer.expert_tensors.insert(layer.expert_tensors.end(), biases.begin(), biases.end());
    if (gemm.epilogue.bias) {
      layer.expert_bias = product.biases.made(experts.name, gemm.activation, first, count);
    }
    plan_.packed.push_back(std::move(layer));
  }

  void add_unserved(const ExpertSet& set, const std::string& why, const GemmShape& first,
                    const GemmShape& second) {
    for (const auto& [product, shape] :
         {std::pair{&set.gate_up, &first}, std::pair{&set.down, &second}}) {
      if (product->each.empty()) continue;
      plan_.unserved.push_back(
          {product->name, why, shape->n, shape->k, product->tensors(checkpoint_)});
    }
  }

  // Quantisers may pad their layers, so larger sides are a note. Experts that lack rows or columns
  // would be those of another model.
  void compare_sides(const LayerGroup& group, const ViewedParts& viewed) {
    for (std::size_t i = 0; i < group.parts.size(); ++i) {
      const LayerName& part = group.parts[i];
      const OtherSides other =
          ExpectedLayers(config_).compare(part.name, viewed.plain_heights[i], viewed.plain_k);
      if (other.is_fault) refuse_layer(part.name, other.why);
      if (other.why.empty()) continue;
      if (other_sides_++ == 0) first_other_ = fmt::format("{}: {}", excerpt(part.name), other.why);
    }
  }

  void finish() {
    for (const UnknownTensors& tensors : plan_.inventory.unknown) unconverted_.add(tensors);
    unconverted_.throw_if_any();
    std::sort(plan_.packed.begin(), plan_.packed.end(),
              [](const auto& a, const auto& b) { return a.group.name < b.group.name; });
    std::sort(plan_.experts.begin(), plan_.experts.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    if (!config_.dtype && has_plain_) {
      plan_.notes.emplace_back(
          "the config names no type of 16 bits for activations: of layers that were not quantised "
          "they are assumed to have the type of the weights");
    }
    if (other_sides_ != 0) {
      plan_.notes.push_back(
          fmt::format("{} layers have other sides than the config says, such as {}", other_sides_,
                      first_other_));
    }
    activations_.add_notes(&plan_.notes);
    note(whole_, first_whole_, "are not of those that ranks share: they are packed whole");
    note(unknown_, first_unknown_,
         "have names that Heddle does not know: by their tensors they are taken to be linear");
    gated_.add_notes(&plan_.notes);
  }

  void note(std::size_t layers, const std::string& first, const char* what) {
    if (layers == 0) return;
    plan_.notes.push_back(fmt::format("{} layers such as {} {}", layers, excerpt(first), what));
  }

  void add_layer(const LayerGroup& group, ViewedParts viewed) {
    if (viewed.is_convolution) return add_unserved(group, "it is a convolution", {});
    const LayerName& first = group.parts.front();
    const ModuleRole role = role_of_module(config_, first.name);
    if (const char* const why = why_no_gemm(role)) {
      return add_unserved(group, why, {viewed.plain_heights.front(), viewed.plain_k});
    }
    if (role == ModuleRole::kUnknown && unknown_++ == 0) first_unknown_ = group.name;
    has_plain_ = has_plain_ || group.parts.front().is_plain();
    if (viewed.views.front().is_whole && whole_++ == 0) first_whole_ = group.name;
    FusedLayer layer(group.name, std::move(viewed.parts), config_.dtype);
    Companions companions(checkpoint_, group, layer, std::move(viewed.views), viewed.plain_heights,
                          viewed.plain_k);
    GemmSpec gemm = layer.spec();
    gemm.epilogue.bias = companions.has_bias();
    gemm.pre_scale = companions.has_pre_scale();
    gated_.apply(group, layer.heights(), &gemm);
    const std::optional<float> input_scale = activations_.apply(group, layer, &gemm);
    const std::string why = why_unserved(gemm);
    if (!why.empty()) return add_unserved(group, why, gemm.shape);
    Spec spec = Spec::from_gemm(gemm, label_of(group.name));
    // The rest of the layer, such as its zero points, is read again when it is packed.
    plan_.packed.push_back({group, std::move(spec), layer.matrices(), layer.heights(),
                            layer.permutation(), std::move(companions), input_scale});
  }

  // The parts of a fused layer may be served alone.
  void add_unserved(const LayerGroup& group, const std::string& why, const GemmShape& shape) {
    if (group.parts.size() > 1) {
      for (const LayerName& part : group.parts) add({part.name, {part}});
    } else {
      plan_.unserved.push_back(
          {group.name, why, shape.n, shape.k, tensors_of(group.parts.front(), checkpoint_)});
    }
  }

  const Checkpoint& checkpoint_;
  const CheckpointConfig& config_;
  const TensorParallel& parallel_;
  const TensorParallel parallel_of_experts_;
  const ExpertParallel& expert_parallel_;
  LayerPlan& plan_;
  GatedLayers gated_;
  LayerActivations activations_;
  bool has_plain_ = false;
  std::size_t other_sides_ = 0;
  std::string first_other_;
  std::size_t whole_ = 0;
  std::string first_whole_;
  std::vector<const ExpertSet*> residual_;  // that add the output of shared experts
  std::size_t unknown_ = 0;
  std::string first_unknown_;
  Unconverted unconverted_;
};

}  // namespace

std::string label_of(const std::string& layer) {
  constexpr std::size_t kLongest = 64;
  std::string label = leaf_of_layer(layer).substr(0, kLongest);
  for (char& c : label) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-';
    if (!fine) c = '_';
  }
  return label.empty() ? "layer" : label;
}

namespace {

[[noreturn]] void refuse_ranks(const std::string& why) {
  throw Error(ErrorCategory::kUsage, "checkpoint.experts",
              "several ranks share the experts (--ep, expert_parallel): " + why);
}

void check_ranks(const PackOptions& options) {
  const auto& [rank, size] = options.expert_parallel;
  if (size == 1) return;
  if (!options.fuse) refuse_ranks("not where every layer is alone (--no-fuse, fuse)");
  const TensorParallel& parallel = options.parallel;
  if (parallel.size != 1 && (parallel.size != size || parallel.rank != rank)) {
    refuse_ranks(
        fmt::format("rank {} of {} with rank {} of {} for other layers (--tp, parallel) "
                    "is none; both name the same one",
                    rank, size, parallel.rank, parallel.size));
  }
}

}  // namespace

LayerPlan plan_layers(const Checkpoint& checkpoint, const CheckpointConfig& config,
                      const PackOptions& options) {
  check_ranks(options);
  if (options.gated && !options.fuse) {
    throw Error(ErrorCategory::kUsage, "checkpoint.gated",
                "gated epilogues need gates and ups in one layer: not with layers apart (fuse)");
  }
  LayerPlan plan;
  const PlainLayers plain(checkpoint, config, options.dense, options.lm_head_bits);
  plan.inventory = take_inventory(checkpoint, config, options.choice, &plain);
  plan.notes = notes_of_config(checkpoint, config);
  plan.notes.insert(plan.notes.end(), plain.notes().begin(), plain.notes().end());
  plan.missing = ExpectedLayers(config).missing(checkpoint, options.dense);
  if (!plan.missing.empty()) plan.notes.push_back(note_of_missing(plan.missing));
  for (std::vector<UnknownTensors> lost :
       {lost_vectors(checkpoint, config, plan.inventory),
        lost_experts(checkpoint, plan.inventory, plan.missing)}) {
    std::move(lost.begin(), lost.end(), std::back_inserter(plan.inventory.unknown));
  }
  const std::vector<Fusion> fusions = options.fuse ? config.fusions : std::vector<Fusion>();
  std::vector<LayerName> layers = plan.inventory.layers;
  std::vector<ExpertSet> sets;
  if (config.decoder) {
    sets = options.fuse ? take_expert_sets(checkpoint, config, &layers)
                        : take_denied_stacks(config, &layers);
  }
  std::vector<std::string> lone;
  if (options.fuse) note_lone_experts(config, layers, &lone);
  if (options.expert_parallel.size > 1) {
    if (!lone.empty()) refuse_ranks(lone.front());
    if (sets.empty()) refuse_ranks("the checkpoint has no layers of experts that Heddle knows");
  }
  std::move(lone.begin(), lone.end(), std::back_inserter(plan.notes));
  if (config.decoder && !config.decoder->ignored_routing.empty()) {
    plan.notes.push_back(config.decoder->routing_note());
  }
  Planner(checkpoint, config, options, &plan).add_all(group_layers(layers, fusions), sets);
  return plan;
}

}  // namespace heddle
