// Formats of weights that Heddle does not read: how each is recognised, what it is called, why it
// is not read, and what its user can do.
#ifndef HEDDLE_GENERATOR_MODEL_UNREAD_FORMATS_H_
#define HEDDLE_GENERATOR_MODEL_UNREAD_FORMATS_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "generator/spec/document.h"

namespace heddle {

struct UnreadFormat {
  std::string_view name;     // "MLX"
  std::string_view why;      // a clause: "its codes are trellis codes"
  std::string_view instead;  // a clause: "take the model that it was converted from"

  // "MLX is not read: ...; ...".
  std::string refusal() const;
};

// By the config's "quant_method", lower case with '-' for '_'. Null: none of them, as with those
// below.
const UnreadFormat* format_of_method(std::string_view method);

// By other fields, of a config whose quantisation has no "quant_method".
struct UnreadConfig {
  const UnreadFormat* format;
  std::string_view key;  // the member of the config that tells
};
std::optional<UnreadConfig> format_of_config(const Node& config);

// By a tensor's name, and by what is beside it where that says too little. `has` tells whether the
// checkpoint has a tensor of that name.
const UnreadFormat* format_of_tensor(std::string_view name,
                                     const std::function<bool(const std::string&)>& has);

// By a file's name without its folder, and by its first bytes.
const UnreadFormat* format_of_file_name(std::string_view name);
const UnreadFormat* format_of_first_bytes(std::string_view first_bytes);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_UNREAD_FORMATS_H_
