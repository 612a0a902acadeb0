#include "generator/target/target_json.h"

#include <nlohmann/json.hpp>

namespace heddle {
namespace {

// Calls visit(name, member) for each fact.
template <class SomeTarget, class Visit>
void for_each_fact(SomeTarget& target, const Visit& visit) {
  visit("sm_count", target.sm_count);
  visit("shared_per_block", target.shared_per_block);
  visit("shared_per_sm", target.shared_per_sm);
  visit("registers_per_sm", target.registers_per_sm);
  visit("threads_per_sm", target.threads_per_sm);
  visit("l2_bytes", target.l2_bytes);
  visit("memory_gb_per_s", target.memory_gb_per_s);
}

}  // namespace

void add_target_facts(const Target& target, nlohmann::ordered_json* object) {
  for_each_fact(target, [&](const char* name, const auto& fact) { (*object)[name] = fact; });
}

void read_target_facts(const nlohmann::json& object, Target* target) {
  for_each_fact(*target, [&](const char* name, auto& fact) { object.at(name).get_to(fact); });
}

}  // namespace heddle
