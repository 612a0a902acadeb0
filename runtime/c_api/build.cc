// The C API of builds: kernels of specs for a target, without a GPU.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "generator/render/source_list.h"
#include "heddle/error.h"
#include "heddle/inspect/binary.h"
#include "heddle/inspect/source.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/structs.h"

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::need_index;
using heddle::c_api::text_of;
using heddle::c_api::write_struct;

struct heddle_build {
  std::vector<heddle::Plan> plans;                // of each spec
  std::vector<std::vector<std::size_t>> kernels;  // of each plan's kernels the index in `results`
  std::vector<heddle::BuildResult> results;
};

namespace heddle::c_api {
namespace {

// The other facts of a kernel are worth having where its PTX cannot be read.
const std::string& ptx_or_none(const Binary& binary) {
  static const std::string none;
  try {
    return binary.ptx.str();
  } catch (const Error&) {
    return none;
  }
}

// All that cannot be served is told at once.
std::vector<Plan> resolve_all(const std::vector<Spec>& specs, const Target& target,
                              const TunedTables& tables) {
  std::vector<Plan> plans;
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    try {
      plans.push_back(resolve(specs[i], target, tables));
    } catch (const Error& error) {
      if (error.category() != ErrorCategory::kUnsupported) throw;
      for (Problem& problem : problems_at(fmt::format("specs[{}]", i), error)) {
        problems.push_back(std::move(problem));
      }
    }
  }
  if (problems.empty()) return plans;
  throw Error(ErrorCategory::kUnsupported, "runtime.unsupported", std::move(problems));
}

std::vector<Source> render_each_once(heddle_build* build) {
  SourceList list;
  for (const Plan& plan : build->plans) {
    std::vector<std::size_t>& places = build->kernels.emplace_back();
    for (Source& source : render_all(plan)) places.push_back(list.add(std::move(source)));
  }
  return list.take();
}

heddle_build* build_plans(heddle_runtime* runtime, std::vector<Plan> plans,
                          heddle_progress_callback progress, void* user) {
  auto build = std::make_unique<heddle_build>();
  build->plans = std::move(plans);
  const std::vector<Source> sources = render_each_once(build.get());
  build->results = runtime->runtime.build_cancellable(sources, progress_of(progress, user));
  return build.release();
}

}  // namespace

PrepareProgress progress_of(heddle_progress_callback progress, void* user) {
  if (progress == nullptr) return {};
  return [=](const BuildResult& result, std::size_t done, std::size_t total) {
    return progress(user, result.kernel_name.c_str(), done, total) != 0;
  };
}

}  // namespace heddle::c_api

heddle_status heddle_build_create(heddle_runtime* runtime, const heddle_target* target,
                                  const heddle_text* specs, size_t spec_count,
                                  heddle_progress_callback progress, void* user,
                                  heddle_build** build) {
  return guarded([&] {
    need(build, "build");
    *build = nullptr;
    need(runtime, "runtime");
    need(target, "target");
    const std::vector<heddle::Spec> parsed = heddle::c_api::parse_specs(specs, spec_count);
    std::vector<heddle::Plan> plans =
        heddle::c_api::resolve_all(parsed, target->target, runtime->runtime.tuned_tables());
    *build = heddle::c_api::build_plans(runtime, std::move(plans), progress, user);
  });
}

heddle_status heddle_build_create_from_plans(heddle_runtime* runtime,
                                             const heddle_plan* const* plans, size_t plan_count,
                                             heddle_progress_callback progress, void* user,
                                             heddle_build** build) {
  return guarded([&] {
    need(build, "build");
    *build = nullptr;
    need(runtime, "runtime");
    if (plan_count > 0) need(plans, "plans");
    heddle::c_api::need_count(plan_count, "plan_count");
    std::vector<heddle::Plan> copies;
    for (size_t i = 0; i < plan_count; ++i) {
      need(plans[i], "a plan");
      copies.push_back(plans[i]->plan);
    }
    *build = heddle::c_api::build_plans(runtime, std::move(copies), progress, user);
  });
}

void heddle_build_destroy(heddle_build* build) { delete build; }

heddle_status heddle_build_count(const heddle_build* build, size_t* count) {
  return guarded([&] {
    need(build, "build");
    need(count, "count");
    *count = build->results.size();
  });
}

heddle_status heddle_build_kernel(const heddle_build* build, size_t index,
                                  heddle_build_kernel_info* info) {
  return guarded([&] {
    need(build, "build");
    need_index(index, build->results.size(), "index");
    const heddle::BuildResult& result = build->results[index];
    const heddle::Binary& binary = *result.binary;
    heddle_build_kernel_info values = {};
    values.kernel_name = text_of(binary.kernel_name);
    values.key = text_of(result.key);
    values.arch = text_of(binary.arch);
    values.compiler = text_of(binary.compiler);
    values.ptx = text_of(heddle::c_api::ptx_or_none(binary));
    values.cubin = binary.cubin.data();
    values.cubin_bytes = binary.cubin.size();
    values.ms = result.ms;
    values.compile_ms = binary.compile_ms;
    values.hit = result.hit ? 1 : 0;
    values.stored = result.stored ? 1 : 0;
    values.threads = binary.threads;
    values.registers = binary.registers;
    values.spill_bytes = binary.spill_bytes;
    values.local_bytes = binary.local_bytes;
    values.static_shared_bytes = binary.static_shared_bytes;
    values.dynamic_shared_bytes = binary.dynamic_shared_bytes;
    write_struct(values, info, "heddle_build_kernel_info");
  });
}

heddle_status heddle_plan_of_build(const heddle_build* build, size_t spec, heddle_plan** plan) {
  return guarded([&] {
    need(plan, "plan");
    *plan = nullptr;
    need(build, "build");
    need_index(spec, build->plans.size(), "spec");
    *plan = new heddle_plan(build->plans[spec]);
  });
}

heddle_status heddle_build_index(const heddle_build* build, size_t spec, size_t kernel,
                                 size_t* index) {
  return guarded([&] {
    need(build, "build");
    need(index, "index");
    need_index(spec, build->kernels.size(), "spec");
    need_index(kernel, build->kernels[spec].size(), "kernel");
    *index = build->kernels[spec][kernel];
  });
}

heddle_status heddle_runtime_compiler(heddle_runtime* runtime, heddle_text* json) {
  return guarded([&] {
    need(runtime, "runtime");
    need(json, "json");
    std::call_once(runtime->compiler_once, [&] {
      const nlohmann::ordered_json compiler{{"identity", runtime->runtime.compiler_identity()},
                                            {"archs", runtime->runtime.compiler_archs()}};
      runtime->compiler = compiler.dump();
    });
    *json = text_of(runtime->compiler);
  });
}
