#include "runtime/elf_file.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/runtime/temporary_folder.h"

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

TEST(ElfFileTest, GivesNothingForWhatIsNoElfFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_build_id(folder.write("text", std::string(200, 'x'))), "");
  EXPECT_EQ(read_build_id((folder.path() / "missing").string()), "");
  EXPECT_EQ(read_build_id(folder.path().string()), "");
}

}  // namespace
}  // namespace heddle
