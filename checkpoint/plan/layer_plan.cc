#include "checkpoint/plan/layer_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "checkpoint/modules/layer_error.h"
#include "checkpoint/modules/module_place.h"
#include "checkpoint/modules/module_roles.h"
#include "checkpoint/plan/cache_note.h"
#include "checkpoint/plan/expert_biases.h"
#include "checkpoint/plan/expert_places.h"
#include "checkpoint/plan/gated_layers.h"
#include "checkpoint/plan/layer_activations.h"
#include "checkpoint/plan/read_group.h"
#include "generator/model/experts.h"
#include "generator/operations/gemm/gemm.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::size_t kMostProblems = 50;

// Why no kernel takes the layer; empty where one does.
std::string why_unserved(const GemmSpec& gemm) {
  std::string reasons;
  std::vector<Problem> problems;
  try {
    static_cast<void>(Spec::from_gemm(gemm));
    problems = check_meaning(gemm);
  } catch (const Error& error) {
    problems = error.problems();
  }
  for (Problem& problem : problems) {
    const Error alone(ErrorCategory::kUnsupported, "checkpoint.repack",
                      std::vector<Problem>{std::move(problem)});
    reasons += (reasons.empty() ? "" : "; ") + std::string(alone.what());
  }
  if (reasons.empty()) return {};
  return fmt::format("{} x {}, {}-bit weights: {}", gemm.shape.n, gemm.shape.k, gemm.weight.bits,
                     reasons);
}

// The fields of two specs that differ, with both values: "/weight/bits is 8, not 4".
std::string difference_of(const std::string& spec, const std::string& wanted) {
  const nlohmann::json a = nlohmann::json::parse(spec).flatten();
  const nlohmann::json b = nlohmann::json::parse(wanted).flatten();
  std::set<std::string> fields;
  for (const nlohmann::json& fields_of : {a, b}) {
    for (const auto& field : fields_of.items()) fields.insert(field.key());
  }
  const auto shown = [](const nlohmann::json& fields_of, const std::string& field) {
    return fields_of.contains(field) ? fields_of.at(field).dump() : std::string("absent");
  };
  std::string text;
  for (const std::string& field : fields) {
    if (shown(a, field) == shown(b, field)) continue;
    text += fmt::format("{}{} is {}, not {}", text.empty() ? "" : ", ", field, shown(a, field),
                        shown(b, field));
  }
  return text;
}

// The plan as it is made, group by group.
class Planner {
 public:
  Planner(const Checkpoint& checkpoint, const CheckpointConfig& config, const PackOptions& options,
          LayerPlan* plan)
      : checkpoint_(checkpoint),
        config_(config),
        parallel_(options.parallel),
        plan_(*plan),
        gated_(config, options.gated),
        activations_(checkpoint, config, options.parallel) {}

  void add_all(const std::vector<LayerGroup>& groups, const std::vector<ExpertSet>& sets) {
    gated_.check(groups);
    for (const LayerGroup& group : groups) add(group);
    for (const ExpertSet& set : sets) add(set);
    note_whole_residuals();
    finish();
  }

 private:
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

  // What the experts of one product have alike.
  struct Product {
    GemmSpec gemm;  // of one
    TensorScales tensor_scales = TensorScales::kOne;
    std::vector<std::int64_t> heights;
    ExpertBiases biases;
  };

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
    const Product gate_up = product_of(set.gate_up);
    const Product down = product_of(set.down);
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
    moe.epilogue.bias = gate_up.biases.any() || down.biases.any();
    std::string why;
    if (gate_up.gemm.act_order || down.gemm.act_order) why = kExpertsInOrder;
    if (why.empty() && (gate_up.gemm.pre_scale || down.gemm.pre_scale)) why = kExpertsUnscaled;
    if (why.empty()) why = why_no_moe(moe);
    if (!why.empty()) return add_unserved(set, why, first, second);
    const MoeGemms gemms = moe_gemms(moe);
    if (moe.epilogue.gated) gated_.add_gated_experts();
    add_product(set.gate_up, gate_up, gemms.gate_up);
    add_product(set.down, down, gemms.down);
    plan_.experts.push_back({set.name, Spec::from_moe(moe, "experts"), set.gate_up.name,
                             set.down.name, routed_moe(set.block->facts.experts, moe, "experts")});
    if (moe.epilogue.residual) residual_.push_back(&set);
    std::string note = shared_experts_note(set.block->facts.experts);
    std::vector<std::string>& notes = plan_.notes;
    const bool known = std::find(notes.begin(), notes.end(), note) != notes.end();
    if (!note.empty() && !known) notes.push_back(std::move(note));
  }

  // Experts of every rank add the residual. A shared expert that is split makes a part of it in
  // each rank, one that each rank has whole makes all of it.
  void note_whole_residuals() {
    if (parallel_.size == 1) return;
    for (const ExpertSet* set : residual_) {
      const std::string layer =
          set->name.substr(0, set->name.size() - place_of_module(set->name).path.size());
      for (const DecodedLinear& linear : set->block->linears) {
        const LinearRow& row = *linear.row;
        const std::string module = layer + std::string(row.path);
        if (!is_dense(row.module) || row.role != Role::kDown || is_packed(module)) continue;
        const auto tensor = checkpoint_.tensors().lower_bound(module + '.');
        if (tensor == checkpoint_.tensors().end() || !tensor->first.starts_with(module + '.')) {
          continue;
        }
        if (whole_residuals_++ == 0) first_whole_residual_ = module;
      }
    }
    note(whole_residuals_, first_whole_residual_,
         "are whole in each rank, and experts of every rank add their output as the residual: give "
         "it to those of rank 0 alone, and zeros to the others");
  }

  bool is_packed(const std::string& module) const {
    return std::any_of(plan_.packed.begin(), plan_.packed.end(), [&](const PackedLayer& layer) {
      const std::vector<LayerName>& parts = layer.group.parts;
      return layer.experts.empty() &&
             std::any_of(parts.begin(), parts.end(),
                         [&](const LayerName& part) { return part.name == module; });
    });
  }

  // Gates and ups of one expert may have a scale for the whole tensor each, where a kernel has one
  // for both.
  TensorScales tensor_scales_of(const ExpertProduct& experts) {
    for (const LayerGroup& group : experts.each) {
      if (group.parts.size() < 2 || !has_tensor_scale(group.parts.front())) break;
      const ViewedParts viewed = read_parts(checkpoint_, group, config_, parallel_, Load::kShape);
      if (why_apart(viewed.parts).empty() ||
          !why_apart(viewed.parts, TensorScales::kFolded).empty()) {
        continue;
      }
      plan_.notes.push_back(fmt::format(
          "{}: scales of groups are FP32, since gates and ups such as those of {} have other "
          "scales for the whole tensor",
          excerpt(experts.name), excerpt(group.name)));
      return TensorScales::kFolded;
    }
    return TensorScales::kOne;
  }

  static bool has_tensor_scale(const LayerName& layer) {
    return layer.kind == LayerName::Kind::kFp4 || layer.kind == LayerName::Kind::kPackedFp4;
  }

  // Reads of every expert what specs depend on. All have to be alike.
  Product product_of(const ExpertProduct& experts) {
    Product product;
    product.tensor_scales = tensor_scales_of(experts);
    std::string first;
    for (const LayerGroup& group : experts.each) {
      ViewedParts viewed = read_parts(checkpoint_, group, config_, parallel_, Load::kShape);
      const std::string apart = why_apart(viewed.parts, product.tensor_scales);
      if (!apart.empty()) {
        refuse_layer(group.name, apart + ": one kernel takes both, and they cannot be joined");
      }
      product.biases.add(checkpoint_, group, viewed);
      const bool is_first = first.empty();
      if (is_first) {
        compare_sides(group, viewed);
        note_experts(group, viewed);
      }
      const FusedLayer layer(group.name, std::move(viewed.parts), config_.dtype,
                             product.tensor_scales);
      GemmSpec gemm = layer.spec();
      for (const LayerName& part : group.parts) {
        gemm.pre_scale = gemm.pre_scale || checkpoint_.find(pre_scale_of(part.name)) != nullptr;
      }
      std::string text = Spec::from_gemm(gemm).canonical_json();
      if (is_first) {
        product.gemm = gemm;
        product.heights = layer.heights();
        first = std::move(text);
      } else if (text != first || layer.heights() != product.heights) {
        std::string other = difference_of(text, first);
        if (other.empty()) {
          other = fmt::format("its parts have {} rows, not {}", fmt::join(layer.heights(), " + "),
                              fmt::join(product.heights, " + "));
        }
        refuse_layer(group.name, fmt::format("it is not as {} is: {}",
                                             excerpt(experts.each.front().name), other));
      }
    }
    return product;
  }

  void note_experts(const LayerGroup& group, const ViewedParts& viewed) {
    has_plain_ = has_plain_ || group.parts.front().is_plain();
    if (viewed.views.front().is_whole && whole_++ == 0) first_whole_ = group.name;
    activations_.take_sixteen_bits(group, kExpertsTakeSixteenBits);
  }

  void add_product(const ExpertProduct& experts, const Product& product, const GemmSpec& gemm) {
    PackedLayer layer{{experts.name, experts.shown},
                      Spec::from_gemm(gemm, label_of(experts.name)),
                      std::ssize(experts.each),
                      product.heights,
                      {},
                      std::nullopt};
    layer.experts = experts.each;
    layer.tensor_scales = product.tensor_scales;
    layer.expert_tensors = experts.tensors(checkpoint_);
    const std::set<std::string>& biases = product.biases.tensors();
    layer.expert_tensors.insert(layer.expert_tensors.end(), biases.begin(), biases.end());
    if (gemm.epilogue.bias) {
      layer.expert_bias = product.biases.made(experts.name, gemm.activation);
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

  // Layers of 16 bits with other sides are refused. Quantisers may pad theirs, so that is a note.
  void compare_sides(const LayerGroup& group, const ViewedParts& viewed) {
    for (std::size_t i = 0; i < group.parts.size(); ++i) {
      const LayerName& part = group.parts[i];
      const std::string why =
          ExpectedLayers(config_).why_other(part.name, viewed.plain_heights[i], viewed.plain_k);
      if (why.empty()) continue;
      if (other_sides_++ == 0) first_other_ = fmt::format("{}: {}", excerpt(part.name), why);
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
  LayerPlan& plan_;
  GatedLayers gated_;
  LayerActivations activations_;
  bool has_plain_ = false;
  std::size_t other_sides_ = 0;
  std::string first_other_;
  std::size_t whole_ = 0;
  std::string first_whole_;
  std::vector<const ExpertSet*> residual_;  // that add the output of shared experts
  std::size_t whole_residuals_ = 0;
  std::string first_whole_residual_;
  std::size_t unknown_ = 0;
  std::string first_unknown_;
  Unconverted unconverted_;
};

// Experts that stay among the layers since no moe can be made of them.
void note_lone_experts(const CheckpointConfig& config, const std::vector<LayerName>& layers,
                       std::vector<std::string>* notes) {
  std::map<std::string, std::string> first;  // by the reason
  for (const LayerName& layer : layers) {
    const std::string why = why_alone(config, layer.name);
    if (!why.empty()) first.try_emplace(why, layer.name);
  }
  for (const auto& [why, name] : first) {
    notes->push_back(fmt::format("experts such as {} are packed alone, each for a gemm: {}",
                                 excerpt(name), why));
  }
}

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

LayerPlan plan_layers(const Checkpoint& checkpoint, const CheckpointConfig& config,
                      const PackOptions& options) {
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
  const std::vector<Fusion> fusions = options.fuse ? config.fusions : std::vector<Fusion>();
  std::vector<LayerName> layers = plan.inventory.layers;
  std::vector<ExpertSet> sets;
  if (options.fuse && config.decoder) sets = take_expert_sets(checkpoint, config, &layers);
  if (options.fuse) note_lone_experts(config, layers, &plan.notes);
  Planner(checkpoint, config, options, &plan).add_all(group_layers(layers, fusions), sets);
  return plan;
}

void Unconverted::add(const UnknownTensors& tensors) {
  problems_.push_back({excerpt(tensors.name), tensors.reason, "", "", ""});
}

void Unconverted::add(const Error& error) {
  if (error.category() != ErrorCategory::kUnsupported) throw error;
  problems_.insert(problems_.end(), error.problems().begin(), error.problems().end());
}

void Unconverted::throw_if_any() const {
  if (problems_.empty()) return;
  // With the number of the others and the hint these are as many lines as a message has.
  const std::size_t shown =
      problems_.size() <= kMostProblems ? problems_.size() : kMostProblems - 1;
  std::vector<Problem> problems(problems_.begin(),
                                problems_.begin() + static_cast<std::ptrdiff_t>(shown));
  if (shown < problems_.size()) {
    problems.push_back(
        {"", fmt::format("and {} more that cannot be converted", problems_.size() - shown), "", "",
         ""});
  }
  problems.push_back({"",
                      "--keep PATTERN (CheckpointOptions::choice) takes such tensors as they are, "
                      "--skip PATTERN leaves them out",
                      "", "", ""});
  throw Error(ErrorCategory::kUnsupported, "checkpoint.not_converted", std::move(problems));
}

}  // namespace heddle
