// Fields of a config that contradict each other or name layers that there are not, whichever of
// them the row of the family reads.
#ifndef HEDDLE_GENERATOR_MODEL_CONFIG_CHECKS_H_
#define HEDDLE_GENERATOR_MODEL_CONFIG_CHECKS_H_

#include <cstdint>

#include "generator/model/config_reader.h"
#include "generator/model/family.h"

namespace heddle {

// Of a family with experts; of another one nothing is judged. Adds findings "contradiction",
// "wrong_type" and "out_of_range".
void check_expert_fields(const FamilyRow& family, const ConfigReader& config, std::int64_t layers);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_CONFIG_CHECKS_H_
