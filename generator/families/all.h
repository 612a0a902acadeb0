// Declares <name>_family() of every family of the list of operations.
#ifndef HEDDLE_GENERATOR_FAMILIES_ALL_H_
#define HEDDLE_GENERATOR_FAMILIES_ALL_H_

#include "generator/spec/operation_list.h"

namespace heddle {

class Family;

#define HEDDLE_NO_OPERATION(name)
#define HEDDLE_DECLARE_FAMILY(name) const Family* name##_family();
HEDDLE_OPERATIONS(HEDDLE_NO_OPERATION, HEDDLE_DECLARE_FAMILY, HEDDLE_DECLARE_FAMILY)
#undef HEDDLE_DECLARE_FAMILY
#undef HEDDLE_NO_OPERATION

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_ALL_H_
