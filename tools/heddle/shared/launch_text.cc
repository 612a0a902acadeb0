#include "tools/heddle/shared/launch_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "generator/operations/operation.h"

namespace heddle {
namespace {

SizeKind kind_of(const Spec& spec) { return operation_of(spec).size_kind(); }

}  // namespace

std::string launch_text(const Spec& spec, const LaunchSize& size) {
  switch (kind_of(spec)) {
    case SizeKind::kNone:
      return "any size";
    case SizeKind::kRows:
      return fmt::format("M = {}", size.size);
    case SizeKind::kSequenceTokens:
      break;
  }
  return fmt::format("{}x{}", size.sequences, size.size);
}

nlohmann::ordered_json launch_json(const Spec& spec, const LaunchSize& size) {
  switch (kind_of(spec)) {
    case SizeKind::kNone:
      return nlohmann::ordered_json::object();
    case SizeKind::kRows:
      return {{"m", size.size}};
    case SizeKind::kSequenceTokens:
      break;
  }
  return {{"sequences", size.sequences}, {"length", size.size}};
}

std::string range_text(const Spec& spec, const MRange& sizes) {
  return kind_of(spec) == SizeKind::kNone ? "any size" : operation_of(spec).size_text(sizes);
}

}  // namespace heddle
