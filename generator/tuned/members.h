// Members: the values of one JSON object of a table, checked one by one.
#ifndef HEDDLE_GENERATOR_TUNED_MEMBERS_H_
#define HEDDLE_GENERATOR_TUNED_MEMBERS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/spec/document.h"
#include "generator/spec/findings.h"

namespace heddle {

// Longest line of text that a table may have, in bytes.
inline constexpr std::size_t kLongestLine = 200;

// What is wrong goes to the findings, with the member's pointer; the value is then absent.
class Members {
 public:
  // Precondition: an object.
  Members(const Node& object, std::string pointer, Findings* findings)
      : object_(object), pointer_(std::move(pointer)), findings_(*findings) {}

  // Refuses members that are called otherwise.
  void know_only(const std::vector<std::string_view>& names);
  const Node* find(std::string_view name) const { return object_.find(name); }
  // Null, and a finding, where it is missing; `allowed` as in Problem.
  const Node* need(std::string_view name, std::string allowed);
  std::optional<std::int64_t> integer(const Node& node, std::string_view name, std::int64_t min,
                                      std::int64_t max);
  // A number of more than 0 within these, both inclusive.
  std::optional<double> positive(const Node& node, std::string_view name, double least,
                                 double most);
  // One line of 1 to `longest` printable ASCII characters.
  std::optional<std::string> line(const Node& node, std::string_view name, std::size_t longest);

  void refuse(std::string_view what, const Node& node, std::string_view name, std::string message,
              std::string allowed, std::string hint = {});
  const std::string& pointer() const noexcept { return pointer_; }

 private:
  const Node& object_;
  std::string pointer_;
  Findings& findings_;
};

// Adds "wrong_type" and returns false for what is no node of that kind.
bool is_kind(const Node& node, Node::Kind kind, const std::string& pointer, Findings* findings);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_TUNED_MEMBERS_H_
