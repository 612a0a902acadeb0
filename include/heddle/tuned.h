// Tuned tables: which kernels were measured to be the fastest on a GPU, and what predicted times
// are made of there (docs/planner.md). Both classes are values; any thread may use one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/export.h"
#include "heddle/spec.h"
#include "heddle/target.h"

namespace heddle {

inline constexpr int kTunedVersion = 3;  // the value of the field "heddle_tuned"

// The fastest kernel of Y[M,N] = X[M,K] * W[N,K]^T for a range of M, whatever the epilogue is.
struct TunedEntry {
  WeightSpec weight;
  DType activation = DType::kFp16;  // and the next two as in GemmSpec
  ActivationScaleSpec activation_scale{};
  Accumulation accumulation = Accumulation::kPromoted;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t m_first = 1;  // both inclusive
  std::int64_t m_last = 1;
  std::string family;      // "stream"
  int family_version = 1;  // of that family's kernels, as they were measured
  std::string kernel;      // its label: "warps 8 chunks 4 stages 3 split 1"
  double us = 0;           // measured microseconds of a launch with m_last tokens; 0: not told
  std::string from;        // where and when it was measured, for people; may be empty
};

// Measured cost parameters of a family of kernels; `heddle explain --costs` lists them.
struct TunedCosts {
  std::string family;                    // "stream"
  int version = 1;                       // of that family's parameters
  std::map<std::string, double> values;  // of all parameters, by name
  std::string from;                      // where and when it was measured; may be empty
};

class HEDDLE_EXPORT TunedTable {
 public:
  // Throws Error(kSpec) that holds every problem found, each with its JSON pointer.
  static TunedTable parse(std::string_view json);
  // Throws Error(kSpec) like parse(), with the pointers that the entries have in this order.
  static TunedTable from_entries(std::string_view gpu, const std::vector<TunedEntry>& entries,
                                 const std::vector<TunedCosts>& costs = {});

  // As in tuned_gpu().
  const std::string& gpu() const noexcept { return gpu_; }
  // Ascending by format, N, K and M; ranges of one format, N and K do not overlap.
  const std::vector<TunedEntry>& entries() const noexcept { return entries_; }
  // Ascending by family, at most one of each.
  const std::vector<TunedCosts>& costs() const noexcept { return costs_; }
  // The entries for the gemm's format, N and K whose ranges meet its range of M, ascending.
  std::vector<TunedEntry> entries_for(const GemmSpec& gemm) const;

  // Adds the entries of `later`, which replace what was said of the same M, and its costs. Throws
  // Error(kUsage, "tuned.other_gpu").
  void merge(const TunedTable& later);

  // A line for each entry and each family's costs, every default written out: equal tables have the
  // same text, and parse() reads it.
  std::string to_json() const;

 private:
  std::string gpu_;
  std::vector<TunedEntry> entries_;
  std::vector<TunedCosts> costs_;
};

// The tables in use, at most one for each GPU.
class HEDDLE_EXPORT TunedTables {
 public:
  TunedTables() = default;  // none: every kernel is chosen by its predicted time
  // Those that come with this version of Heddle.
  static const TunedTables& shipped();

  // Merges it over the table of the same GPU, if there is one.
  void add(const TunedTable& table);
  // The table of the target's GPU, or null.
  const TunedTable* of(const Target& target) const;
  // Ascending by GPU.
  const std::vector<TunedTable>& tables() const noexcept { return tables_; }

 private:
  std::vector<TunedTable> tables_;
};

// The name that tables have for a GPU: a known device's name, "h100", else the target's own.
HEDDLE_EXPORT std::string tuned_gpu(const Target& target);
// By name of each family that has kernels for gemms: the version of its entries, of its costs.
HEDDLE_EXPORT std::map<std::string, int> tuned_family_versions();
HEDDLE_EXPORT std::map<std::string, int> tuned_cost_versions();

}  // namespace heddle
