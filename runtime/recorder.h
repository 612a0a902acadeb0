// Recorder: notes which specs a process asks kernels for, to compile them elsewhere.
#ifndef HEDDLE_RUNTIME_RECORDER_H_
#define HEDDLE_RUNTIME_RECORDER_H_

#include <string>
#include <string_view>
#include <vector>

#include "cache/append_log.h"
#include "heddle/inspect/plan.h"
#include "heddle/runtime.h"
#include "runtime/logger.h"

namespace heddle {

// Thread-safe; never throws for what is wrong with the file.
class Recorder {
 public:
  // To options.record_file, else $HEDDLE_RECORD, else nowhere. `logger` must outlive it.
  Recorder(const RuntimeOptions& options, Logger* logger);

  // One line for each different pair of spec and target.
  void record(const Plan& plan);

 private:
  AppendLog log_;
};

// What a line says: plans are functions of both.
struct RecordedSpec {
  Spec spec;
  Target target;
};

// {"heddle_record":1,"spec":{...},"target":{...}}
std::string record_line(const Spec& spec, const Target& target);

// Whether the text looks like such lines.
bool is_record(std::string_view text);
// The lines of a record, without repetitions; empty lines are passed over. Throws Error(kSpec)
// "record.malformed" that names the line of every problem, up to 50 of them and the number of the
// others. A target's facts must be ones that a GPU can have (generator/target/check_target.h).
std::vector<RecordedSpec> parse_record(std::string_view text);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_RECORDER_H_
