// Towers: what a model of images or sound has beside its language model.
#ifndef HEDDLE_GENERATOR_MODEL_TOWERS_H_
#define HEDDLE_GENERATOR_MODEL_TOWERS_H_

#include <string>
#include <vector>

#include "generator/model/config_reader.h"

namespace heddle {

// Layers that are listed with the reason why they are not described.
struct DecodedOther {
  std::string name;
  int layers = 0;
  std::string reason;
};

// `config` is that of the whole model. Towers are not described: they have their number of layers
// and, in the reason, their width.
std::vector<DecodedOther> towers_of(const ConfigReader& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_TOWERS_H_
