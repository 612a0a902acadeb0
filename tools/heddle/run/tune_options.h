// What the options of `heddle tune` say.
#ifndef HEDDLE_TOOLS_HEDDLE_RUN_TUNE_OPTIONS_H_
#define HEDDLE_TOOLS_HEDDLE_RUN_TUNE_OPTIONS_H_

#include <string>

#include "generator/families/gemm_family.h"
#include "heddle/spec.h"

namespace heddle {

// "1-4096" or "16". What is wrong with the text in words; empty if nothing is.
std::string m_range_problem(const std::string& text);
// Precondition: no problem.
MRange parse_m_range(const std::string& text);

// "60s", "1.5m", "2h" or "60", which are seconds; more than none, a day at most.
std::string seconds_problem(const std::string& text);
double parse_seconds(const std::string& text);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_RUN_TUNE_OPTIONS_H_
