// Well-formed specs and targets at random: every operation, every field of its table, half of them
// with values at the ends of what a field allows.
#ifndef HEDDLE_TESTS_RANDOM_SPECS_DRAW_H_
#define HEDDLE_TESTS_RANDOM_SPECS_DRAW_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "generator/operations/operation.h"
#include "heddle/error.h"
#include "heddle/target.h"

namespace heddle {

using Random = std::mt19937_64;

// A number from 0 to count - 1. Precondition: count > 0.
std::size_t below(Random& random, std::size_t count);
bool one_in(Random& random, std::size_t count);

// The text of one spec, which can be drawn anew in part.
class RandomSpec {
 public:
  explicit RandomSpec(Random& random) : random_(random) { draw(); }

  // Another operation with other values.
  void draw();
  // Draws the fields that a refusal names again, or leaves them out.
  void redraw(const std::vector<Problem>& problems);

  // JSON that Spec::parse() accepts.
  std::string json() const;

 private:
  using Value = std::optional<std::string>;  // JSON text of a leaf; of an object "{}"; none: absent

  void draw_field(std::size_t index);
  void draw_children(std::string_view pointer);
  std::string draw_leaf(const Field& field);
  std::int64_t draw_integer(const Field& field);
  std::string draw_number(const Field& field);
  std::string draw_list(const Field& field);
  void drop_absent();
  void order_range();
  void write_members(std::string_view parent, std::string* text) const;

  Random& random_;
  const FieldTable* table_ = nullptr;
  std::vector<Value> values_;       // one for each field of the table
  std::size_t extreme_one_in_ = 2;  // values at an end of their range
  std::size_t present_one_in_ = 2;  // optional fields that are there
};

// One that resolve() knows, or one with some facts changed within their ranges; now and then with a
// fact outside of them.
Target random_target(Random& random);

// As the "target" of a record has it.
std::string target_json(const Target& target);

}  // namespace heddle

#endif  // HEDDLE_TESTS_RANDOM_SPECS_DRAW_H_
