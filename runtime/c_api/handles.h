// Handles of the C API that several of its files use, and what is common to them.
#ifndef HEDDLE_RUNTIME_C_API_HANDLES_H_
#define HEDDLE_RUNTIME_C_API_HANDLES_H_

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "heddle/spec.h"
#include "heddle/target.h"
#include "heddle/tuned.h"
#include "runtime/c_api/call.h"

namespace heddle::c_api {

// What is made when it is first asked for, by whichever thread asks.
template <typename Value>
class Lazy {
 public:
  template <typename Make>
  const Value& get(const Make& make) const {
    std::call_once(once_, [&] { value_ = make(); });
    return value_;
  }

 private:
  mutable std::once_flag once_;
  mutable Value value_;
};
using LazyText = Lazy<std::string>;

// The texts as specs. Throws Error(kSpec) with the problems of all of them, each with its place,
// "specs[2]", and Error(kUsage, "api.count").
std::vector<Spec> parse_specs(const heddle_text* specs, std::size_t count);

// As prepare() and build_cancellable() take it; empty for null.
PrepareProgress progress_of(heddle_progress_callback progress, void* user);

// The problems of an error, each with the place in front.
std::vector<Problem> problems_at(const std::string& place, const Error& error);

}  // namespace heddle::c_api

struct heddle_target {
  explicit heddle_target(heddle::Target target_)
      : target(std::move(target_)),
        compiler_arch(heddle::compiler_arch(target)),
        tuned_gpu(heddle::tuned_gpu(target)) {}

  heddle::Target target;
  std::string compiler_arch;
  std::string tuned_gpu;
};

struct heddle_spec {
  explicit heddle_spec(heddle::Spec spec_)
      : spec(std::move(spec_)), canonical(spec.canonical_json()) {}

  heddle::Spec spec;
  std::string canonical;
};

struct heddle_tuned_tables {
  explicit heddle_tuned_tables(heddle::TunedTables tables_) : tables(std::move(tables_)) {
    for (const heddle::TunedTable& table : tables.tables()) texts.push_back(table.to_json());
  }

  heddle::TunedTables tables;
  std::vector<std::string> texts;  // of each table
};

struct heddle_plan {
  explicit heddle_plan(heddle::Plan plan_)
      : plan(std::move(plan_)), spec(plan.spec.canonical_json()), sources(plan.kernel_count()) {}

  heddle::Plan plan;
  std::string spec;
  heddle::c_api::LazyText json;
  heddle::c_api::LazyText description;
  std::vector<heddle::c_api::Lazy<heddle::Source>> sources;  // of each kernel
};

#endif  // HEDDLE_RUNTIME_C_API_HANDLES_H_
