// What the assembler reports about a kernel with --ptxas-options=-v.
#ifndef HEDDLE_RUNTIME_COMPILE_PTXAS_LOG_H_
#define HEDDLE_RUNTIME_COMPILE_PTXAS_LOG_H_

#include <string>
#include <string_view>

namespace heddle {

struct PtxasReport {
  int registers = 0;
  int stack_bytes = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  int shared_bytes = 0;     // static
  std::string other_lines;  // every line that is no such report: warnings
};

// `log` is the log of a compilation of one kernel. Throws Error(kInternal, "nvrtc.log") if it does
// not tell the registers and the spills: a Binary must not claim what nobody measured. Pure.
PtxasReport parse_ptxas_log(std::string_view log);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_COMPILE_PTXAS_LOG_H_
