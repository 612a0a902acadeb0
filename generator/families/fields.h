// What the library knows of a configuration struct's members: their names and values, in order.
//
// It gives HEDDLE_FIELDS, HEDDLE_ENUM and HEDDLE_SPEC_ENUM of templates/config/config.h their
// meaning on the host, where host/config/config.h is found in place of that header.
#ifndef HEDDLE_GENERATOR_FAMILIES_FIELDS_H_
#define HEDDLE_GENERATOR_FAMILIES_FIELDS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/spec.h"

namespace heddle::device {

// By this argument a call finds the names of an enum's enumerators in this namespace, whichever one
// the enum is of.
struct DeviceNames {};

}  // namespace heddle::device

namespace heddle::families {

// The `index`-th of names that a macro has listed as "a, b, c"; empty from their number on.
constexpr std::string_view listed_name(std::string_view names, std::size_t index) {
  for (; index > 0; --index) {
    const std::size_t comma = names.find(',');
    if (comma == std::string_view::npos) return {};
    names.remove_prefix(comma + 1);
  }
  names = names.substr(0, names.find(','));
  while (!names.empty() && names.front() <= ' ') names.remove_prefix(1);
  while (!names.empty() && names.back() <= ' ') names.remove_suffix(1);
  return names;
}

// Whether these are an enum's first enumerators.
template <class Enum>
constexpr bool counts_up(std::initializer_list<Enum> enumerators) {
  int next = 0;
  for (const Enum value : enumerators) {
    if (static_cast<int>(value) != next++) return false;
  }
  return true;
}

// Converts to any type: counts the members of an aggregate.
struct AnyMember {
  template <class T>
  constexpr operator T() const noexcept;  // NOLINT(google-explicit-constructor): never defined
};

template <class Struct, std::size_t... kIndices>
constexpr bool has_members(std::index_sequence<kIndices...>) {
  return requires { Struct{(static_cast<void>(kIndices), AnyMember{})...}; };
}

template <class Struct, std::size_t kCount>
concept HasExactly = has_members<Struct>(std::make_index_sequence<kCount>{}) &&
    !has_members<Struct>(std::make_index_sequence<kCount + 1>{});

// Calls visitor(name, member) for each member. Does not compile where HEDDLE_FIELDS has forgotten
// one.
template <class Struct, class Visitor, class... Members>
constexpr void visit_members(std::string_view names, Visitor&& visitor, Members&... members) {
  static_assert(HasExactly<std::remove_const_t<Struct>, sizeof...(Members)>,
                "HEDDLE_FIELDS lists every member");
  std::size_t index = 0;
  (visitor(listed_name(names, index++), members), ...);
}

}  // namespace heddle::families

#define HEDDLE_HOST_FIELDS
#define HEDDLE_FIELDS(...)                                                        \
  template <class Self, class Visitor>                                            \
  static constexpr void visit(Self& self, Visitor&& visitor) {                    \
    self.visit_own([&](auto&... members) {                                        \
      ::heddle::families::visit_members<Self>(#__VA_ARGS__, visitor, members...); \
    });                                                                           \
  }                                                                               \
  template <class Call>                                                           \
  constexpr void visit_own(Call&& call) {                                         \
    call(__VA_ARGS__);                                                            \
  }                                                                               \
  template <class Call>                                                           \
  constexpr void visit_own(Call&& call) const {                                   \
    call(__VA_ARGS__);                                                            \
  }
#define HEDDLE_ENUM_NAMES(name, ...)                                                 \
  constexpr std::string_view enumerators(name, DeviceNames) { return #__VA_ARGS__; } \
  constexpr std::string_view enumeration(name, DeviceNames) { return #name; }
#define HEDDLE_ENUM(name, ...)     \
  enum class name { __VA_ARGS__ }; \
  HEDDLE_ENUM_NAMES(name, __VA_ARGS__)
#define HEDDLE_SPEC_ENUM(name, ...)                          \
  using ::heddle::name;                                      \
  HEDDLE_ENUM_NAMES(name, __VA_ARGS__)                       \
  static_assert(                                             \
      [] {                                                   \
        using enum ::heddle::name;                           \
        return ::heddle::families::counts_up({__VA_ARGS__}); \
      }(),                                                   \
      "HEDDLE_SPEC_ENUM lists a spec's enumerators in their order")

#include "templates/config/config.h"

namespace heddle::families {

// "kWeight" of ScaleMode::kWeight.
template <class Enum>
constexpr std::string_view enumerator_name(Enum value) {
  return listed_name(enumerators(value, device::DeviceNames{}), static_cast<std::size_t>(value));
}

template <class T>
concept ConfigStruct = requires(T& t) {
  T::visit(t, [](std::string_view, auto&) {});
};

// The struct as a braced initializer, one member to a line behind its name, a nested struct on
// lines of its own: what a rendered kernel's Config has.
template <class T>
std::string initializer_text(const T& value, int indent) {
  if constexpr (ConfigStruct<const T>) {
    std::string text = "{\n";
    const std::string margin(static_cast<std::size_t>(indent) + 2, ' ');
    T::visit(value, [&](std::string_view name, const auto& member) {
      text +=
          margin + "/*" + std::string(name) + "=*/" + initializer_text(member, indent + 2) + ",\n";
    });
    return text + std::string(static_cast<std::size_t>(indent), ' ') + "}";
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(enumeration(value, device::DeviceNames{})) +
           "::" + std::string(enumerator_name(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else {
    static_assert(std::is_integral_v<T>, "members are integers, flags, enumerators and structs");
    return std::to_string(value);
  }
}

// The rendered struct: "struct NAME { static constexpr TYPE value{...}; using ...; };". `aliases`
// are "using Value = Fp16;" and the like.
template <class T>
std::string config_struct(std::string_view type, const T& value,
                          const std::vector<std::string>& aliases,
                          std::string_view name = "Config") {
  std::string text = "struct " + std::string(name) + " {\n  static constexpr " + std::string(type) +
                     " value" + initializer_text(value, 2) + ";\n";
  for (const std::string& alias : aliases) text += "  " + alias + '\n';
  return text + "};\n";
}

}  // namespace heddle::families

#endif  // HEDDLE_GENERATOR_FAMILIES_FIELDS_H_
