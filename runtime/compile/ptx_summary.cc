#include "runtime/compile/ptx_summary.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

namespace heddle {
namespace {

constexpr std::array kKinds = {"lop3",     "prmt",   "mma",    "wgmma",   "ldmatrix",
                               "cp.async", "sub.x2", "fma.x2", "barrier", "cp.async.bulk"};

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return text;
}

// The text without comments: "//" to the end of the line, and "/* */".
std::string without_comments(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t slash = text.find('/');
    if (slash == text.npos || slash + 1 == text.size()) break;
    result.append(text.substr(0, slash));
    text.remove_prefix(slash);
    std::size_t end = 1;
    if (text[1] == '/') {
      end = std::min(text.find('\n'), text.size());
    } else if (text[1] == '*') {
      end = std::min(text.find("*/", 2), text.size() - 2) + 2;
    } else {
      result += '/';
    }
    text.remove_prefix(end);
  }
  return result.append(text);
}

// The opcode of a statement ("lop3.b32"), without labels, braces and the predicate; "" for a
// directive, a label or nothing.
std::string_view opcode_of(std::string_view statement) {
  std::string_view rest = trim(statement);
  while (!rest.empty() && (rest.front() == '{' || rest.front() == '}')) {
    rest = trim(rest.substr(1));
  }
  if (!rest.empty() && (rest.front() == '$' || rest.front() == '_')) {
    const std::size_t colon = rest.find(':');
    rest = colon == rest.npos ? std::string_view{} : trim(rest.substr(colon + 1));
  }
  if (!rest.empty() && rest.front() == '@') {
    const std::size_t space = rest.find_first_of(" \t");
    rest = space == rest.npos ? std::string_view{} : trim(rest.substr(space));
  }
  const std::size_t end = rest.find_first_of(" \t\n,;({[");
  rest = rest.substr(0, end);
  if (rest.empty() || !std::islower(static_cast<unsigned char>(rest.front()))) return {};
  return rest;
}

std::vector<std::string_view> split_dots(std::string_view opcode) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t dot = opcode.find('.');
    parts.push_back(opcode.substr(0, dot));
    if (dot == opcode.npos) return parts;
    opcode.remove_prefix(dot + 1);
  }
}

// Bits of a PTX type such as "u32", "b128" or "f16x2"; 0 for what is none.
int type_bits(std::string_view type) {
  static constexpr std::array<std::string_view, 5> kPrefixes = {"bf", "b", "u", "s", "f"};
  const auto prefix = std::find_if(kPrefixes.begin(), kPrefixes.end(), [&](std::string_view p) {
    return type.substr(0, p.size()) == p;
  });
  if (prefix == kPrefixes.end()) return 0;
  type.remove_prefix(prefix->size());
  int bits = 0;
  while (!type.empty() && std::isdigit(static_cast<unsigned char>(type.front()))) {
    bits = 10 * bits + (type.front() - '0');
    type.remove_prefix(1);
  }
  return type == "x2" ? 2 * bits : bits;
}

bool has(const std::vector<std::string_view>& parts, std::string_view wanted) {
  return std::find(parts.begin(), parts.end(), wanted) != parts.end();
}

void count_memory(const std::vector<std::string_view>& parts, PtxSummary& summary) {
  std::string_view space = "generic";
  for (const char* known : {"global", "local", "param", "const"}) {
    if (has(parts, known)) space = known;
  }
  for (const std::string_view part : parts) {
    if (part.substr(0, 6) == "shared") space = "shared";  // "shared::cta", too
  }
  if (space == "param" || space == "const") return;
  int lanes = 1;
  for (const auto& [name, count] : {std::pair{"v2", 2}, {"v4", 4}, {"v8", 8}}) {
    if (has(parts, name)) lanes = count;
  }
  const int bits = lanes * type_bits(parts.back());
  ++summary.memory[std::string(parts[0]) + "." + std::string(space) + ".b" + std::to_string(bits)];
}

void count_kind(std::string_view opcode, const std::vector<std::string_view>& parts,
                PtxSummary& summary) {
  const std::string_view base = parts[0];
  const bool pair = has(parts, "f16x2") || has(parts, "bf16x2");
  if (base == "lop3" || base == "prmt" || base == "ldmatrix") {
    ++summary.counts[std::string(base)];
  } else if (base == "mma" || base == "wgmma") {
    if (base == "mma" || has(parts, "mma_async")) ++summary.counts[std::string(base)];
  } else if (opcode.substr(0, 13) == "cp.async.bulk") {
    if (!has(parts, "commit_group") && !has(parts, "wait_group")) ++summary.counts["cp.async.bulk"];
  } else if (opcode.substr(0, 8) == "cp.async") {
    if (has(parts, "shared") || has(parts, "shared::cta")) ++summary.counts["cp.async"];
  } else if (pair && (base == "sub" || base == "fma")) {
    ++summary.counts[std::string(base) + ".x2"];
  } else if (base == "bar" || base == "barrier") {
    ++summary.counts["barrier"];
  }
  if (base == "ld" || base == "st") count_memory(parts, summary);
}

}  // namespace

PtxSummary summarize_ptx(std::string_view ptx) {
  PtxSummary summary;
  for (const char* kind : kKinds) summary.counts[kind] = 0;
  const std::string text = without_comments(ptx);
  std::string_view rest = text;
  while (!rest.empty()) {
    // Statements end with ';'. Labels and directives without one are skipped line by line.
    const std::size_t end = std::min(rest.find_first_of(";\n"), rest.size());
    const std::string_view opcode = opcode_of(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (opcode.empty()) continue;
    ++summary.instructions;
    count_kind(opcode, split_dots(opcode), summary);
  }
  return summary;
}

}  // namespace heddle
