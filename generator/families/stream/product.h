// A stream of 16-bit tokens as one of the products of another family's kernel.
#ifndef HEDDLE_GENERATOR_FAMILIES_STREAM_PRODUCT_H_
#define HEDDLE_GENERATOR_FAMILIES_STREAM_PRODUCT_H_

#include <string>

#include "heddle/spec.h"
#include "heddle/weights.h"
#include "stream/config.h"

namespace heddle {

// What follows from the product and its number of tokens, with a thread block for each of `sms`
// multiprocessors, none of which share K. Warps, stages and shared memory are not settled.
device::StreamConfig stream_product(const GemmSpec& spec, const WeightLayout& layout, int tokens,
                                    int sms);

// What the bits of an output depend on, as Family::arithmetic() says it: which columns a warp has,
// and how far it goes with the same sums. Each token is a column of its own, and none of this
// depends on how many there are.
std::string stream_arithmetic(const device::StreamConfig& config);

// A struct that is the product's configuration, the StreamConfig that is member `member` of Config,
// and has the classes that a stream's kernel names.
std::string stream_product_text(const char* name, const char* member, const GemmSpec& spec);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_STREAM_PRODUCT_H_
