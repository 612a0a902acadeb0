#include "runtime/compile/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include "cache/digest.h"
#include "cache/file_system.h"

namespace heddle {
namespace {

constexpr std::size_t kMaxNoteBytes = 1 << 16;
constexpr int kMaxHeaders = 256;
constexpr std::size_t kMaxIdBytes = 64;  // a SHA-1 has 20

template <typename T>
std::optional<T> read_at(std::ifstream& file, std::uint64_t offset) {
  T value{};
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(&value), sizeof value);
  return file ? std::optional<T>(value) : std::nullopt;
}

std::string hex_text(const unsigned char* bytes, std::size_t count) {
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
        header.n_descsz <= kMaxIdBytes && std::memcmp(notes.data() + name, ELF_NOTE_GNU, 4) == 0) {
      return hex_text(notes.data() + description, header.n_descsz);
    }
    at = description + padded(header.n_descsz);
  }
  return {};
}

// The build-id among `size` bytes of notes at `offset`; "" if there are no notes there.
std::string build_id_at(std::ifstream& file, std::uint64_t offset, std::uint64_t size) {
  if (size > kMaxNoteBytes) return {};
  std::vector<unsigned char> notes(size);
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(notes.data()), static_cast<std::streamsize>(notes.size()));
  return file ? build_id_of_notes(notes) : std::string{};
}

std::optional<Elf64_Ehdr> read_header(std::ifstream& file) {
  auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64) {
    return std::nullopt;
  }
  return header;
}

// By the program headers, which is where the loader finds notes.
std::string build_id_of_segments(std::ifstream& file, const Elf64_Ehdr& header) {
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return {};
  for (int i = 0; i < header.e_phnum && i < kMaxHeaders; ++i) {
    const auto segment = read_at<Elf64_Phdr>(file, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return {};
    if (segment->p_type != PT_NOTE) continue;
    std::string id = build_id_at(file, segment->p_offset, segment->p_filesz);
    if (!id.empty()) return id;
  }
  return {};
}

// By the section headers. In the libnvrtc of the wheels of 12.0 to 12.8 the note was moved after
// linking: its section header says where to, and its program header still says where it was.
std::string build_id_of_sections(std::ifstream& file, const Elf64_Ehdr& header) {
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return {};
  for (int i = 0; i < header.e_shnum && i < kMaxHeaders; ++i) {
    const auto section = read_at<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return {};
    if (section->sh_type != SHT_NOTE) continue;
    std::string id = build_id_at(file, section->sh_offset, section->sh_size);
    if (!id.empty()) return id;
  }
  return {};
}

// The processor that this process runs on, as ELF files name it; EM_NONE where it is not known
// here.
constexpr int own_machine() {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#else
  return EM_NONE;
#endif
}

// The system's reason; "" where the file can be read.
std::string why_unreadable(const std::string& path) {
  FileSystem& files = posix_file_system();
  const int flags = O_RDONLY | O_CLOEXEC;
  const Fd fd(&files, retry_interrupted([&] { return files.open(AT_FDCWD, path, flags, 0); }));
  if (!fd) return error_text(fd.error());
  char first = 0;
  const ssize_t got = retry_interrupted([&] { return files.read(fd.get(), &first, 1, 0); });
  return got < 0 ? error_text(static_cast<int>(-got)) : "";
}

}  // namespace

std::string why_not_loadable(const std::string& path) {
  const std::string unreadable = why_unreadable(path);
  if (!unreadable.empty()) return "it cannot be read: " + unreadable;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(0, file.tellg()));
  const auto header = read_header(file);
  if (!header) return "it is no 64-bit ELF file";
  if (own_machine() != EM_NONE && header->e_machine != own_machine()) {
    return fmt::format("it is for another kind of processor (ELF machine {}, not {})",
                       header->e_machine, own_machine());
  }
  for (int i = 0; i < header->e_phnum; ++i) {
    const auto segment = read_at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
    const bool is_whole =
        segment && (segment->p_type != PT_LOAD ||
                    (segment->p_offset <= size && segment->p_filesz <= size - segment->p_offset));
    if (!is_whole) {
      return fmt::format("it is cut off: its {} bytes are less than its header says", size);
    }
  }
  return {};
}

std::string read_build_id(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto header = read_header(file);
  if (!header) return {};
  std::string id = build_id_of_segments(file, *header);
  return id.empty() ? build_id_of_sections(file, *header) : id;
}

std::string read_file_identity(const std::string& path) {
  std::string id = read_build_id(path);
  if (!id.empty()) return id;
  std::ifstream file(path, std::ios::binary);
  if (!read_header(file)) return {};
  file.seekg(0);
  const std::string content(std::istreambuf_iterator<char>(file), {});
  return "xxh3:" + hex(digest(content));
}

}  // namespace heddle
