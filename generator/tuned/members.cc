#include "generator/tuned/members.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/spec/near_miss.h"

namespace heddle {

void Members::know_only(const std::vector<std::string_view>& names) {
  for (std::size_t i = 0; i < object_.keys.size(); ++i) {
    const std::string& key = object_.keys[i];
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    refuse("unknown_field", object_.items[i], key, "the field is unknown",
           fmt::format("{}", fmt::join(names, ", ")), did_you_mean(key, names));
  }
}

const Node* Members::need(std::string_view name, std::string allowed) {
  const Node* const node = find(name);
  if (node == nullptr) {
    findings_.add("missing_field", {child_pointer(pointer_, name), "the field is required", "",
                                    std::move(allowed), ""});
  }
  return node;
}

std::optional<std::int64_t> Members::integer(const Node& node, std::string_view name,
                                             std::int64_t min, std::int64_t max) {
  std::string allowed = fmt::format("{} to {}", min, max);
  const std::optional<std::int64_t> value = node.as_integer();
  if (!value) {
    refuse("wrong_type", node, name, "must be an integer", std::move(allowed));
  } else if (*value < min || *value > max) {
    refuse("out_of_range", node, name, "is out of range", std::move(allowed));
  } else {
    return value;
  }
  return std::nullopt;
}

std::optional<double> Members::positive(const Node& node, std::string_view name, double least,
                                        double most) {
  std::string allowed = least > 0 ? fmt::format("{:g} to {:g}", least, most)
                                  : fmt::format("more than 0, up to {:g}", most);
  const bool is_integer = node.kind == Node::Kind::kInteger;
  if (!is_integer && node.kind != Node::Kind::kNumber) {
    refuse("wrong_type", node, name, "must be a number", std::move(allowed));
    return std::nullopt;
  }
  const double value = is_integer ? static_cast<double>(node.integer) : node.number;
  if (value > 0 && value >= least && value <= most) return value;
  refuse("out_of_range", node, name, "is out of range", std::move(allowed));
  return std::nullopt;
}

std::optional<std::string> Members::line(const Node& node, std::string_view name,
                                         std::size_t longest) {
  const std::string allowed = fmt::format("1 to {} printable ASCII characters", longest);
  if (node.kind != Node::Kind::kString) {
    refuse("wrong_type", node, name, "must be a string", allowed);
    return std::nullopt;
  }
  const std::string& text = node.text;
  const bool is_line =
      !text.empty() && text.size() <= longest &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (is_line) return text;
  refuse("bad_text", node, name, "is not one line of text", allowed);
  return std::nullopt;
}

void Members::refuse(std::string_view what, const Node& node, std::string_view name,
                     std::string message, std::string allowed, std::string hint) {
  findings_.add(what, {child_pointer(pointer_, name), std::move(message), excerpt(node),
                       std::move(allowed), std::move(hint)});
}

bool is_kind(const Node& node, Node::Kind kind, const std::string& pointer, Findings* findings) {
  if (node.kind == kind) return true;
  const char* const wanted = kind == Node::Kind::kArray ? "must be an array" : "must be an object";
  findings->add("wrong_type", {pointer, wanted, excerpt(node), "", ""});
  return false;
}

}  // namespace heddle
