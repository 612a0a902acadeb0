#include "tools/heddle/build/record_plans.h"

#include "heddle/runtime.h"
#include "runtime/logger.h"
#include "runtime/recorder.h"

namespace heddle {

void record_plans(const std::vector<const Plan*>& plans, const CompileOptions& options) {
  const RuntimeOptions runtime = runtime_options(options);
  Logger logger(runtime.log);
  Recorder recorder(runtime, &logger);
  for (const Plan* plan : plans) recorder.record(*plan);
}

}  // namespace heddle
