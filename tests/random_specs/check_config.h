// What must hold for one config of a model, whatever it is.
#ifndef HEDDLE_TESTS_RANDOM_SPECS_CHECK_CONFIG_H_
#define HEDDLE_TESTS_RANDOM_SPECS_CHECK_CONFIG_H_

#include <cstddef>
#include <string>

#include "tests/random_specs/draw_config.h"

namespace heddle {

struct ConfigVerdict {
  std::string fault;  // empty: all that must hold does
  bool is_accepted = false;
  std::size_t kernels = 0;  // that were planned
};

// The model, its cache and the plans of its kernels, none of which are rendered.
ConfigVerdict check_config(const ConfigCase& config);

}  // namespace heddle

#endif  // HEDDLE_TESTS_RANDOM_SPECS_CHECK_CONFIG_H_
