// A stream as one of the products of another family's kernel.
#ifndef HEDDLE_GENERATOR_FAMILIES_STREAM_PRODUCT_TEXT_H_
#define HEDDLE_GENERATOR_FAMILIES_STREAM_PRODUCT_TEXT_H_

#include <string>

#include "heddle/spec.h"

namespace heddle {

// A struct that is the product's configuration, the StreamConfig that is member `member` of Config,
// and has the classes that a stream's kernel names.
std::string stream_product_text(const char* name, const char* member, const GemmSpec& spec);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_STREAM_PRODUCT_TEXT_H_
