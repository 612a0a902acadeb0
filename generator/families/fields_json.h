// A configuration struct as JSON. Apart from fields.h, since to parse the JSON library takes longer
// than the rest of a file.
#ifndef HEDDLE_GENERATOR_FAMILIES_FIELDS_JSON_H_
#define HEDDLE_GENERATOR_FAMILIES_FIELDS_JSON_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "generator/families/fields.h"

namespace heddle::families {

// The struct as a JSON object; enumerators by their names.
template <class T>
nlohmann::ordered_json fields_json(const T& value) {
  if constexpr (ConfigStruct<const T>) {
    auto json = nlohmann::ordered_json::object();
    T::visit(value, [&](std::string_view name, const auto& member) {
      json[std::string(name)] = fields_json(member);
    });
    return json;
  } else if constexpr (std::is_enum_v<T>) {
    return enumerator_name(value);
  } else {
    return value;
  }
}

}  // namespace heddle::families

#endif  // HEDDLE_GENERATOR_FAMILIES_FIELDS_JSON_H_
