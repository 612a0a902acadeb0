// Fields: the declarative description of a spec's JSON. One table per operation drives the parser,
// the JSON Schema, the canonical text and the reference in docs/spec.md.
//
// A leaf's value is one integer: the number itself, the bits of an FP32, 0 or 1, or the index of a
// word, which is also the value of the enumerator. A Slot reads and writes it in the operation's
// struct; a ListSlot does so for the one kind of leaf that has several.
#ifndef HEDDLE_GENERATOR_SPEC_FIELDS_H_
#define HEDDLE_GENERATOR_SPEC_FIELDS_H_

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

enum class FieldKind {
  kObject,   // its members are the fields below it
  kTuple,    // an array whose elements are the fields "/0", "/1" ... below it, all present
  kInteger,  // min <= value <= max, a multiple, or the value of `also`
  // A number from `least` to `most`, rounded to FP32, whose bits are the value. Not negative, so
  // that values order like their numbers.
  kNumber,
  kBool,
  kWord,   // one of `words`
  kList,   // distinct integers from 0 to max, at least one; empty where absent
  kLabel,  // Spec::name(): a string of `min` to `max` characters of [A-Za-z0-9._-]
};

// The words of the operations, in the order of Op.
std::span<const std::string_view> operation_words() noexcept;

// Reads and writes one value in the operation's struct, which is passed by its address.
struct Slot {
  std::optional<std::int64_t> (*get)(const void* object) = nullptr;
  void (*set)(void* object, std::int64_t value) = nullptr;
};

struct ListSlot {
  const std::vector<int>& (*get)(const void* object) = nullptr;
  void (*set)(void* object, const std::vector<int>& values) = nullptr;
};

// Holds where the field `pointer`, a word of the same object, has one of `words`.
struct Condition {
  std::string_view pointer;
  std::span<const std::string_view> words;
};

struct Field {
  std::string_view pointer;  // JSON pointer: "/weight/bits"
  FieldKind kind = FieldKind::kInteger;
  bool required = false;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::int64_t multiple = 1;
  double least = 0;  // kNumber
  double most = 0;
  std::span<const std::int64_t> also{};       // values allowed beside the range
  std::span<const std::string_view> words{};  // kWord; choices() has those of every kWord
  bool is_operation = false;                  // kWord: the word of the spec's operation
  std::string_view
      default_from{};  // pointer of the field whose value is taken where this is absent
  // With default_from of a word: the value where this field has no such word.
  std::int64_t default_otherwise = 0;
  std::string_view no_default{};  // a word that is written where it is meant, and no default
  bool silent_default = false;    // the canonical text leaves the default out: the field came later
  // Where it holds there is no such field: documents must not have it, structs have its default,
  // and the canonical text leaves it out.
  const Condition* no_field_where = nullptr;
  // Where it holds and the field is left out, even a required one, it is `implied`.
  const Condition* implied_where = nullptr;
  std::int64_t implied = 0;
  Slot slot{};             // of leaves; empty for kLabel and kList
  ListSlot list{};         // of kList
  std::string_view doc{};  // one line, no full stop

  std::span<const std::string_view> choices() const noexcept;
  std::string_view parent() const noexcept { return pointer.substr(0, pointer.rfind('/')); }
  std::string_view name() const noexcept { return pointer.substr(pointer.rfind('/') + 1); }
  bool is_leaf() const noexcept { return kind != FieldKind::kObject && kind != FieldKind::kTuple; }
};

// The fields of one operation, parents before children, in canonical order.
struct FieldTable {
  Op op{};
  std::span<const Field> fields;
  const void* defaults = nullptr;  // a struct of the operation as it is constructed

  const Field* find(std::string_view parent, std::string_view name) const noexcept;
  const Field* find(std::string_view pointer) const noexcept;
};

// Whether the condition holds for a struct of the operation; not for a null pointer.
bool holds(const FieldTable& table, const Condition* condition, const void* object);

// Whether the value is one that the leaf may have.
bool allows(const Field& field, std::int64_t value) noexcept;
bool allows(const Field& field, const std::vector<int>& values) noexcept;
// Of a value that the field does not allow: "is not a multiple of 32".
std::string why_not(const Field& field, std::int64_t value);
std::string why_not(const Field& field, const std::vector<int>& values);
// The value of `field` that says what `value` says of `other`, by whose value it is by default.
std::int64_t same_value(const Field& other, std::int64_t value, const Field& field);
// What the field accepts, in words: "1 to 8", "\"fp16\" or \"bf16\"".
std::string allowed_text(const FieldTable& table, const Field& field);
// JSON text of a leaf's value: 4, 1e-05, true, "fp16".
std::string value_text(const Field& field, std::int64_t value);
std::string value_text(const std::vector<int>& values);

namespace internal {

template <class T>
struct MemberOf;
template <class Class, class Type>
struct MemberOf<Type Class::*> {
  using Owner = Class;
};

template <auto kMember, auto... kRest>
constexpr auto& follow(auto& object) {
  if constexpr (sizeof...(kRest) == 0) {
    return object.*kMember;
  } else {
    return follow<kRest...>(object.*kMember);
  }
}

template <class T>
std::optional<std::int64_t> to_number(const T& value) {
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<std::int32_t>(value);
  return static_cast<std::int64_t>(value);
}
template <class T>
std::optional<std::int64_t> to_number(const std::optional<T>& value) {
  if (!value) return std::nullopt;
  return to_number(*value);
}
template <class T>
void from_number(T& target, std::int64_t value) {
  if constexpr (std::is_same_v<T, float>) {
    target = std::bit_cast<float>(static_cast<std::int32_t>(value));
  } else {
    target = static_cast<T>(value);
  }
}
template <class T>
void from_number(std::optional<T>& target, std::int64_t value) {
  from_number(target.emplace(), value);
}

}  // namespace internal

// The slot of a member, or of a member of a member: slot<&GemmSpec::shape, &GemmShape::n>().
template <auto kMember, auto... kRest>
constexpr Slot slot() {
  using Object = typename internal::MemberOf<decltype(kMember)>::Owner;
  return Slot{[](const void* object) {
                return internal::to_number(
                    internal::follow<kMember, kRest...>(*static_cast<const Object*>(object)));
              },
              [](void* object, std::int64_t value) {
                internal::from_number(
                    internal::follow<kMember, kRest...>(*static_cast<Object*>(object)), value);
              }};
}

// As slot(), for a list.
template <auto kMember, auto... kRest>
constexpr ListSlot list_slot() {
  using Object = typename internal::MemberOf<decltype(kMember)>::Owner;
  return ListSlot{[](const void* object) -> const std::vector<int>& {
                    return internal::follow<kMember, kRest...>(*static_cast<const Object*>(object));
                  },
                  [](void* object, const std::vector<int>& values) {
                    internal::follow<kMember, kRest...>(*static_cast<Object*>(object)) = values;
                  }};
}

// The slot of a field that has only one value.
template <std::int64_t kValue>
constexpr Slot fixed_slot() {
  return Slot{[](const void* /*object*/) { return std::optional<std::int64_t>(kValue); },
              [](void* /*object*/, std::int64_t /*value*/) {}};
}

// The slot of an optional type whose words are "none" and then those of the first types.
template <auto kMember, auto... kRest>
constexpr Slot optional_type_slot() {
  using Object = typename internal::MemberOf<decltype(kMember)>::Owner;
  return Slot{[](const void* object) -> std::optional<std::int64_t> {
                const std::optional<DType>& type =
                    internal::follow<kMember, kRest...>(*static_cast<const Object*>(object));
                return type ? 1 + static_cast<std::int64_t>(*type) : 0;
              },
              [](void* object, std::int64_t value) {
                std::optional<DType>& type =
                    internal::follow<kMember, kRest...>(*static_cast<Object*>(object));
                type = value == 0 ? std::nullopt : std::optional(static_cast<DType>(value - 1));
              }};
}

// The slot of a field that is only a default of others: nothing is stored.
constexpr Slot default_slot() {
  return Slot{[](const void* /*object*/) { return std::optional<std::int64_t>(); },
              [](void* /*object*/, std::int64_t /*value*/) {}};
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_FIELDS_H_
