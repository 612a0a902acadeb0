// The C API of plans and of sources.
#include <fmt/format.h>

#include "generator/families/family.h"
#include "heddle/inspect/source.h"
#include "heddle/operations.h"
#include "runtime/c_api/decode.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/structs.h"
#include "runtime/launch/gemm_launch.h"
#include "runtime/launch/moe_launch.h"

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::need_index;
using heddle::c_api::need_op;
using heddle::c_api::text_of;
using heddle::c_api::text_of_word;
using heddle::c_api::view;
using heddle::c_api::write_struct;

heddle_status heddle_plan_create(const heddle_target* target, const heddle_tuned_tables* tables,
                                 const char* spec, size_t spec_length, heddle_plan** plan) {
  return guarded([&] {
    need(plan, "plan");
    *plan = nullptr;
    need(target, "target");
    const auto parsed = heddle::Spec::parse(view(spec, spec_length));
    const heddle::TunedTables& used =
        tables == nullptr ? heddle::TunedTables::shipped() : tables->tables;
    *plan = new heddle_plan(heddle::resolve(parsed, target->target, used));
  });
}

heddle_status heddle_plan_of_kernel(const heddle_kernel* kernel, heddle_plan** plan) {
  return guarded([&] {
    need(plan, "plan");
    *plan = nullptr;
    need(kernel, "kernel");
    *plan = new heddle_plan(kernel->kernel.plan());
  });
}

void heddle_plan_destroy(heddle_plan* plan) { delete plan; }

heddle_status heddle_plan_get(const heddle_plan* plan, heddle_plan_info* info) {
  return guarded([&] {
    need(plan, "plan");
    heddle_plan_info values = {};
    values.spec = text_of(plan->spec);
    values.target = text_of(plan->plan.target.name);
    values.kernel_count = plan->plan.kernel_count();
    values.max_workspace_bytes = plan->plan.max_workspace_bytes();
    if (plan->plan.spec.has_weight()) values.packed_bytes = plan->plan.layout.total_bytes;
    write_struct(values, info, "heddle_plan_info");
  });
}

heddle_status heddle_plan_json(const heddle_plan* plan, heddle_text* json) {
  return guarded([&] {
    need(plan, "plan");
    need(json, "json");
    *json = text_of(plan->json.get([&] { return heddle::plan_to_json(plan->plan); }));
  });
}

heddle_status heddle_plan_description(const heddle_plan* plan, heddle_text* text) {
  return guarded([&] {
    need(plan, "plan");
    need(text, "text");
    *text = text_of(plan->description.get([&] { return heddle::describe(plan->plan); }));
  });
}

heddle_status heddle_plan_kernel(const heddle_plan* plan, size_t index,
                                 heddle_plan_kernel_info* info) {
  return guarded([&] {
    need(plan, "plan");
    need_index(index, plan->plan.kernel_count(), "index");
    const heddle::PlannedKernel& kernel = plan->plan.kernel(index);
    heddle_plan_kernel_info values = {};
    values.name = text_of(kernel.name);
    values.family = text_of_word(kernel.family->name());
    values.size_min = kernel.size_min;
    values.size_max = kernel.size_max;
    values.threads = kernel.threads;
    values.shared_bytes = kernel.shared_bytes;
    values.runs_before = index >= plan->plan.kernels.size() ? 1 : 0;
    values.starts_early = kernel.starts_early ? 1 : 0;
    values.blocks_per_sm = kernel.blocks_per_sm;
    write_struct(values, info, "heddle_plan_kernel_info");
  });
}

heddle_status heddle_plan_kernel_of_size(const heddle_plan* plan, int64_t size, size_t* index) {
  return guarded([&] {
    need(plan, "plan");
    need(index, "index");
    const std::vector<heddle::PlannedKernel>& kernels = plan->plan.kernels;
    const std::int64_t first = kernels.front().size_min;
    const std::int64_t last = kernels.back().size_max;
    if (size < first || size > last) {
      heddle::c_api::refuse("api.size", fmt::format("no kernel of the plan serves {}; allowed: {} "
                                                    "to {}",
                                                    size, first, last));
    }
    *index = plan->plan.kernel_for(size);
  });
}

heddle_status heddle_plan_workspace_bytes(const heddle_plan* plan, int64_t m, size_t* bytes) {
  return guarded([&] {
    need(plan, "plan");
    need(bytes, "bytes");
    if (plan->plan.spec.op() == heddle::MoeKernel::kOp) {
      *bytes = heddle::moe_workspace_bytes(plan->plan, m);
      return;
    }
    need_op(plan->plan.spec.op(), heddle::GemmKernel::kOp);
    *bytes = heddle::gemm_workspace_bytes(plan->plan, m);
  });
}

heddle_status heddle_plan_prove(const heddle_plan* plan, uint64_t* codes_checked) {
  return guarded([&] {
    need(plan, "plan");
    need(codes_checked, "codes_checked");
    std::uint64_t checked = 0;
    for (const heddle::DecodePlan& decode : heddle::decode_plans_of(plan->plan)) {
      checked += heddle::c_api::prove(decode);
    }
    *codes_checked = checked;
  });
}

heddle_status heddle_kernel_load(heddle_runtime* runtime, const heddle_plan* plan,
                                 heddle_kernel** kernel) {
  return guarded([&] {
    need(kernel, "kernel");
    *kernel = nullptr;
    need(runtime, "runtime");
    need(plan, "plan");
    *kernel = new heddle_kernel{runtime->runtime.load(plan->plan)};
  });
}

heddle_status heddle_plan_source(const heddle_plan* plan, size_t kernel,
                                 heddle_plan_source_info* info) {
  return guarded([&] {
    need(plan, "plan");
    need_index(kernel, plan->plan.kernel_count(), "kernel");
    const heddle::Source& source =
        plan->sources[kernel].get([&] { return heddle::render(plan->plan, kernel); });
    heddle_plan_source_info values = {};
    values.kernel_name = text_of(source.kernel_name);
    values.file_name = text_of(source.file_name);
    values.text = text_of(source.text);
    values.arch = text_of(source.arch);
    write_struct(values, info, "heddle_plan_source_info");
  });
}
