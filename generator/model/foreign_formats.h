// Formats of weights that Heddle does not read: how each is recognised, what it is called, why it
// is not read, and what its user can do.
#ifndef HEDDLE_GENERATOR_MODEL_FOREIGN_FORMATS_H_
#define HEDDLE_GENERATOR_MODEL_FOREIGN_FORMATS_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "generator/spec/document.h"

namespace heddle {

struct ForeignFormat {
  std::string_view name;     // "MLX"
  std::string_view why;      // a clause: "its codes are trellis codes"
  std::string_view instead;  // a clause: "take the model that it was converted from"

  // "MLX is not read: ...; ...".
  std::string refusal() const;
};

// By the config's "quant_method", lower case with '-' for '_'. Null: none of them, as with those
// below.
const ForeignFormat* foreign_method(std::string_view method);

// By other fields, of a config whose quantisation has no "quant_method".
struct ForeignConfig {
  const ForeignFormat* format;
  std::string_view key;  // the member of the config that tells
};
std::optional<ForeignConfig> foreign_config(const Node& config);

// By a tensor's name, and by what is beside it where that says too little. `has` tells whether the
// checkpoint has a tensor of that name.
const ForeignFormat* foreign_tensor(std::string_view name,
                                    const std::function<bool(const std::string&)>& has);

// By a file's name without its folder, and by its first bytes.
const ForeignFormat* foreign_file(std::string_view name);
const ForeignFormat* foreign_content(std::string_view first_bytes);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_FOREIGN_FORMATS_H_
