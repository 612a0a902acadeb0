#include "checkpoint/files/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "checkpoint/files/shard_index.h"
#include "checkpoint/files/unread_file.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr std::string_view kFileName = "model.safetensors";
constexpr std::string_view kExtension = ".safetensors";

[[noreturn]] void refuse(const char* code, const std::string& message) {
  throw Error(ErrorCategory::kFile, code, message);
}

// The index or the file of that name; else all safetensors files, whatever they are called.
std::vector<std::string> files_in(const fs::path& folder) {
  std::error_code none;
  for (const std::string_view name : {kIndexName, kFileName}) {
    if (fs::exists(folder / name, none)) return {folder / name};
  }
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().extension() == kExtension) files.push_back(entry.path());
  }
  if (files.empty()) {
    if (const auto unread = unread_file_in(folder.string())) refuse_unread(*unread);
    refuse("checkpoint.open",
           fmt::format("the directory {} has neither {} nor another safetensors file",
                       excerpt(folder.string()), kIndexName));
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Of several: "model-00002-of-00005.safetensors".
bool is_name_of_shard(const std::string& file) {
  const std::string stem = fs::path(file).stem();
  const std::size_t of = stem.rfind("-of-");
  if (of == stem.npos) return false;
  const std::string count = stem.substr(of + 4);
  const bool is_number = !count.empty() && count.find_first_not_of("0123456789") == count.npos;
  return is_number && count.find_first_not_of('0') != count.npos &&
         count.substr(count.find_first_not_of('0')) != "1";
}

}  // namespace

Checkpoint::Checkpoint(const std::string& path) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  const std::vector<std::string> files =
      is_folder ? files_in(path) : std::vector<std::string>{path};
  is_one_shard_ = !is_folder && is_name_of_shard(path);
  for (const std::string& file : files) {
    if (fs::path(file).extension() == ".json" && !has_safetensors_header(file)) {
      open_index(file);
    } else {
      add_file(file);
    }
  }
}

bool Checkpoint::is_in(const std::string& folder) {
  std::error_code none;
  if (fs::exists(fs::path(folder) / kIndexName, none)) return true;
  return std::any_of(fs::directory_iterator(folder, none), fs::directory_iterator(),
                     [](const auto& entry) { return entry.path().extension() == kExtension; });
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
  const std::vector<ShardEntry> entries = read_shard_index(path);
  std::set<std::string> shards;
  for (const ShardEntry& entry : entries) shards.insert(entry.shard);
  const fs::path folder = fs::path(path).parent_path();
  for (const std::string& shard : shards) add_file(folder / shard);
  for (const ShardEntry& entry : entries) {
    const auto found = tensors_.find(entry.tensor);
    if (found == tensors_.end() || fs::path(found->second.file->path()).filename() != entry.shard) {
      refuse("checkpoint.index",
             fmt::format("{}: tensor \"{}\" is not in {}", path, excerpt(entry.tensor),
                         (folder / entry.shard).string()));
    }
  }
  if (entries.size() == tensors_.size()) return;
  std::set<std::string> named;
  for (const ShardEntry& entry : entries) named.insert(entry.tensor);
  for (const auto& [name, entry] : tensors_) {
    if (named.count(name) != 0) continue;
    refuse("checkpoint.index", fmt::format("{}: weight_map does not name the tensor \"{}\" of {}",
                                           path, excerpt(name), entry.file->path()));
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
