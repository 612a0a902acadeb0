#include "generator/tuned/read_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "generator/spec/document.h"
#include "generator/spec/findings.h"
#include "generator/spec/near_miss.h"
#include "generator/tuned/families.h"
#include "generator/tuned/format.h"
#include "generator/tuned/members.h"
#include "generator/tuned/read_costs.h"
#include "generator/tuned/read_entry.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;
constexpr std::size_t kLongestName = 100;

// False, and a finding, for another version of this document: what else it says is not known.
bool is_of_this_version(Members& table) {
  const std::string allowed = std::to_string(kTunedVersion);
  const Node* const node = table.need("heddle_tuned", allowed);
  if (node == nullptr || node->as_integer() == kTunedVersion) return node != nullptr;
  if (!node->as_integer()) {
    table.integer(*node, "heddle_tuned", kTunedVersion, kTunedVersion);
    return false;
  }
  table.refuse("other_version", *node, "heddle_tuned",
               "the table is of another version of the format", allowed,
               "measure again with heddle tune, or take a Heddle of the table's version");
  return false;
}

// Drivers call every GPU so, known or not.
bool is_driver_name(std::string_view name) { return name.starts_with("NVIDIA "); }

std::string read_gpu(Members& table) {
  const char* const allowed = "the name of a GPU, such as \"h100\"";
  const Node* const node = table.need("gpu", allowed);
  if (node == nullptr) return {};
  const std::optional<std::string> name = table.line(*node, "gpu", kLongestName);
  if (!name) return {};
  Target target;
  target.name = *name;
  if (std::string gpu = tuned_gpu(target); gpu != *name || is_driver_name(gpu)) return gpu;
  try {
    target = target_from_name(*name);
  } catch (const Error& error) {
    table.refuse("unknown_gpu", *node, "gpu", "is no GPU that is known",
                 "a name of heddle targets, or the driver's, which begins with NVIDIA",
                 error.problems().front().hint);
    return {};
  }
  if (!target.name.starts_with("sm_")) return target.name;
  table.refuse("unknown_gpu", *node, "gpu", "is an architecture: times are of one GPU", allowed);
  return {};
}

std::map<std::string, int> read_families(Members& table, Findings* findings) {
  std::map<std::string, int> families;
  const Node* const node = table.need("families", "an object of versions by family");
  if (node == nullptr || !is_kind(*node, Node::Kind::kObject, "/families", findings)) return {};
  Members members(*node, "/families", findings);
  members.know_only(tuned_family_names());
  for (const std::string_view name : tuned_family_names()) {
    const Node* const version = members.find(name);
    if (version == nullptr) continue;
    const auto number = members.integer(*version, name, 1, kMostFamilyVersion);
    if (number) families.emplace(name, static_cast<int>(*number));
  }
  return families;
}

// An entry with its place in the document, comparable by what may not overlap.
struct Placed {
  std::string format;
  const TunedEntry* entry = nullptr;
  std::size_t index = 0;

  auto shape() const { return std::tie(format, entry->n, entry->k); }
  auto order() const { return std::tuple_cat(shape(), std::tie(entry->m_first, index)); }
};

void refuse_overlaps(const std::vector<TunedEntry>& entries, Findings* findings) {
  std::vector<Placed> placed;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    placed.push_back({format_text(gemm_of(entries[i])), &entries[i], i});
  }
  std::sort(placed.begin(), placed.end(),
            [](const Placed& a, const Placed& b) { return a.order() < b.order(); });
  // The earlier entry with the largest last M.
  const Placed* widest = nullptr;
  for (const Placed& one : placed) {
    const bool is_same = widest != nullptr && widest->shape() == one.shape();
    if (is_same && one.entry->m_first <= widest->entry->m_last) {
      const auto [first, second] = std::minmax(widest->index, one.index);
      const TunedEntry& later = entries[second];
      findings->add("overlap",
                    {fmt::format("/entries/{}/m", second),
                     fmt::format("the range overlaps with that of /entries/{}, which has the same "
                                 "format, N and K",
                                 first),
                     fmt::format("[{}, {}]", later.m_first, later.m_last), "", ""});
    }
    if (!is_same || one.entry->m_last > widest->entry->m_last) widest = &one;
  }
}

void read_entries(Members& table, const std::map<std::string, int>& families, TableText* text,
                  Findings* findings) {
  const Node* const node = table.need("entries", "an array");
  if (node == nullptr || !is_kind(*node, Node::Kind::kArray, "/entries", findings)) return;
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    auto entry = read_entry(node->items[i], fmt::format("/entries/{}", i), families, findings);
    if (entry) text->entries.push_back(*std::move(entry));
  }
  // With entries missing the others' numbers would be wrong.
  if (text->entries.size() == node->items.size()) refuse_overlaps(text->entries, findings);
}

}  // namespace

TableText read_table(std::string_view json) {
  Findings findings("tuned");
  TableText text;
  DocumentLimits limits;
  limits.bytes = kMostBytes;
  const std::optional<Node> root = read_document(json, limits, findings);
  if (root && is_kind(*root, Node::Kind::kObject, "", &findings)) {
    Members table(*root, "", &findings);
    if (is_of_this_version(table)) {
      table.know_only({"heddle_tuned", "gpu", "families", "costs", "entries"});
      text.gpu = read_gpu(table);
      const std::map<std::string, int> families = read_families(table, &findings);
      if (const Node* const costs = table.find("costs")) {
        text.costs = read_costs(*costs, "/costs", &findings);
      }
      read_entries(table, families, &text, &findings);
    }
  }
  findings.throw_if_any();
  return text;
}

}  // namespace heddle
