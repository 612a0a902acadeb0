#include "checkpoint/layer_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkpoint/read_layer.h"
#include "checkpoint/row_order.h"
#include "generator/spec/document.h"
#include "generator/spec/meaning.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::size_t kMostProblems = 50;

using Parts = FusedLayer::Parts;

Parts read_parts(const Checkpoint& checkpoint, const LayerGroup& group,
                 const CheckpointConfig& config, Load load) {
  Parts parts;
  for (const LayerName& name : group.parts) {
    auto part = read_layer(checkpoint, name, config, load);
    std::vector<RowRun> runs = row_order(name.name, part->n(), config);
    if (!runs.empty()) part = std::make_unique<SelectedRows>(std::move(part), std::move(runs));
    parts.push_back(std::move(part));
  }
  return parts;
}

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
  Planner(const Checkpoint& checkpoint, const CheckpointConfig& config, LayerPlan* plan)
      : checkpoint_(checkpoint), config_(config), plan_(*plan) {}

  void add(const LayerGroup& group) {
    try {
      Parts parts = read_parts(checkpoint_, group, config_, Load::kShape);
      std::string apart = why_apart(parts);
      if (apart.empty()) apart = Companions::why_apart(checkpoint_, group);
      if (!apart.empty()) {
        plan_.notes.push_back(fmt::format("{} is not made: {}; its parts are packed alone",
                                          excerpt(group.name), apart));
        for (const LayerName& part : group.parts) add({part.name, {part}});
        return;
      }
      add_layer(group, std::move(parts));
    } catch (const Error& error) {
      unconverted_.add(error);
    }
  }

  void finish() {
    for (const UnknownTensors& tensors : plan_.inventory.unknown) unconverted_.add(tensors);
    unconverted_.throw_if_any();
    std::sort(plan_.packed.begin(), plan_.packed.end(),
              [](const auto& a, const auto& b) { return a.group.name < b.group.name; });
  }

 private:
  void add_layer(const LayerGroup& group, Parts parts) {
    const std::vector<std::int64_t> plain_shape = parts.front()->plain_shape();
    FusedLayer layer(group.name, std::move(parts), config_.dtype);
    if (plain_shape.size() == 4) return add_unserved(group, "it is a convolution");
    Companions companions(checkpoint_, group, layer,
                          row_order(group.parts.front().name, layer.heights().front(), config_));
    GemmSpec gemm = layer.spec();
    gemm.epilogue.bias = companions.has_bias();
    gemm.pre_scale = companions.has_pre_scale();
    const std::string why = why_unserved(gemm);
    if (!why.empty()) return add_unserved(group, why);
    Spec spec = Spec::from_gemm(gemm, group.name.substr(group.name.rfind('.') + 1));
    plan_.packed.push_back({group, std::move(layer), std::move(companions), std::move(spec)});
  }

  // The parts of a fused layer may be served alone.
  void add_unserved(const LayerGroup& group, const std::string& why) {
    if (group.parts.size() > 1) {
      for (const LayerName& part : group.parts) add({part.name, {part}});
    } else {
      plan_.unserved.push_back({group.name, why});
    }
  }

  const Checkpoint& checkpoint_;
  const CheckpointConfig& config_;
  LayerPlan& plan_;
  Unconverted unconverted_;
};

}  // namespace

FusedLayer read_group(const Checkpoint& checkpoint, const LayerGroup& group,
                      const CheckpointConfig& config, Load load) {
  return {group.name, read_parts(checkpoint, group, config, load), config.dtype};
}

LayerPlan plan_layers(const Checkpoint& checkpoint, const CheckpointConfig& config, bool fuse,
                      const TensorChoice& choice) {
  LayerPlan plan;
  plan.inventory = take_inventory(checkpoint, config.quantization, choice);
  plan.notes = config.quantization.notes();
  Planner planner(checkpoint, config, &plan);
  for (const LayerGroup& group : group_layers(plan.inventory.layers, fuse)) planner.add(group);
  planner.finish();
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
  const std::size_t shown = std::min(problems_.size(), kMostProblems);
  std::vector<Problem> problems(problems_.begin(),
                                problems_.begin() + static_cast<std::ptrdiff_t>(shown));
  if (shown < problems_.size()) {
    problems.push_back(
        {"", fmt::format("and {} more that cannot be converted", problems_.size() - shown), "", "",
         ""});
  }
  problems.push_back({"",
                      "nothing is written; --keep PATTERN copies such tensors as they are, --skip "
                      "PATTERN leaves them out",
                      "", "", ""});
  throw Error(ErrorCategory::kUnsupported, "checkpoint.not_converted", std::move(problems));
}

}  // namespace heddle
