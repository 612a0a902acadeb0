#include "checkpoint/plan/layer_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkpoint/modules/layer_error.h"
#include "checkpoint/modules/module_roles.h"
#include "checkpoint/plan/cache_note.h"
#include "checkpoint/plan/gated_layers.h"
#include "checkpoint/plan/layer_activations.h"
#include "checkpoint/plan/read_group.h"
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

  void add_all(const std::vector<LayerGroup>& groups) {
    gated_.check(groups);
    for (const LayerGroup& group : groups) add(group);
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
    has_plain_ = has_plain_ || group.parts.front().kind == LayerName::Kind::kPlain;
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
  if (options.dense) plan.missing = ExpectedLayers(config).missing(checkpoint);
  if (!plan.missing.empty()) {
    plan.notes.push_back(
        fmt::format("the checkpoint has no tensor of {} linear layers that its config describes, "
                    "such as {}",
                    plan.missing.size(), excerpt(plan.missing.front().name)));
  }
  const std::vector<Fusion> fusions = options.fuse ? config.fusions : std::vector<Fusion>();
  Planner(checkpoint, config, options, &plan).add_all(group_layers(plan.inventory.layers, fusions));
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
