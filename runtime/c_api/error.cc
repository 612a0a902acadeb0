// The errors of the C API: the last one of each thread.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "heddle/version.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/structs.h"

namespace heddle::c_api {

struct LastError {
  heddle_status status = HEDDLE_OK;
  std::string code;
  std::string message;
  std::string log;
  std::vector<Problem> problems;
  std::string json;  // once it was asked for
};

namespace {

LastError& last_error() {
  thread_local LastError error;
  return error;
}

heddle_status status_of(ErrorCategory category) {
  switch (category) {
    case ErrorCategory::kSpec:
      return HEDDLE_ERROR_SPEC;
    case ErrorCategory::kUnsupported:
      return HEDDLE_ERROR_UNSUPPORTED;
    case ErrorCategory::kUsage:
      return HEDDLE_ERROR_USAGE;
    case ErrorCategory::kFile:
      return HEDDLE_ERROR_FILE;
    case ErrorCategory::kCompile:
      return HEDDLE_ERROR_COMPILE;
    case ErrorCategory::kDriver:
      return HEDDLE_ERROR_DRIVER;
    case ErrorCategory::kMissing:
      return HEDDLE_ERROR_MISSING;
    case ErrorCategory::kCancelled:
      return HEDDLE_ERROR_CANCELLED;
    case ErrorCategory::kInternal:
      break;
  }
  return HEDDLE_ERROR_INTERNAL;
}

// Short texts need no memory: what is left if there is none for the whole.
heddle_status keep_texts(heddle_status status, const char* code, const char* message,
                         const char* log, const std::vector<Problem>& problems = {}) noexcept {
  LastError& last = last_error();
  try {
    last = {status, code, message, log, problems, ""};
  } catch (...) {
    last.status = status;
    last.code.clear();
    last.message.clear();
    last.log.clear();
    last.problems.clear();
    last.json.clear();
  }
  return status;
}

std::string error_json(const LastError& error) {
  auto problems = nlohmann::ordered_json::array();
  for (const Problem& problem : error.problems) {
    nlohmann::ordered_json one{{"message", problem.message}};
    if (!problem.pointer.empty()) one["pointer"] = problem.pointer;
    if (!problem.value.empty()) one["value"] = problem.value;
    if (!problem.allowed.empty()) one["allowed"] = problem.allowed;
    if (!problem.hint.empty()) one["hint"] = problem.hint;
    problems.push_back(std::move(one));
  }
  const nlohmann::ordered_json json{{"status", heddle_status_name(error.status)},
                                    {"code", error.code},
                                    {"message", error.message},
                                    {"log", error.log},
                                    {"problems", std::move(problems)}};
  // Messages may quote bytes of the caller's that are no UTF-8.
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

heddle_status keep(const Error& error) noexcept {
  return keep_texts(status_of(error.category()), error.code().c_str(), error.what(),
                    error.log().c_str(), error.problems());
}

heddle_status keep_out_of_memory() noexcept {
  return keep_texts(HEDDLE_ERROR_OUT_OF_MEMORY, "memory", "out of memory", "");
}

heddle_status keep_unknown(const char* what) noexcept {
  return keep_texts(HEDDLE_ERROR_INTERNAL, "internal", what, "");
}

void keep_message(const std::string& message) noexcept {
  keep_texts(HEDDLE_OK, "", message.c_str(), "");
}

void refuse(const char* code, const std::string& message) {
  throw Error(ErrorCategory::kUsage, code, message);
}

void need(const void* pointer, const char* name) {
  if (pointer == nullptr) refuse("api.null", fmt::format("{} is null", name));
}

void need_index(std::size_t index, std::size_t count, const char* name) {
  if (index < count) return;
  refuse("api.index", count == 0
                          ? fmt::format("{} is {}, but there are none", name, index)
                          : fmt::format("{} is {}; allowed: 0 to {}", name, index, count - 1));
}

void need_count(std::size_t count, const char* name) {
  constexpr std::size_t kMostElements = std::size_t{1} << 20;
  if (count <= kMostElements) return;
  refuse("api.count", fmt::format("{} is {}; allowed: up to {}", name, count, kMostElements));
}

void need_struct_size(std::size_t given, std::size_t first, const char* name) {
  if (given >= first && given <= HEDDLE_MAX_STRUCT_SIZE) return;
  refuse("api.struct_size", fmt::format("struct_size of {} is {}; allowed: {} to {}", name, given,
                                        first, HEDDLE_MAX_STRUCT_SIZE));
}

void need_zeros(const void* from, std::size_t known, std::size_t given, const char* name) {
  const auto* bytes = static_cast<const unsigned char*>(from);
  for (std::size_t i = known; i < given; ++i) {
    if (bytes[i] == 0) continue;
    refuse("api.struct_size",
           fmt::format("byte {} of {} is not zero, but heddle {} knows {} bytes: the header of the "
                       "caller is newer, and it asks for what this library does not do",
                       i, name, HEDDLE_VERSION, known));
  }
}

std::string_view view(const char* data, std::size_t length) {
  if (data == nullptr && length > 0) refuse("api.null", "a text is null but has a length");
  // No spec and no path is nearly as long, and a length that was computed wrongly is much longer.
  constexpr std::size_t kLongestText = std::size_t{64} << 20;
  if (length > kLongestText) {
    refuse("api.text_size",
           fmt::format("a text has a length of {}; allowed: up to {} bytes", length, kLongestText));
  }
  return length == 0 ? std::string_view() : std::string_view(data, length);
}

std::string path_of(std::string_view text, const char* name) {
  if (text.find('\0') != text.npos) refuse("api.path", fmt::format("{} has a zero in it", name));
  return std::string(text);
}

void fill(const std::string& from, char* text, std::size_t capacity, std::size_t* length) {
  need(length, "length");
  if (capacity > 0) need(text, "text");
  *length = from.size();
  std::copy_n(from.data(), std::min(capacity, from.size()), text);
}

}  // namespace heddle::c_api

using heddle::c_api::last_error;

const char* heddle_status_name(heddle_status status) {
  static const char* const names[] = {"ok",      "spec",      "unsupported",  "usage",
                                      "file",    "compile",   "driver",       "internal",
                                      "missing", "cancelled", "out of memory"};
  return status >= HEDDLE_OK && status <= HEDDLE_ERROR_OUT_OF_MEMORY ? names[status] : "unknown";
}

const char* heddle_version(void) { return HEDDLE_VERSION; }

const char* heddle_error_code(void) { return last_error().code.c_str(); }
const char* heddle_error_message(void) { return last_error().message.c_str(); }
const char* heddle_error_log(void) { return last_error().log.c_str(); }

const char* heddle_error_json(void) {
  heddle::c_api::LastError& last = heddle::c_api::last_error();
  // Short texts need no memory: what is left if there is none for the whole.
  try {
    if (last.json.empty()) last.json = heddle::c_api::error_json(last);
  } catch (...) {
    return "{}";
  }
  return last.json.c_str();
}
