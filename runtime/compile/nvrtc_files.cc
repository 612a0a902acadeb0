#include "runtime/compile/nvrtc_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "cache/cache_roots.h"
#include "heddle/error.h"
#include "runtime/compile/elf_file.h"
#include "runtime/compile/loader_cache.h"

#ifndef HEDDLE_NVRTC_DIR
#define HEDDLE_NVRTC_DIR ""
#endif

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLibrary = "libnvrtc.so";
constexpr std::string_view kBuiltins = "libnvrtc-builtins.so.";
constexpr std::string_view kLoaderCache = "/etc/ld.so.cache";

// "13.0" is {13, 0}; nothing for a text that is not numbers between dots.
std::optional<std::vector<int>> parse_version(std::string_view text) {
  std::vector<int> parts;
  while (!text.empty()) {
    int part = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part);
    if (error != std::errc{}) return std::nullopt;
    parts.push_back(part);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != '.' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  return parts;
}

// The version behind "libnvrtc.so"; empty for the plain name.
std::optional<std::vector<int>> library_version(std::string_view name) {
  if (name.substr(0, kLibrary.size()) != kLibrary) return std::nullopt;
  name.remove_prefix(kLibrary.size());
  if (name.empty()) return std::vector<int>{};
  if (name.front() != '.' || name.size() == 1) return std::nullopt;
  return parse_version(name.substr(1));
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  return names;
}

std::string library_in(const fs::path& folder) {
  for (const std::string& name : nvrtc_names(names_in(folder))) {
    std::error_code error;
    if (fs::is_regular_file(folder / name, error)) return (folder / name).string();
  }
  return {};
}

// Parts of a list that colons separate, without the empty ones.
std::vector<std::string> split_path_list(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    if (end > 0) parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

std::string library_in_loader_cache() {
  std::ifstream file{std::string(kLoaderCache), std::ios::binary};
  const std::string cache(std::istreambuf_iterator<char>(file), {});
  std::vector<std::string> paths = paths_in_loader_cache(cache, kLibrary);
  std::erase_if(paths, [](const std::string& path) {
    std::error_code error;
    return !library_version(fs::path(path).filename().string()) ||
           !fs::is_regular_file(path, error);
  });
  const auto version = [](const std::string& path) {
    return *library_version(fs::path(path).filename().string());
  };
  const auto best = std::max_element(
      paths.begin(), paths.end(),
      [&](const std::string& a, const std::string& b) { return version(a) < version(b); });
  return best == paths.end() ? std::string{} : *best;
}

std::vector<std::string> toolkit_folders() {
  std::vector<std::pair<std::vector<int>, std::string>> versioned;
  for (const std::string& name : names_in("/usr/local")) {
    if (name.rfind("cuda-", 0) != 0) continue;
    if (const auto version = parse_version(std::string_view(name).substr(5))) {
      versioned.emplace_back(*version, "/usr/local/" + name + "/lib64");
    }
  }
  std::sort(versioned.rbegin(), versioned.rend());
  std::vector<std::string> folders = {"/usr/local/cuda/lib64"};
  for (const auto& [version, folder] : versioned) folders.push_back(folder);
  return folders;
}

[[noreturn]] void fail(const char* code, std::string message) {
  throw Error(ErrorCategory::kDriver, code, std::move(message));
}

std::string library_from_environment(const std::string& value) {
  std::error_code error;
  if (fs::is_regular_file(value, error)) return value;
  std::string found = fs::is_directory(value, error) ? library_in(value) : std::string{};
  if (found.empty()) {
    fail("nvrtc.environment",
         fmt::format("HEDDLE_NVRTC is \"{}\", which is neither libnvrtc nor a folder that "
                     "holds it; nothing else was tried",
                     value));
  }
  return found;
}

std::string find_library(const std::string& last_folder) {
  if (const char* value = process_environment("HEDDLE_NVRTC"); value != nullptr && *value != '\0') {
    return library_from_environment(value);
  }
  std::vector<std::string> tried;
  const auto try_folder = [&tried](const std::string& folder) {
    tried.push_back(folder);
    return library_in(folder);
  };
  std::vector<std::string> loader_folders;
  if (const char* list = process_environment("LD_LIBRARY_PATH"))
    loader_folders = split_path_list(list);
  for (const std::string& folder : loader_folders) {
    if (std::string found = try_folder(folder); !found.empty()) return found;
  }
  tried.emplace_back(kLoaderCache);
  if (std::string found = library_in_loader_cache(); !found.empty()) return found;
  std::vector<std::string> folders = {"/lib64", "/usr/lib64", "/usr/lib"};
  if (*HEDDLE_NVRTC_DIR != '\0') folders.emplace_back(HEDDLE_NVRTC_DIR);
  for (std::string& folder : toolkit_folders()) folders.push_back(std::move(folder));
  if (!last_folder.empty()) folders.push_back(last_folder);
  for (const std::string& folder : folders) {
    if (std::string found = try_folder(folder); !found.empty()) return found;
  }
  fail("nvrtc.missing",
       fmt::format("libnvrtc, CUDA's run-time compiler, was not found; tried {}. Install "
                   "it or set HEDDLE_NVRTC to the file or its folder",
                   fmt::join(tried, ", ")));
}

// The library opens "libnvrtc-builtins.so.<major>.<minor>", which tells its version. Where several
// lie beside it, only the opened library could tell which one is its own.
void find_builtins(NvrtcFiles& files) {
  std::error_code error;
  const fs::path real = fs::canonical(files.library, error);
  const fs::path folder = (error ? fs::path(files.library) : real).parent_path();
  const auto own = library_version(fs::path(files.library).filename().string());
  for (const std::string& name : names_in(folder)) {
    if (name.rfind(kBuiltins, 0) != 0) continue;
    const auto version = parse_version(std::string_view(name).substr(kBuiltins.size()));
    if (!version || version->size() != 2) continue;
    if (own && !own->empty() && own->front() != version->front()) continue;
    if (!files.builtins.empty()) {
      files.builtins.clear();
      files.major = files.minor = 0;
      return;
    }
    files.builtins = (folder / name).string();
    files.major = (*version)[0];
    files.minor = (*version)[1];
  }
}

}  // namespace

std::string NvrtcFiles::identity() const {
  return fmt::format("nvrtc {}.{} {} builtins {}", major, minor, library_build_id,
                     builtins_build_id.empty() ? "unknown" : builtins_build_id);
}

std::vector<std::string> nvrtc_names(const std::vector<std::string>& names) {
  std::vector<std::pair<std::vector<int>, std::string>> found;
  for (const std::string& name : names) {
    if (auto version = library_version(name)) found.emplace_back(std::move(*version), name);
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> sorted;
  sorted.reserve(found.size());
  for (auto& [version, name] : found) sorted.push_back(std::move(name));
  return sorted;
}

NvrtcFiles find_nvrtc(const std::string& last_folder) {
  NvrtcFiles files;
  files.library = find_library(last_folder);
  files.library_build_id = read_file_identity(files.library);
  if (files.library_build_id.empty()) {
    fail("nvrtc.unreadable",
         fmt::format("\"{}\" is not a usable libnvrtc: it is no 64-bit ELF file", files.library));
  }
  find_builtins(files);
  if (!files.builtins.empty()) files.builtins_build_id = read_file_identity(files.builtins);
  return files;
}

}  // namespace heddle
