// Fields of a config that say how experts are chosen and that the row of its family does not read:
// where one says something else than the row, the choice is not known.
#ifndef HEDDLE_GENERATOR_MODEL_ROUTING_FIELDS_H_
#define HEDDLE_GENERATOR_MODEL_ROUTING_FIELDS_H_

#include <string>
#include <vector>

#include "generator/model/config_reader.h"
#include "generator/model/family.h"
#include "heddle/model.h"

namespace heddle {

// "/norm_topk_prob is false", in the order of their names; of `experts`, as the row has them.
std::vector<std::string> ignored_routing(const FamilyRow& family, const ConfigReader& config,
                                         const ModelExperts& experts);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_ROUTING_FIELDS_H_
