// The fields of a config that a family's row reads, and those that no row has to.
#ifndef HEDDLE_GENERATOR_MODEL_CONFIG_FIELDS_H_
#define HEDDLE_GENERATOR_MODEL_CONFIG_FIELDS_H_

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "generator/model/family.h"
#include "generator/spec/document.h"

namespace heddle {

// Paths of fields: "hidden_size", "attn_config.alibi"; an index of a list is left out.
using FieldPaths = std::set<std::string, std::less<>>;

// Fields that change neither kernels nor notes, for any model.
struct IgnoredFields {
  std::string_view why;
  std::vector<std::string_view> paths;
};
const std::vector<IgnoredFields>& ignored_fields();

// The fields that the row's expressions name, and those that are read for all families.
FieldPaths fields_of(const FamilyRow& family);

// Whether a field of that path is read, as a whole or by a member, or is ignored.
bool is_known(const FieldPaths& fields, std::string_view path);

// The fields of the config that have a value and are neither; "attn_config.rope, foo".
std::string unknown_fields(const FamilyRow& family, const Node& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_CONFIG_FIELDS_H_
