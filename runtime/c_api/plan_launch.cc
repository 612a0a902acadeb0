// The C API of launches that the caller makes itself.
#include <fmt/format.h>

#include <string>

#include "generator/families/gemm_config.h"
#include "generator/operations/kernel_argument.h"
#include "generator/operations/operation.h"
#include "heddle/c/launch.h"
#include "heddle/operations.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/parameters.h"
#include "runtime/c_api/structs.h"
#include "runtime/driver/cuda_abi.h"
#include "runtime/launch/moe_launch.h"
#include "runtime/launch/tensor_maps.h"

namespace heddle::c_api {
namespace {

// Throws Error(kUsage, "api.size") where another kernel of the plan is for the size.
void check_range(const Plan& plan, const PlannedKernel& kernel, std::int64_t size) {
  const bool has_ranges = operation_of(plan.spec).size_kind() != SizeKind::kNone;
  if (!has_ranges || (size >= kernel.size_min && size <= kernel.size_max)) return;
  refuse("api.size", fmt::format("the kernel {} does not serve {}; allowed: {} to {}", kernel.name,
                                 size, kernel.size_min, kernel.size_max));
}

LaunchSize to_cpp(const heddle_launch_size* size) {
  const heddle_launch_size given = read_struct(size, "heddle_launch_size");
  return {given.size, given.sequences, given.has_offsets != 0, given.phase};
}

// Throws Error(kUsage, "api.phase") for a launch that the kernel does not have.
void check_phase(const PlannedKernel& kernel, int phase) {
  if (phase >= 0 && phase < kernel.phases) return;
  const std::string allowed = kernel.phases == 1 ? "0" : fmt::format("0 to {}", kernel.phases - 1);
  refuse("api.phase",
         fmt::format("the kernel {} has no phase {}; allowed: {}", kernel.name, phase, allowed));
}

const PlannedKernel& kernel_of(const heddle_plan* plan, std::size_t kernel) {
  need(plan, "plan");
  need_index(kernel, plan->plan.kernel_count(), "kernel");
  return plan->plan.kernel(kernel);
}

std::size_t bytes_of(KernelArgument argument, const Operation& operation) {
  if (argument == KernelArgument::kTokenMap || argument == KernelArgument::kXScaleMap) {
    return sizeof(cuda::CUtensorMap);
  }
  if (argument == KernelArgument::kParameters) return operation.parameter_bytes();
  if (argument == KernelArgument::kShape) return sizeof(device::WeightShape);
  const bool is_number = argument == KernelArgument::kM || argument == KernelArgument::kSchedule;
  return is_number ? sizeof(std::int32_t) : sizeof(void*);
}

}  // namespace
}  // namespace heddle::c_api

using heddle::c_api::guarded;
using heddle::c_api::kernel_of;
using heddle::c_api::write_struct;

heddle_status heddle_plan_launch(const heddle_plan* plan, size_t kernel,
                                 const heddle_launch_size* size, heddle_plan_launch_info* info) {
  return guarded([&] {
    const heddle::PlannedKernel& one = kernel_of(plan, kernel);
    const heddle::Plan& of = plan->plan;
    const heddle::LaunchSize wanted = heddle::c_api::to_cpp(size);
    heddle::operation_of(of.spec).check_size(of.spec.fields(), wanted);
    heddle::c_api::check_range(of, one, wanted.size);
    heddle::c_api::check_phase(one, wanted.phase);
    const heddle::KernelLaunch launch = of.launch(kernel, wanted);
    const bool gathers = !of.before.empty();
    heddle_plan_launch_info values = {};
    values.kernel_name = heddle::c_api::text_of(one.name);
    values.grid_x = launch.grid_x;
    values.grid_y = launch.grid_y;
    values.grid_z = launch.grid_z;
    values.cluster = launch.cluster;
    values.threads = one.threads;
    values.dynamic_shared_bytes = launch.shared_bytes;
    values.schedule = launch.schedule;
    values.starts_early = one.starts_early ? 1 : 0;
    if (one.box_tokens != 0) {
      values.box_tokens = one.tokens_of_box(wanted.size);
      values.box_columns = heddle::TokenBoxes::kColumns;
    }
    if (one.takes(heddle::KernelArgument::kXScaleMap)) values.scale_box_tokens = one.box_tokens;
    values.argument_count = one.arguments.size();
    values.workspace_bytes = of.workspace_bytes(wanted.size);
    values.gathered_offset = gathers ? of.gathered_offset(wanted.size) : 0;
    const bool maps_rows = one.takes(heddle::KernelArgument::kTokenMap) &&
                           of.spec.get_if<heddle::MoeSpec>() != nullptr;
    if (maps_rows) {
      values.gathered_offset =
          static_cast<std::size_t>(heddle::moe_rows(one, wanted.size, launch.schedule).offset);
    }
    values.phases = one.phases;
    values.max_dynamic_shared_bytes = one.shared_bytes;
    write_struct(values, info, "heddle_plan_launch_info");
  });
}

heddle_status heddle_plan_argument(const heddle_plan* plan, size_t kernel, size_t argument,
                                   heddle_plan_argument_info* info) {
  return guarded([&] {
    const heddle::PlannedKernel& one = kernel_of(plan, kernel);
    heddle::c_api::need_index(argument, one.arguments.size(), "argument");
    heddle_plan_argument_info values = {};
    values.name = heddle::c_api::text_of_word(to_string(one.arguments[argument]));
    values.bytes =
        heddle::c_api::bytes_of(one.arguments[argument], heddle::operation_of(plan->plan.spec));
    write_struct(values, info, "heddle_plan_argument_info");
  });
}

heddle_status heddle_gemm_shape(const heddle_plan* plan, void* shape, size_t capacity,
                                size_t* bytes) {
  return guarded([&] {
    heddle::c_api::need(plan, "plan");
    heddle::c_api::need_op(plan->plan.spec.op(), heddle::GemmKernel::kOp);
    const auto made = heddle::weight_shape(plan->plan.spec.gemm(), plan->plan.layout);
    heddle::c_api::give<sizeof made>(made, shape, capacity, bytes);
  });
}
