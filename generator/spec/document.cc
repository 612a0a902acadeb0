#include "generator/spec/document.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

namespace heddle {
namespace {

constexpr std::size_t kManyKeys = 32;  // from which on they are looked up

using Json = nlohmann::json;

// 1-based line and column of the byte before `position`, which is where the reader stopped.
std::string place(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, std::min(position, text.size()));
  const std::string_view head = before.substr(0, before.empty() ? 0 : before.size() - 1);
  const std::size_t newline = head.rfind('\n');
  const std::size_t column = newline == head.npos ? head.size() + 1 : head.size() - newline;
  return "line " + std::to_string(1 + std::count(head.begin(), head.end(), '\n')) + ", column " +
         std::to_string(column);
}

// The reader's own reason, without its prefix and without the quoted input, which may be anything.
std::string reason(std::string_view what) {
  const std::size_t column = what.find(", column ");
  const std::size_t start = column == what.npos ? what.find("] ") : what.find(": ", column);
  if (start != what.npos) what.remove_prefix(start + 2);
  std::string expected;
  if (const std::size_t at = what.rfind("; expected "); at != what.npos) expected = what.substr(at);
  what = what.substr(0, what.find("; last read:"));
  constexpr std::string_view kPrefix = "syntax error while ";
  if (what.substr(0, kPrefix.size()) == kPrefix) what.remove_prefix(kPrefix.size());
  if (what.find(expected) != what.npos) expected.clear();
  std::string text = std::string(what) + expected;
  for (char& c : text) c = c >= ' ' && c <= '~' ? c : '?';
  constexpr std::size_t kLongestReason = 160;
  return text.substr(0, kLongestReason);
}

// In strings that stand for Python's constants; JSON text can hold this character only escaped.
constexpr char kConstantMark = '\x01';

// The text with NaN, Infinity and -Infinity outside of strings as marked strings.
std::string with_constants_as_strings(std::string_view text) {
  constexpr std::string_view kWords[] = {"NaN", "Infinity", "-Infinity"};
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < text.size()) out += text[++i];
      if (c == '"') in_string = false;
      continue;
    }
    in_string = c == '"';
    const auto* const word =
        std::find_if(std::begin(kWords), std::end(kWords),
                     [&](std::string_view known) { return text.substr(i).starts_with(known); });
    if (word == std::end(kWords)) {
      out += c;
      continue;
    }
    out += "\"\\u0001" + std::string(*word) + '"';
    i += word->size() - 1;
  }
  return out;
}

double constant_value(std::string_view word) {
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return word.front() == '-' ? -infinity : infinity;
}

// Builds the tree. The stack holds the open containers; an open container is the last item of its
// parent, so that growing it moves no other open one.
class TreeBuilder final : public nlohmann::json_sax<Json> {
 public:
  TreeBuilder(std::string_view text, const DocumentLimits& limits, Findings& findings)
      : text_(text), limits_(limits), findings_(findings) {}

  Node take_root() { return std::move(root_); }

  bool null() override { return add({}), true; }
  bool boolean(bool value) override {
    Node node;
    node.kind = Node::Kind::kBool;
    node.boolean = value;
    return add(std::move(node)), true;
  }
  bool number_integer(std::int64_t value) override {
    Node node;
    node.kind = Node::Kind::kInteger;
    node.integer = value;
    return add(std::move(node)), true;
  }
  bool number_unsigned(std::uint64_t value) override {
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return number_integer(static_cast<std::int64_t>(value));
    }
    return number_float(static_cast<double>(value), std::to_string(value));
  }
  bool number_float(double value, const std::string& written) override {
    Node node;
    node.kind = Node::Kind::kNumber;
    node.number = value;
    node.text = written;
    return add(std::move(node)), true;
  }
  bool string(std::string& value) override {
    if (limits_.python_constants && value.size() > 1 && value.front() == kConstantMark) {
      return number_float(constant_value(value.substr(1)), value.substr(1));
    }
    Node node;
    node.kind = Node::Kind::kString;
    node.text = std::move(value);
    return add(std::move(node)), true;
  }
  bool binary(Json::binary_t& /*value*/) override { return false; }  // not in JSON text
  bool key(std::string& value) override {
    open_.back()->keys.push_back(std::move(value));
    return true;
  }
  bool start_object(std::size_t /*size*/) override { return open(Node::Kind::kObject); }
  bool start_array(std::size_t /*size*/) override { return open(Node::Kind::kArray); }
  bool end_object() override {
    drop_duplicates(*open_.back());
    return open_.pop_back(), true;
  }
  bool end_array() override { return open_.pop_back(), true; }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    findings_.add("syntax", {pointer(),
                             "the text is not JSON at " + place(text_, position) + ": " +
                                 reason(error.what()),
                             "", "", ""});
    return false;
  }

 private:
  Node& add(Node node) {
    if (open_.empty()) return root_ = std::move(node);
    return open_.back()->items.emplace_back(std::move(node));
  }

  bool open(Node::Kind kind) {
    if (open_.size() == limits_.depth) {
      findings_.add("too_deep", {pointer(), "objects and arrays are nested too deeply", "",
                                 "at most " + std::to_string(limits_.depth) + " levels", ""});
      return false;
    }
    Node node;
    node.kind = kind;
    open_.push_back(&add(std::move(node)));
    return true;
  }

  // Pointer of the innermost open container.
  std::string pointer() const {
    std::string text;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      const Node& node = *open_[i];
      text = child_pointer(text, node.kind == Node::Kind::kObject
                                     ? node.keys.back()
                                     : std::to_string(node.items.size() - 1));
    }
    return text;
  }

  void drop_duplicates(Node& node) {
    std::vector<std::size_t> order(node.keys.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return node.keys[a] < node.keys[b]; });
    std::vector<bool> drop(order.size(), false);
    bool any = false;
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (node.keys[order[i]] == node.keys[order[i - 1]]) drop[order[i]] = any = true;
    }
    if (any) {
      keep_first(node, drop);
    } else if (order.size() >= kManyKeys) {
      node.sorted.assign(order.begin(), order.end());
    }
  }

  void keep_first(Node& node, const std::vector<bool>& drop) {
    const std::string parent = pointer();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < drop.size(); ++i) {
      if (drop[i]) {
        findings_.add("duplicate_field",
                      {child_pointer(parent, node.keys[i]), "the field is given more than once",
                       excerpt(node.items[i]), "", ""});
        continue;
      }
      if (kept != i) {
        node.keys[kept] = std::move(node.keys[i]);
        node.items[kept] = std::move(node.items[i]);
      }
      ++kept;
    }
    node.keys.resize(kept);
    node.items.resize(kept);
  }

  std::string_view text_;
  const DocumentLimits& limits_;
  Findings& findings_;
  Node root_;
  std::vector<Node*> open_;
};

}  // namespace

const Node* Node::find(std::string_view key) const noexcept {
  if (!sorted.empty() && sorted.size() == keys.size()) {
    const auto place =
        std::lower_bound(sorted.begin(), sorted.end(), key,
                         [&](std::uint32_t at, std::string_view text) { return keys[at] < text; });
    return place == sorted.end() || keys[*place] != key ? nullptr : &items[*place];
  }
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

std::optional<std::int64_t> Node::as_integer() const noexcept {
  if (kind == Kind::kInteger) return integer;
  if (kind != Kind::kNumber || std::trunc(number) != number) return std::nullopt;
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  if (number >= kEnd) return std::numeric_limits<std::int64_t>::max();
  if (number < -kEnd) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(number);
}

std::optional<Node> read_document(std::string_view text, const DocumentLimits& limits,
                                  Findings& findings) {
  if (text.size() > limits.bytes) {
    findings.add("too_large", {"", "the text is too large", std::to_string(text.size()) + " bytes",
                               "at most " + std::to_string(limits.bytes) + " bytes", ""});
    return std::nullopt;
  }
  // The parser would take a NUL byte for the end of the text and pass over what follows.
  if (const std::size_t nul = text.find('\0'); nul != text.npos) {
    findings.add("syntax", {"", "the text is not JSON at " + place(text, nul + 1) + ": a NUL byte",
                            "", "", ""});
    return std::nullopt;
  }
  std::string rewritten;
  if (limits.python_constants) text = rewritten = with_constants_as_strings(text);
  TreeBuilder builder(text, limits, findings);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) return std::nullopt;
  return builder.take_root();
}

}  // namespace heddle
