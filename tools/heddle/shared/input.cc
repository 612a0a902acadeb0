#include "tools/heddle/shared/input.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "checkpoint/files/file.h"
#include "heddle/error.h"
#include "tools/heddle/shared/errors.h"

namespace heddle {
namespace {

// More than any model config; less than what would hurt the machine. An endless file stops here.
constexpr std::size_t kMaxInput = std::size_t{64} << 20;

Error unreadable(const std::string& place, const std::string& reason) {
  return {ErrorCategory::kFile, "tool.unreadable",
          fmt::format("cannot read {}: {}", place, reason)};
}

std::string error_text(int number) { return std::generic_category().message(number); }

std::string read_all(std::FILE* file, const std::string& place) {
  std::string text;
  std::array<char, 65536> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file)) {
    text.append(buffer.data(), count);
    if (text.size() > kMaxInput) {
      throw unreadable(place, fmt::format("it is larger than {} MiB", kMaxInput >> 20));
    }
  }
  // A directory can be opened, but not read.
  if (std::ferror(file) != 0) throw unreadable(place, error_text(errno));
  return text;
}

std::string read_file(const std::string& path) {
  struct Closer {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Closer> file(std::fopen(path.c_str(), "rbe"));
  if (file == nullptr) {
    const int reason = errno;
    throw unreadable(path, error_text(reason) + (reason == ENOENT ? hub_hint(path) : ""));
  }
  return read_all(file.get(), path);
}

// Each of its fields would be one that no spec knows.
bool is_model_config(std::string_view text) {
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  return document.is_object() && document.contains("model_type") && !document.contains("heddle");
}

Input read_any(const std::string& argument) {
  if (argument == "-") return {"standard input", read_all(stdin, "standard input")};
  const std::size_t first = argument.find_first_not_of(" \t\r\n");
  const char start = first == std::string::npos ? '\0' : argument[first];
  // A file may have a name that begins like a list.
  std::error_code ignored;
  if (start == '{' || (start == '[' && !std::filesystem::exists(argument, ignored))) {
    return {"inline spec", argument};
  }
  return {argument, read_file(argument)};
}

}  // namespace

Input read_input(const std::string& argument) {
  Input input = read_any(argument);
  // JSON parsers take a NUL byte for the end of the text and pass over what follows.
  if (const std::size_t nul = input.text.find('\0'); nul != std::string::npos) {
    throw Error(ErrorCategory::kSpec, "tool.not_text",
                fmt::format("{}: not JSON: byte {} is a NUL", input.place, nul + 1));
  }
  return input;
}

Spec read_spec(const std::string& argument) {
  const Input input = read_input(argument);
  if (is_model_config(input.text)) {
    throw Error(ErrorCategory::kSpec, "tool.not_a_spec",
                fmt::format("{}: this is a model's config.json, which heddle build takes; "
                            "heddle build FILE --print-specs prints the specs in it",
                            input.place));
  }
  try {
    return Spec::parse(input.text);
  } catch (const Error& error) {
    throw at_place(input.place, error);
  }
}

}  // namespace heddle
