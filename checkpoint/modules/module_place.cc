#include "checkpoint/modules/module_place.h"

#include <algorithm>

namespace heddle {
namespace {

constexpr std::size_t kMostDigits = 6;

bool is_index(const std::string& component) {
  return !component.empty() && component.size() <= kMostDigits &&
         std::all_of(component.begin(), component.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

void append(const std::string& component, std::string* path) {
  if (!path->empty()) *path += '.';
  *path += component;
}

}  // namespace

ModulePlace place_of_module(const std::string& name) {
  ModulePlace place;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t dot = std::min(name.find('.', at), name.size());
    const std::string component = name.substr(at, dot - at);
    at = dot + 1;
    if (!is_index(component)) {
      append(component, &place.path);
    } else if (place.layer < 0 && !place.path.empty()) {
      place.layer = std::stoi(component);
      place.list = std::move(place.path);
      place.path.clear();
    } else {
      append("*", &place.path);
    }
  }
  // "transformer.h.0" itself is no module in a layer.
  if (!place.path.empty() || place.layer < 0) return place;
  return {"", -1, name};
}

}  // namespace heddle
