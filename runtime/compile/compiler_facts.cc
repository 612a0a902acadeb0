#include "runtime/compile/compiler_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace heddle {
namespace {

struct FirstCompiler {
  int arch;
  CompilerVersion version;
};

// What the releases' own nvrtcGetSupportedArchs() lists, of those from 12.0 up; `{12, 0}` stands
// for "all that Heddle takes".
constexpr FirstCompiler kFirstCompilers[] = {
    {75, {12, 0}}, {80, {12, 0}},  {86, {12, 0}},  {87, {12, 0}},  {88, {13, 0}},  {89, {12, 0}},
    {90, {12, 0}}, {100, {12, 8}}, {103, {12, 9}}, {110, {13, 0}}, {120, {12, 8}}, {121, {12, 9}},
};

// The number in "sm_90a"; nothing for other texts.
std::optional<int> number_of(std::string_view arch) {
  constexpr std::string_view kReal = "sm_";
  if (arch.substr(0, kReal.size()) != kReal) return std::nullopt;
  arch.remove_prefix(kReal.size());
  int number = 0;
  const auto [end, error] = std::from_chars(arch.data(), arch.data() + arch.size(), number);
  const std::string_view rest(end, static_cast<std::size_t>(arch.data() + arch.size() - end));
  if (error != std::errc{} || (!rest.empty() && rest != "a" && rest != "f")) return std::nullopt;
  return number;
}

}  // namespace

std::optional<CompilerVersion> first_compiler_of(int arch) {
  for (const FirstCompiler& first : kFirstCompilers) {
    if (first.arch == arch) return first.version;
  }
  return std::nullopt;
}

std::optional<std::string> why_not_compilable(const std::string& arch, CompilerVersion version,
                                              std::span<const int> has) {
  const std::optional<int> number = number_of(arch);
  if (!number || std::find(has.begin(), has.end(), *number) != has.end()) return std::nullopt;
  std::string text =
      fmt::format("NVRTC {}.{} cannot compile for {}", version.major, version.minor, arch);
  const auto first = first_compiler_of(*number);
  if (first && std::pair(version.major, version.minor) < std::pair(first->major, first->minor)) {
    return text + fmt::format(
                      "; NVRTC {}.{} is the first that can: install it or a newer one and "
                      "set HEDDLE_NVRTC to its folder",
                      first->major, first->minor);
  }
  return text + fmt::format("; it can for sm_{}", fmt::join(has, ", sm_"));
}

}  // namespace heddle
