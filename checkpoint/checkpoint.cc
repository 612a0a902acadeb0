#include "checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr const char* kFileName = "model.safetensors";
constexpr DocumentLimits kIndexLimits{.bytes = std::size_t{32} << 20, .depth = 8};

[[noreturn]] void refuse(const char* code, const std::string& message) {
  throw Error(ErrorCategory::kFile, code, message);
}

std::string index_in(const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(folder / kIndexName, ignored)) return folder / kIndexName;
  if (fs::exists(folder / kFileName, ignored)) return folder / kFileName;
  refuse("checkpoint.open",
         fmt::format("{} has neither {} nor {}", folder.string(), kIndexName, kFileName));
}

std::string read_text(const std::string& path) {
  const InputFile file(path);
  if (file.size() > kIndexLimits.bytes) {
    refuse("checkpoint.index",
           fmt::format("{} is larger than {} MiB", path, kIndexLimits.bytes >> 20));
  }
  std::string text(file.size(), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

// A shard lies beside its index: anything that could lead elsewhere is refused.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\\') == std::string::npos && name.find('\0') == std::string::npos;
}

}  // namespace

Checkpoint::Checkpoint(const std::string& path) {
  std::error_code ignored;
  const std::string file = fs::is_directory(path, ignored) ? index_in(path) : path;
  if (fs::path(file).extension() == ".json") {
    open_index(file);
  } else {
    add_file(file);
  }
}

void Checkpoint::add_file(const std::string& path) {
  const SafetensorsFile& file = *files_.emplace_back(std::make_unique<SafetensorsFile>(path));
  for (const TensorInfo& tensor : file.header().tensors) {
    const auto [place, is_new] = tensors_.try_emplace(tensor.name, Entry{&file, &tensor});
    if (!is_new) {
      refuse("checkpoint.index",
             fmt::format("tensor \"{}\" is in {} and in {}", excerpt(tensor.name),
                         place->second.file->path(), path));
    }
  }
}

void Checkpoint::open_index(const std::string& path) {
  index_ = path;
  Findings findings("checkpoint");
  const std::string text = read_text(path);
  const std::optional<Node> root = read_document(text, kIndexLimits, findings);
  if (!root || !findings.empty()) {
    refuse("checkpoint.index", path + " is not strict JSON (a syntax error or a duplicate name)");
  }
  const Node* map = root->find("weight_map");
  if (map == nullptr || map->kind != Node::Kind::kObject) {
    refuse("checkpoint.index", path + " has no object \"weight_map\"");
  }
  std::set<std::string> shards;
  for (std::size_t i = 0; i < map->items.size(); ++i) {
    const Node& shard = map->items[i];
    if (shard.kind != Node::Kind::kString || !is_plain_name(shard.text)) {
      refuse("checkpoint.index",
             fmt::format("{}: the shard of tensor \"{}\" is not the name of a file beside the "
                         "index: {}",
                         path, excerpt(map->keys[i]), excerpt(shard)));
    }
    shards.insert(shard.text);
  }
  const fs::path folder = fs::path(path).parent_path();
  for (const std::string& shard : shards) add_file(folder / shard);
  for (std::size_t i = 0; i < map->items.size(); ++i) {
    const auto found = tensors_.find(map->keys[i]);
    const std::string want = folder / map->items[i].text;
    if (found == tensors_.end() || found->second.file->path() != want) {
      refuse("checkpoint.index",
             fmt::format("{}: tensor \"{}\" is not in {}", path, excerpt(map->keys[i]), want));
    }
  }
}

const TensorInfo* Checkpoint::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second.tensor;
}

const Checkpoint::Entry& Checkpoint::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    refuse("checkpoint.missing", fmt::format("the checkpoint has no tensor \"{}\"", excerpt(name)));
  }
  return found->second;
}

std::vector<std::uint8_t> Checkpoint::read(const std::string& name) const {
  const Entry& entry = at(name);
  std::vector<std::uint8_t> bytes(entry.tensor->bytes);
  entry.file->read(*entry.tensor, 0, bytes.data(), bytes.size());
  return bytes;
}

bool Checkpoint::is_of(const std::string& path) const {
  std::error_code none;  // a path that is not there is no file of it
  if (!index_.empty() && fs::equivalent(index_, path, none)) return true;
  return std::any_of(files_.begin(), files_.end(),
                     [&](const auto& file) { return fs::equivalent(file->path(), path, none); });
}

std::uint64_t Checkpoint::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [name, entry] : tensors_) sum += entry.tensor->bytes;
  return sum;
}

}  // namespace heddle
