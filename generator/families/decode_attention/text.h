#ifndef HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_TEXT_H_
#define HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_TEXT_H_

#include "generator/families/family.h"

namespace heddle {

KernelText decode_attention_text(const Plan& plan, const PlannedKernel& kernel);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_TEXT_H_
