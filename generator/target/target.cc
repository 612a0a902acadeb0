#include "heddle/target.h"

#include <utility>

#include "generator/spec/near_miss.h"
#include "generator/target/facts.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr int kFirstWithOwnFeatures = 90;  // sm_90 has sm_90a

const ArchitectureFacts& facts_of(int arch) {
  for (const ArchitectureFacts& facts : architecture_facts()) {
    if (facts.arch == arch) return facts;
  }
  throw Error(ErrorCategory::kInternal, "target.table", "a device's architecture is not known");
}

Target make_target(std::string name, const ArchitectureFacts& arch, const DeviceFacts& device) {
  constexpr int kKib = 1024;
  Target target;
  target.name = std::move(name);
  target.major = arch.arch / 10;
  target.minor = arch.arch % 10;
  target.sm_count = device.sm_count;
  target.shared_per_block = (arch.shared_per_sm - arch.shared_reserved) * kKib;
  target.shared_per_sm = arch.shared_per_sm * kKib;
  target.threads_per_sm = arch.threads_per_sm;
  target.l2_bytes = l2_bytes_of(device);
  target.memory_gb_per_s = device.memory_gb_per_s;
  target.sm_mhz = device.sm_mhz;
  target.tensor_tflops = device.tensor_tflops;
  target.launch_us = device.launch_us;
  return target;
}

Target architecture_target(const ArchitectureFacts& arch) {
  for (const DeviceFacts& device : device_facts()) {
    if (device.name != arch.device) continue;
    Target target = make_target("sm_" + std::to_string(arch.arch), arch, device);
    target.tensor_tflops = target.launch_us = 0;  // were measured on that device alone
    return target;
  }
  throw Error(ErrorCategory::kInternal, "target.table", "an architecture's device is not known");
}

std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == ' ') continue;
    text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

bool is_named(const Target& target, std::string_view wanted) {
  const std::string name = plain(target.name);
  if (name == wanted) return true;
  return target.arch() >= kFirstWithOwnFeatures && name.starts_with("sm") && name + 'a' == wanted;
}

std::string shown(std::string_view name) {
  constexpr std::size_t kLongest = 60;
  std::string text = "\"";
  for (const char c : name.substr(0, kLongest)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (name.size() > kLongest ? "...\"" : "\"");
}

[[noreturn]] void throw_unknown(std::string_view name, const std::vector<Target>& targets) {
  std::string allowed;
  std::vector<std::string_view> names;
  for (const Target& target : targets) {
    allowed += (allowed.empty() ? "" : ", ") + target.name;
    names.push_back(target.name);
  }
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) hint = "a GPU that is not listed is named by its architecture, as sm_90";
  throw Error(ErrorCategory::kUsage, "target.unknown",
              std::vector<Problem>{
                  {"", "the target is unknown", shown(name), std::move(allowed), std::move(hint)}});
}

}  // namespace

const DeviceFacts* facts_of_device(std::string_view driver_name) {
  // "NVIDIA H200", "Tesla T4", "NVIDIA GeForce RTX 4090".
  for (const std::string_view brand : {"NVIDIA ", "Tesla ", "GeForce "}) {
    if (driver_name.starts_with(brand)) driver_name.remove_prefix(brand.size());
  }
  const std::string wanted = plain(driver_name);
  for (const DeviceFacts& device : device_facts()) {
    const bool has_another = !device.driver_name.empty();
    if (plain(has_another ? device.driver_name : device.name) == wanted) return &device;
  }
  return nullptr;
}

std::string compiler_arch(const Target& target) {
  std::string arch = "sm_" + std::to_string(target.arch());
  if (target.arch() >= kFirstWithOwnFeatures) arch += 'a';
  return arch;
}

std::vector<Target> known_targets() {
  std::vector<Target> targets;
  for (const DeviceFacts& device : device_facts()) {
    targets.push_back(make_target(std::string(device.name), facts_of(device.arch), device));
  }
  for (const ArchitectureFacts& arch : architecture_facts()) {
    targets.push_back(architecture_target(arch));
  }
  return targets;
}

Target target_from_name(std::string_view name) {
  const std::vector<Target> targets = known_targets();
  const std::string wanted = plain(name);
  for (const Target& target : targets) {
    if (is_named(target, wanted)) return target;
  }
  throw_unknown(name, targets);
}

}  // namespace heddle
