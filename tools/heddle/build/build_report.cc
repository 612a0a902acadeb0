#include "tools/heddle/build/build_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "generator/families/family.h"
#include "generator/model/layer_json.h"
#include "heddle/inspect/binary.h"
#include "tools/heddle/build/model_report.h"
#include "tools/heddle/shared/printable.h"
#include "tools/heddle/shared/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

int shared_bytes(const Binary& binary) {
  return binary.static_shared_bytes + binary.dynamic_shared_bytes;
}

const char* cache_word(const BuildResult& result) { return result.hit ? "hit" : "miss"; }

std::string check_text(const KernelCheck& check) {
  return fmt::format("{} {:.1e}", check.fault.empty() ? "ok" : "WRONG", check.error);
}

ordered_json configuration_json(const Plan& plan, std::size_t index) {
  const PlannedKernel& kernel = plan.kernel(index);
  return kernel.family->json(kernel);
}

// The shape of W, of a token's K, of a row of Y, or of a layer of experts.
std::string shape_text(const Spec& spec) {
  if (const auto* rows = spec.get_if<RowTransformSpec>()) {
    return fmt::format("{}", rows->shape.columns);
  }
  if (const auto* moe = spec.get_if<MoeSpec>()) {
    return fmt::format("{} x {} x {}e", moe->shape.hidden, moe->shape.intermediate,
                       moe->local_experts());
  }
  if (spec.has_cache()) {
    const KvShape shape = spec.kv_shape();
    return fmt::format("{} x {}", shape.kv_heads, shape.head_dim);
  }
  return fmt::format("{} x {}", spec.weight_shape().n, spec.weight_shape().k);
}

ordered_json kernel_json(const Build& build, const BuiltOperation& operation, std::size_t index) {
  const BuildResult& result = build.results[operation.results[index]];
  const Binary& binary = *result.binary;
  ordered_json json = {{"name", operation.name},
                       {"op", to_string(operation.plan.spec.op())},
                       {"key", result.key},
                       {"m", m_json(operation.plan, index)},
                       {"registers", binary.registers},
                       {"spill_bytes", binary.spill_bytes},
                       {"shared_bytes", shared_bytes(binary)},
                       {"cubin_bytes", binary.cubin.size()},
                       {"compile_ms", binary.compile_ms},
                       {"cache", cache_word(result)},
                       {"stored", result.stored},
                       {"kernel", binary.kernel_name},
                       {"family", operation.plan.kernel(index).family->name()},
                       {"configuration", configuration_json(operation.plan, index)}};
  if (const Spec& spec = operation.plan.spec; spec.has_weight()) {
    json["n"] = spec.weight_shape().n;
    json["k"] = spec.weight_shape().k;
  }
  if (index < operation.checks.size()) {
    const KernelCheck& check = operation.checks[index];
    json["check"] = {{"m", check.m}, {"error", check.error}, {"passed", check.fault.empty()}};
  }
  return json;
}

Table empty_table(bool checked) {
  std::vector<Column> columns = {{"KERNEL"},
                                 {"SHAPE"},
                                 {"M"},
                                 {"TILE"},
                                 {"REGS", Align::kRight},
                                 {"SPILL", Align::kRight},
                                 {"SHARED", Align::kRight},
                                 {"CUBIN", Align::kRight},
                                 {"COMPILE", Align::kRight},
                                 {"CACHE"}};
  if (checked) columns.push_back({"CHECK"});
  return Table(std::move(columns));
}

void add_row(const Build& build, const BuiltOperation& operation, std::size_t index, bool checked,
             Table* table) {
  const BuildResult& result = build.results[operation.results[index]];
  const Binary& binary = *result.binary;
  std::vector<std::string> cells = {operation.name,
                                    shape_text(operation.plan.spec),
                                    m_text(operation.plan, index),
                                    tile_text(operation.plan, index),
                                    fmt::format("{}", binary.registers),
                                    fmt::format("{}", binary.spill_bytes),
                                    fmt::format("{}", shared_bytes(binary)),
                                    fmt::format("{}", binary.cubin.size()),
                                    fmt::format("{:.0f} ms", binary.compile_ms),
                                    cache_word(result)};
  if (checked) {
    cells.push_back(index >= operation.checks.size() ? "-" : check_text(operation.checks[index]));
  }
  table->add_row(std::move(cells));
}

std::string sums_text(const Build& build) {
  std::size_t kernels = 0;
  for (const BuiltOperation& operation : build.operations) kernels += operation.results.size();
  const auto misses = std::count_if(build.results.begin(), build.results.end(),
                                    [](const BuildResult& result) { return !result.hit; });
  const auto hits = static_cast<std::ptrdiff_t>(build.results.size()) - misses;
  // Several ranges of M, and several specs, may share a kernel.
  const std::string texts =
      kernels == build.results.size() ? "" : ", " + count_text(build.results.size(), "text");
  return fmt::format("{} for {} ({}){}: {} compiled, {} from the cache, {:.2f} s\n",
                     count_text(kernels, "kernel"), build.target.name, compiler_arch(build.target),
                     texts, misses, hits, build.total_ms / 1000);
}

ordered_json first_json(const FirstBuild& first) {
  return {{"m", {first.m.min, first.m.max}},
          {"kernels", first.kernels},
          {"general", first.general},
          {"compiled", first.compiled},
          {"ms", first.ms},
          {"processor_ms", first.processor_ms}};
}

}  // namespace

std::string tile_text(const PlannedKernel& kernel) { return kernel.family->tile_text(kernel); }

std::string m_text(const PlannedKernel& kernel) {
  return fmt::format("{}..{}", kernel.size_min, kernel.size_max);
}

std::string tile_text(const Plan& plan, std::size_t kernel) {
  return tile_text(plan.kernel(kernel));
}

std::string m_text(const Plan& plan, std::size_t kernel) {
  const bool by_m = plan.spec.has_m() && kernel < plan.kernels.size();
  return by_m ? m_text(plan.kernels[kernel]) : "-";
}

ordered_json m_json(const Plan& plan, std::size_t kernel) {
  if (!plan.spec.has_m() || kernel >= plan.kernels.size()) return nullptr;
  return {plan.kernels[kernel].size_min, plan.kernels[kernel].size_max};
}

std::string first_text(const FirstBuild& first) {
  const std::string m = first.m.min == first.m.max
                            ? fmt::format("{}", first.m.min)
                            : fmt::format("{} to {}", first.m.min, first.m.max);
  return fmt::format("M {} first: {}, {} of them general, {} compiled, after {:.2f} s", m,
                     count_text(first.kernels, "kernel"), first.general, first.compiled,
                     first.ms / 1000);
}

std::string build_text(const Build& build) {
  const bool checked = std::any_of(build.operations.begin(), build.operations.end(),
                                   [](const auto& operation) { return !operation.checks.empty(); });
  std::string text;
  if (!build.operations.empty()) {
    Table table = empty_table(checked);
    for (const BuiltOperation& operation : build.operations) {
      for (std::size_t i = 0; i < operation.results.size(); ++i) {
        add_row(build, operation, i, checked, &table);
      }
    }
    text += table.text();
  }
  if (!text.empty() && !build.model.layers.empty()) text += "\n";
  text = layers_text(build.model) + text;
  for (const std::string& note : build.model.notes) {
    text += fmt::format("note: {}\n", printable(note));
  }
  for (const std::string& what : build.model.assumptions) {
    text += fmt::format("assumed: {}\n", printable(what));
  }
  return text + (build.listed ? "" : sums_text(build)) + served_text(build.model);
}

ordered_json build_json(const Build& build) {
  auto kernels = ordered_json::array();
  for (const BuiltOperation& operation : build.operations) {
    for (std::size_t i = 0; i < operation.results.size(); ++i) {
      kernels.push_back(kernel_json(build, operation, i));
    }
  }
  auto unserved = ordered_json::array();
  for (const UnservedOperation& operation : build.unserved) {
    unserved.push_back({{"name", operation.name}, {"reasons", operation.reasons}});
  }
  ordered_json json = {{"kernels", std::move(kernels)},
                       {"unserved", std::move(unserved)},
                       {"unused", build.unused},
                       {"notes", build.model.notes},
                       {"assumptions", build.model.assumptions},
                       {"target", build.target.name},
                       {"arch", compiler_arch(build.target)},
                       {"total_ms", build.total_ms}};
  if (build.first) {
    json["first"] = first_json(*build.first);
    json["processor_ms"] = build.processor_ms;
  }
  if (!build.model.layers.empty()) add_model_json(build.model, &json);
  return json;
}

}  // namespace heddle
