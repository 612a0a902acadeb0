#include "runtime/elf_file.h"

#include <elf.h>
#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

namespace heddle {
namespace {

constexpr std::size_t kMaxNoteBytes = 1 << 16;
constexpr int kMaxHeaders = 256;

template <typename T>
std::optional<T> read_at(std::ifstream& file, std::uint64_t offset) {
  T value{};
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(&value), sizeof value);
  return file ? std::optional<T>(value) : std::nullopt;
}

std::string hex(const unsigned char* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

// Notes are (name size, description size, type, name, description), each part padded to 4 bytes.
std::string build_id_of_notes(const std::vector<unsigned char>& notes) {
  const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
  std::uint64_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
    Elf64_Nhdr header;
    std::memcpy(&header, notes.data() + at, sizeof header);
    const std::uint64_t name = at + sizeof header;
    const std::uint64_t description = name + padded(header.n_namesz);
    if (description + header.n_descsz > notes.size()) break;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        std::memcmp(notes.data() + name, ELF_NOTE_GNU, 4) == 0) {
      return hex(notes.data() + description, header.n_descsz);
    }
    at = description + padded(header.n_descsz);
  }
  return {};
}

}  // namespace

std::string read_build_id(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr)) {
    return {};
  }
  for (int i = 0; i < header->e_phnum && i < kMaxHeaders; ++i) {
    const auto segment = read_at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return {};
    if (segment->p_type != PT_NOTE || segment->p_filesz > kMaxNoteBytes) continue;
    std::vector<unsigned char> notes(segment->p_filesz);
    file.seekg(static_cast<std::streamoff>(segment->p_offset));
    file.read(reinterpret_cast<char*>(notes.data()), static_cast<std::streamsize>(notes.size()));
    if (!file) return {};
    std::string id = build_id_of_notes(notes);
    if (!id.empty()) return id;
  }
  return {};
}

}  // namespace heddle
