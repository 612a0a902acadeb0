// The text of JSON values in messages: short, and safe to show whatever the input was.
#include <nlohmann/json.hpp>
#include <utility>

#include "generator/spec/document.h"

namespace heddle {
namespace {

// A quoted, escaped string of printable ASCII.
std::string json_string(std::string_view text) {
  // More than is shown; a character cut in half here is dropped by the error handler.
  const nlohmann::json value(std::string(text.substr(0, 2 * kLongestExcerpt)));
  return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::ignore);
}

std::string cut(std::string text) {
  if (text.size() <= kLongestExcerpt) return text;
  text.resize(kLongestExcerpt - 3);
  return text + "...";
}

// Appends until the text is longer than can be shown. Nodes are at most as deep as a document.
void append(const Node& node, std::string& text) {
  switch (node.kind) {
    case Node::Kind::kNull:
      text += "null";
      return;
    case Node::Kind::kBool:
      text += node.boolean ? "true" : "false";
      return;
    case Node::Kind::kInteger:
      text += std::to_string(node.integer);
      return;
    case Node::Kind::kNumber:
      text += node.text.substr(0, 2 * kLongestExcerpt);
      return;
    case Node::Kind::kString:
      text += json_string(node.text);
      return;
    case Node::Kind::kArray:
    case Node::Kind::kObject:
      break;
  }
  const bool object = node.kind == Node::Kind::kObject;
  text += object ? '{' : '[';
  for (std::size_t i = 0; i < node.items.size() && text.size() <= kLongestExcerpt; ++i) {
    if (i > 0) text += ", ";
    if (object) text += json_string(node.keys[i]) + ": ";
    append(node.items[i], text);
  }
  text += object ? '}' : ']';
}

}  // namespace

std::string excerpt(const Node& node) {
  std::string text;
  append(node, text);
  return cut(std::move(text));
}

std::string excerpt(std::string_view text) {
  std::string inner = json_string(text);
  inner.pop_back();
  inner.erase(0, 1);
  return cut(std::move(inner));
}

std::string child_pointer(std::string_view parent, std::string_view key) {
  std::string pointer = std::string(parent) + "/";
  for (const char c : excerpt(key)) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

}  // namespace heddle
