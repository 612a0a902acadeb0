// The little of the ELF format that Heddle reads: the build-id of a library on disk.
#ifndef HEDDLE_RUNTIME_ELF_FILE_H_
#define HEDDLE_RUNTIME_ELF_FILE_H_

#include <string>

namespace heddle {

// The GNU build-id of a 64-bit ELF file as hex digits; "" if the file cannot be read, is damaged or
// has none. Reads some hundred bytes, whatever the file's size. Pure but for the file; any thread.
std::string read_build_id(const std::string& path);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_ELF_FILE_H_
