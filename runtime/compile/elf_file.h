// The little of the ELF format that Heddle reads: which build a library on disk is, and whether it
// is whole.
#ifndef HEDDLE_RUNTIME_COMPILE_ELF_FILE_H_
#define HEDDLE_RUNTIME_COMPILE_ELF_FILE_H_

#include <string>

namespace heddle {

// The GNU build-id of a 64-bit ELF file as hex digits; "" if the file cannot be read, is damaged or
// has none. Reads some thousand bytes, whatever the file's size. Asks the program headers first,
// then the section headers. Pure but for the file; any thread.
std::string read_build_id(const std::string& path);

// The build-id; for a 64-bit ELF file without one "xxh3:" and the digest of all of its bytes; "" if
// the file cannot be read or is no such file. Any thread.
std::string read_file_identity(const std::string& path);

// Why dlopen() must not be tried: the file cannot be read, is no 64-bit ELF file, is for another
// processor, or lacks bytes of what the loader would map, where reading them is a SIGBUS. "" where
// none of this is so. Any thread.
std::string why_not_loadable(const std::string& path);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_COMPILE_ELF_FILE_H_
