// Read event by event: the index of a million tensors has 150 MB, and a tree of it would take many
// times that.
#include "checkpoint/files/shard_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "checkpoint/files/file.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = std::size_t{512} << 20;
constexpr std::size_t kMostDepth = 8;

// A shard lies beside its index: anything that could lead elsewhere is refused.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\\') == std::string::npos && name.find('\0') == std::string::npos;
}

// Takes the members of the root's member "weight_map"; the rest is skipped. A fault stops it.
class IndexReader final : public nlohmann::json_sax<Json> {
 public:
  std::vector<ShardEntry> take_entries() { return std::move(entries_); }
  const std::string& fault() const { return fault_; }
  bool has_map() const { return has_map_; }

  bool null() override { return other_value(); }
  bool boolean(bool /*value*/) override { return other_value(); }
  bool number_integer(std::int64_t /*value*/) override { return other_value(); }
  bool number_unsigned(std::uint64_t /*value*/) override { return other_value(); }
  bool number_float(double /*value*/, const std::string& /*text*/) override {
    return other_value();
  }
  bool binary(Json::binary_t& /*value*/) override { return false; }
  bool string(std::string& value) override {
    if (!in_map()) return other_value();
    if (!is_plain_name(value)) {
      return fail(
          fmt::format("the shard of tensor \"{}\" is not the name of a file beside the "
                      "index: \"{}\"",
                      excerpt(key_), excerpt(value)));
    }
    entries_.push_back({key_, std::move(value)});
    return true;
  }
  bool key(std::string& value) override {
    key_ = std::move(value);
    return true;
  }
  bool start_object(std::size_t /*size*/) override {
    const bool map = depth_ == 1 && key_ == "weight_map";
    if (map && std::exchange(has_map_, true)) return fail("weight_map is there twice");
    if (in_map()) return other_value();
    if (map) map_depth_ = depth_ + 1;
    return open();
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override {
    if (depth_ == 0 || in_map()) return other_value();
    return open();
  }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return fail(fmt::format("is not JSON at its byte {}", position));
  }

 private:
  bool in_map() const { return map_depth_ != 0 && depth_ == map_depth_; }
  bool fail(std::string why) {
    if (fault_.empty()) fault_ = std::move(why);
    return false;
  }
  bool other_value() {
    if (depth_ == 0) return fail("is not a JSON object");
    if (!in_map()) return true;
    return fail(fmt::format("the shard of tensor \"{}\" is not the name of a file beside the index",
                            excerpt(key_)));
  }
  bool open() {
    if (depth_ == kMostDepth) return fail("is nested too deeply");
    return ++depth_, true;
  }
  bool close() {
    if (in_map()) map_depth_ = 0;
    return --depth_, true;
  }

  std::vector<ShardEntry> entries_;
  std::string fault_;
  std::string key_;
  std::size_t depth_ = 0;
  std::size_t map_depth_ = 0;  // of the members of weight_map while it is open
  bool has_map_ = false;
};

[[noreturn]] void refuse_index(const std::string& path, const std::string& why) {
  throw Error(ErrorCategory::kFile, "checkpoint.index", fmt::format("{}: {}", path, why));
}

std::string read_text(const std::string& path) {
  const InputFile file(path);
  if (file.size() > kMostBytes) {
    refuse_index(path, fmt::format("is larger than {} MiB", kMostBytes >> 20));
  }
  std::string text(file.size(), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

void check_names(const std::string& path, const std::vector<ShardEntry>& entries) {
  std::vector<const std::string*> names;
  names.reserve(entries.size());
  for (const ShardEntry& entry : entries) names.push_back(&entry.tensor);
  std::sort(names.begin(), names.end(), [](const auto* a, const auto* b) { return *a < *b; });
  const auto twice = std::adjacent_find(names.begin(), names.end(),
                                        [](const auto* a, const auto* b) { return *a == *b; });
  if (twice == names.end()) return;
  refuse_index(path, fmt::format("weight_map has tensor \"{}\" twice", excerpt(**twice)));
}

}  // namespace

std::vector<ShardEntry> read_shard_index(const std::string& path) {
  const std::string text = read_text(path);
  if (text.find('\0') != text.npos) refuse_index(path, "has a NUL character, so it is not JSON");
  IndexReader reader;
  if (!Json::sax_parse(text.begin(), text.end(), &reader)) {
    refuse_index(path, reader.fault().empty() ? "is not JSON" : reader.fault());
  }
  if (!reader.has_map()) {
    refuse_index(
        path,
        "is no index of a checkpoint: it has no object \"weight_map\"; give the folder instead");
  }
  std::vector<ShardEntry> entries = reader.take_entries();
  check_names(path, entries);
  return entries;
}

}  // namespace heddle
