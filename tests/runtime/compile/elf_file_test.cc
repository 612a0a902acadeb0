#include "runtime/compile/elf_file.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "tests/temporary_folder.h"

namespace heddle {
namespace {

// An ELF file that consists of its header, one PT_NOTE segment and two notes.
std::string elf_with_notes() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof header + sizeof segment;
  // An ABI note of 3 (padded to 4) bytes comes first.
  const std::string other("\4\0\0\0\3\0\0\0\1\0\0\0GNU\0abc\0", 20);
  const std::string build_id("\4\0\0\0\4\0\0\0\3\0\0\0GNU\0\xde\xad\xbe\xef", 20);
  segment.p_filesz = other.size() + build_id.size();
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file.append(reinterpret_cast<const char*>(&segment), sizeof segment);
  return file + other + build_id;
}

TEST(ElfFileTest, ReadsTheBuildId) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_build_id(folder.write("good", elf_with_notes())), "deadbeef");
}

TEST(ElfFileTest, GivesNothingForAnyTruncation) {
  const TemporaryFolder folder;
  const std::string good = elf_with_notes();
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(read_build_id(folder.write("cut", good.substr(0, size))), "") << size;
  }
}

TEST(ElfFileTest, SurvivesEveryDamagedByte) {
  const TemporaryFolder folder;
  const std::string good = elf_with_notes();
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(0xff);
    read_build_id(folder.write("bad", bad));
  }
}

// As the libnvrtc of the wheels of 12.0 to 12.8: the program header says where the note was before
// it was moved, the section header says where it is.
std::string elf_with_moved_note() {
  std::string file = elf_with_notes();
  Elf64_Ehdr header{};
  std::memcpy(&header, file.data(), sizeof header);
  Elf64_Phdr segment{};
  std::memcpy(&segment, file.data() + header.e_phoff, sizeof segment);
  Elf64_Shdr sections[2] = {};
  sections[1].sh_type = SHT_NOTE;
  sections[1].sh_offset = segment.p_offset;
  sections[1].sh_size = segment.p_filesz;
  segment.p_offset = 8;  // somewhere in the header
  std::memcpy(file.data() + header.e_phoff, &segment, sizeof segment);
  header.e_shoff = file.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  std::memcpy(file.data(), &header, sizeof header);
  return file.append(reinterpret_cast<const char*>(sections), sizeof sections);
}

TEST(ElfFileTest, ReadsTheBuildIdByItsSectionWhereTheProgramHeaderIsStale) {
  const TemporaryFolder folder;
  const std::string good = elf_with_moved_note();
  EXPECT_EQ(read_build_id(folder.write("moved", good)), "deadbeef");
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(read_build_id(folder.write("cut", good.substr(0, size))), "") << size;
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(0xff);
    read_build_id(folder.write("bad", bad));
  }
}

TEST(ElfFileTest, TheProgramHeaderIsAskedFirst) {
  const TemporaryFolder folder;
  std::string file = elf_with_moved_note();
  // The segment's place is right again, and the section's is not.
  const std::string right = elf_with_notes();
  std::memcpy(file.data() + sizeof(Elf64_Ehdr), right.data() + sizeof(Elf64_Ehdr),
              sizeof(Elf64_Phdr));
  file.resize(file.size() - sizeof(Elf64_Shdr));
  EXPECT_EQ(read_build_id(folder.write("right", file)), "deadbeef");
}

TEST(ElfFileTest, AFileWithoutABuildIdIsKnownByItsContent) {
  const TemporaryFolder folder;
  std::string file = elf_with_notes();
  EXPECT_EQ(read_file_identity(folder.write("with", file)), "deadbeef");
  file[file.size() - 12] = 1;  // no more the type of a build-id
  const std::string first = read_file_identity(folder.write("without", file));
  EXPECT_EQ(first.substr(0, 5), "xxh3:");
  EXPECT_EQ(first.size(), 5U + 32U);
  EXPECT_EQ(read_file_identity(folder.write("copy", file)), first);
  file.back() ^= 1;
  EXPECT_NE(read_file_identity(folder.write("other", file)), first);
}

// An ELF file whose header says what that of this program does, and one segment that is mapped.
std::string elf_with_segment() {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  Elf64_Ehdr header{};
  self.read(reinterpret_cast<char*>(&header), sizeof header);
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_filesz = sizeof header + sizeof segment + 5000;
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file.append(reinterpret_cast<const char*>(&segment), sizeof segment);
  return file + std::string(5000, 'x');
}

TEST(ElfFileTest, AFileThatLacksBytesOfASegmentIsNotLoadable) {
  const TemporaryFolder folder;
  const std::string good = elf_with_segment();
  EXPECT_EQ(why_not_loadable(folder.write("good", good)), "");
  EXPECT_EQ(why_not_loadable("/proc/self/exe"), "");
  for (std::size_t size = sizeof(Elf64_Ehdr); size < good.size(); size += 97) {
    const std::string why = why_not_loadable(folder.write("cut", good.substr(0, size)));
    EXPECT_NE(why.find("cut off"), std::string::npos) << size << why;
  }
  for (const std::uint64_t offset : {std::uint64_t{1}, ~std::uint64_t{0}}) {
    std::string bad = good;
    std::memcpy(bad.data() + sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_offset), &offset,
                sizeof offset);
    EXPECT_NE(why_not_loadable(folder.write("bad", bad)), "") << offset;
  }
}

TEST(ElfFileTest, AFileOfAnotherMachineIsNotLoadable) {
  const TemporaryFolder folder;
  std::string file = elf_with_segment();
  file[EI_CLASS] = ELFCLASS32;
  EXPECT_NE(why_not_loadable(folder.write("32", file)).find("no 64-bit ELF"), std::string::npos);
  file = elf_with_segment();
  const Elf64_Half other = EM_S390;
  std::memcpy(file.data() + offsetof(Elf64_Ehdr, e_machine), &other, sizeof other);
  EXPECT_NE(why_not_loadable(folder.write("other", file)).find("processor"), std::string::npos);
  EXPECT_NE(why_not_loadable(folder.write("text", "text")), "");
  const std::string missing = (folder.path() / "missing").string();
  EXPECT_EQ(why_not_loadable(missing), "it cannot be read: No such file or directory");
  EXPECT_EQ(why_not_loadable(folder.path().string()), "it cannot be read: Is a directory");
}

TEST(ElfFileTest, GivesNothingForWhatIsNoElfFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_build_id(folder.write("text", std::string(200, 'x'))), "");
  EXPECT_EQ(read_build_id((folder.path() / "missing").string()), "");
  EXPECT_EQ(read_build_id(folder.path().string()), "");
  EXPECT_EQ(read_file_identity(folder.write("text", std::string(200, 'x'))), "");
  EXPECT_EQ(read_file_identity((folder.path() / "missing").string()), "");
  EXPECT_EQ(read_file_identity(folder.path().string()), "");
}

}  // namespace
}  // namespace heddle
