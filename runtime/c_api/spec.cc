// The C API of specs and of targets.
#include "heddle/spec.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "generator/operations/operation.h"
#include "generator/target/check_target.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/structs.h"

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::text_of;
using heddle::c_api::view;
using heddle::c_api::write_struct;

namespace heddle::c_api {

std::vector<Problem> problems_at(const std::string& place, const Error& error) {
  std::vector<Problem> problems = error.problems();
  for (Problem& problem : problems) problem.message.insert(0, place + ": ");
  return problems;
}

std::vector<Spec> parse_specs(const heddle_text* specs, std::size_t count) {
  if (count > 0) need(specs, "specs");
  need_count(count, "spec_count");
  std::vector<Spec> parsed;
  std::vector<Problem> problems;
  std::string code;
  for (std::size_t i = 0; i < count; ++i) {
    try {
      parsed.push_back(Spec::parse(view(specs[i])));
    } catch (const Error& error) {
      if (error.category() != ErrorCategory::kSpec) throw;
      if (code.empty()) code = error.code();
      for (Problem& problem : problems_at(fmt::format("specs[{}]", i), error)) {
        problems.push_back(std::move(problem));
      }
    }
  }
  if (problems.empty()) return parsed;
  throw Error(ErrorCategory::kSpec, code, std::move(problems));
}

namespace {

heddle_spec_info to_c(const Spec& spec) {
  heddle_spec_info values = {};
  values.name = text_of(spec.name());
  values.op = text_of_word(to_string(spec.op()));
  const OutputUse output = operation_of(spec).output(spec.fields());
  values.output_dtype = text_of_word(output.dtype);
  values.multiply_dtype = text_of_word(output.multiply);
  values.output_columns = output.columns;
  if (spec.has_weight()) {
    values.n = spec.weight_shape().n;
    values.k = spec.weight_shape().k;
    values.gated = spec.gated() ? 1 : 0;
  }
  if (spec.has_m()) {
    values.m_min = spec.m_range().min;
    values.m_max = spec.m_range().max;
  }
  if (spec.has_cache()) {
    values.kv_heads = spec.kv_shape().kv_heads;
    values.head_dim = spec.kv_shape().head_dim;
  }
  return values;
}

Target to_cpp(const heddle_target_info& info) {
  if (info.reserved != 0) {
    refuse("api.reserved",
           fmt::format("reserved of heddle_target_info is {}; allowed: 0", info.reserved));
  }
  Target target;
  target.name = view(info.name);
  target.major = info.major;
  target.minor = info.minor;
  target.sm_count = info.sm_count;
  target.shared_per_block = info.shared_per_block;
  target.shared_per_sm = info.shared_per_sm;
  target.registers_per_sm = info.registers_per_sm;
  target.threads_per_sm = info.threads_per_sm;
  target.l2_bytes = info.l2_bytes;
  target.memory_gb_per_s = info.memory_gb_per_s;
  target.sm_mhz = info.sm_mhz;
  target.tensor_tflops = info.tensor_tflops;
  target.launch_us = info.launch_us;
  return target;
}

}  // namespace
}  // namespace heddle::c_api

heddle_status heddle_spec_schema(heddle_text* schema) {
  return guarded([&] {
    need(schema, "schema");
    static const std::string text = heddle::spec_schema();
    *schema = text_of(text);
  });
}

heddle_status heddle_spec_create(const char* text, size_t length, heddle_spec** spec) {
  return guarded([&] {
    need(spec, "spec");
    *spec = nullptr;
    *spec = new heddle_spec(heddle::Spec::parse(view(text, length)));
  });
}

void heddle_spec_destroy(heddle_spec* spec) { delete spec; }

heddle_status heddle_spec_get(const heddle_spec* spec, heddle_spec_info* info) {
  return guarded([&] {
    need(spec, "spec");
    heddle_spec_info values = heddle::c_api::to_c(spec->spec);
    values.canonical = text_of(spec->canonical);
    write_struct(values, info, "heddle_spec_info");
  });
}

heddle_status heddle_target_create(const char* name, size_t length, heddle_target** target) {
  return guarded([&] {
    need(target, "target");
    *target = nullptr;
    *target = new heddle_target(heddle::target_from_name(view(name, length)));
  });
}

heddle_status heddle_target_create_from_info(const heddle_target_info* info,
                                             heddle_target** target) {
  return guarded([&] {
    need(target, "target");
    *target = nullptr;
    const heddle_target_info given = heddle::c_api::read_struct(info, "heddle_target_info");
    heddle::Target made = heddle::c_api::to_cpp(given);
    heddle::check_target(made);
    *target = new heddle_target(std::move(made));
  });
}

heddle_status heddle_target_count(size_t* count) {
  return guarded([&] {
    need(count, "count");
    *count = heddle::known_targets().size();
  });
}

heddle_status heddle_target_known(size_t index, heddle_target** target) {
  return guarded([&] {
    need(target, "target");
    *target = nullptr;
    const std::vector<heddle::Target> known = heddle::known_targets();
    heddle::c_api::need_index(index, known.size(), "index");
    *target = new heddle_target(known[index]);
  });
}

heddle_status heddle_target_of_device(heddle_runtime* runtime, int32_t ordinal,
                                      heddle_target** target) {
  return guarded([&] {
    need(target, "target");
    *target = nullptr;
    need(runtime, "runtime");
    *target = new heddle_target(runtime->runtime.device_target(ordinal));
  });
}

void heddle_target_destroy(heddle_target* target) { delete target; }

heddle_status heddle_target_get(const heddle_target* target, heddle_target_info* info) {
  return guarded([&] {
    need(target, "target");
    const heddle::Target& facts = target->target;
    heddle_target_info values = {};
    values.name = text_of(facts.name);
    values.compiler_arch = text_of(target->compiler_arch);
    values.tuned_gpu = text_of(target->tuned_gpu);
    values.major = facts.major;
    values.minor = facts.minor;
    values.sm_count = facts.sm_count;
    values.shared_per_block = facts.shared_per_block;
    values.shared_per_sm = facts.shared_per_sm;
    values.registers_per_sm = facts.registers_per_sm;
    values.threads_per_sm = facts.threads_per_sm;
    values.l2_bytes = facts.l2_bytes;
    values.memory_gb_per_s = facts.memory_gb_per_s;
    values.sm_mhz = facts.sm_mhz;
    values.tensor_tflops = facts.tensor_tflops;
    values.launch_us = facts.launch_us;
    write_struct(values, info, "heddle_target_info");
  });
}
