// Handles of the C API that several of its files use, and what is common to them.
#ifndef HEDDLE_RUNTIME_C_API_HANDLES_H_
#define HEDDLE_RUNTIME_C_API_HANDLES_H_

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "generator/tuned/format.h"
#include "heddle/inspect/plan.h"
#include "heddle/spec.h"
#include "heddle/target.h"
#include "heddle/tuned.h"
#include "runtime/c_api/call.h"

namespace heddle::c_api {

// A text that is made when it is first asked for, by whichever thread asks.
class LazyText {
 public:
  template <typename Make>
  heddle_text get(const Make& make) const {
    std::call_once(once_, [&] { text_ = make(); });
    return text_of(text_);
  }

 private:
  mutable std::once_flag once_;
  mutable std::string text_;
};

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

struct heddle_tuned_tables {
  explicit heddle_tuned_tables(heddle::TunedTables tables_) : tables(std::move(tables_)) {
    for (const heddle::TunedTable& table : tables.tables()) {
      texts.push_back(table.to_json());
      std::vector<std::string>& of_table = formats.emplace_back();
      for (const heddle::TunedEntry& entry : table.entries()) {
        of_table.push_back(heddle::format_text(heddle::gemm_of(entry)));
      }
    }
  }

  heddle::TunedTables tables;
  std::vector<std::string> texts;                 // of each table
  std::vector<std::vector<std::string>> formats;  // of each table's entries
};

struct heddle_plan {
  explicit heddle_plan(heddle::Plan plan_)
      : plan(std::move(plan_)), spec(plan.spec.canonical_json()) {}

  heddle::Plan plan;
  std::string spec;
  heddle::c_api::LazyText json;
  heddle::c_api::LazyText description;
};

#endif  // HEDDLE_RUNTIME_C_API_HANDLES_H_
