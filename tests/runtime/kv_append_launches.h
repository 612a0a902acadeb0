// Launches of kv_append for its tests.
#ifndef HEDDLE_TESTS_RUNTIME_KV_APPEND_LAUNCHES_H_
#define HEDDLE_TESTS_RUNTIME_KV_APPEND_LAUNCHES_H_

#include <string>

#include "runtime/launch/kv_append_launch.h"
#include "tests/runtime/launch/launch_refusals.h"

namespace heddle {

// `kv`: the members of the object "kv"; `more`: further ones of the spec, each after a comma.
inline Plan kv_append_plan(const std::string& kv, const std::string& more = "") {
  Plan plan;
  plan.spec = Spec::parse(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":8,"head_dim":128},)"
                          R"("activation":{"dtype":"fp16"},"kv":{)" +
                          kv + "}" + more + "}");
  return plan;
}

// Four tokens; the cache has stored scales.
inline KvAppendArgs kv_append_args() {
  auto args = args_with_cache<KvAppendArgs>();
  args.k = memory(0x1000);
  args.v = memory(0x2000);
  args.tokens = 4;
  return args;
}

inline KernelLaunch kv_append_launch(const Plan& plan, const KvAppendArgs& args) {
  return plan.launch(0, kv_append_size(args));
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_RUNTIME_KV_APPEND_LAUNCHES_H_
