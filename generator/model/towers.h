// Towers: what a model of images or sound has beside its language model.
#ifndef HEDDLE_GENERATOR_MODEL_TOWERS_H_
#define HEDDLE_GENERATOR_MODEL_TOWERS_H_

#include <vector>

#include "generator/model/config_reader.h"
#include "generator/model/decoder.h"

namespace heddle {

// `config` is that of the whole model. Towers are not described: they have their number of layers
// and, in the reason, their width.
std::vector<DecodedOther> towers_of(const ConfigReader& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_TOWERS_H_
