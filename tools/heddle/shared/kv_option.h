// --kv: the kv block of a spec, in short.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_KV_OPTION_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_KV_OPTION_H_

#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace heddle {

void add_kv_option(CLI::App& command, std::string* kv);

// JSON of a kv block from "int8", "int8:head", "int4:group:64", "int8:head,int4:group:64" (K, then
// V), from the JSON itself or from a file with the block or with a spec that has one. What the
// words mean is for Spec to judge. Throws Error(kUsage, "tool.kv") for what is none of these, and
// what read_input() throws.
std::string kv_block(const std::string& argument);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_KV_OPTION_H_
