// The fuzzer's corpus: every bad file gives an error that names the file and, where the fault is in
// one, the tensor.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "checkpoint/files/safetensors.h"
#include "heddle/error.h"

namespace heddle {
namespace {

// The file's name -> what its error says; nothing for a good file.
const std::map<std::string, std::string> kSays{
    {"valid", ""},
    // Faults of the file.
    {"too_short", "too short for a safetensors file"},
    {"truncated_header", "a header of 234 bytes in a file of 68"},
    {"header_length_lies", "a header of 1048576 bytes in a file of 80"},
    {"header_length_2_63", "a header of 9223372036854775808 bytes; the format allows 100000000"},
    {"header_length_short", "the header is not JSON at its byte"},
    {"trailing_data", "the tensors end at byte 12 of the data, but the file has 13"},
    {"not_an_object", "the header is not a JSON object"},
    {"not_utf8", "the header is not JSON at its byte"},
    {"deep_metadata", "__metadata__ has an object where it does not belong"},
    {"long_name", "a tensor's name is empty or too long"},
    // Faults of a tensor.
    {"truncated_data", "tensor \"layer.bias\" ends at byte 12 of the data, but the file has 10"},
    {"overlap", "tensor \"layer.bias\" starts at byte 3 of the data, inside of another"},
    {"gap", "tensor \"layer.bias\" starts at byte 4 of the data, with a gap"},
    {"end_before_start",
     "tensor \"layer.weight\" is U8 [8], which are 8 bytes, but its data_offsets"},
    {"offset_2_63", "tensor \"layer.weight\" ends at byte 9223372036854775816 of the data"},
    {"offset_2_64", "tensor \"layer.weight\" has a fraction, or a number beyond 64 bits"},
    {"side_2_63", "tensor \"layer.weight\" has a side of 9223372036854775808"},
    {"size_2_63", "tensor \"layer.weight\" has a shape of 2^63 bytes or more"},
    {"product_2_64", "tensor \"layer.weight\" has a shape of 2^63 bytes or more"},
    {"negative_side", "tensor \"layer.weight\" has a negative number in its shape: -8"},
    {"fraction", "tensor \"layer.weight\" has a fraction"},
    {"shape_and_offsets_differ", "tensor \"layer.weight\" is U8 [7], which are 7 bytes"},
    {"unknown_dtype", "tensor \"layer.weight\" has the unknown dtype \"Q4_0\""},
    {"duplicate_name", "tensor \"layer.weight\" is there twice"},
    {"duplicate_field", "tensor \"layer.weight\" has dtype twice"},
    {"missing_offsets", "tensor \"layer.weight\" lacks one of dtype, shape and data_offsets"},
    {"unknown_field", "tensor \"layer.weight\" has the unknown field \"stride\""},
    {"deep", "tensor \"layer.weight\" has an array where it does not belong"},
};

std::string error_of(const std::string& path) {
  try {
    const SafetensorsFile file(path);
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "checkpoint.header");
    return error.what();
  }
}

TEST(SafetensorsCorpus, EveryFaultIsNamed) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HEDDLE_SAFETENSORS_CORPUS)) {
    const auto says = kSays.find(entry.path().stem().string());
    ASSERT_NE(says, kSays.end()) << entry.path() << " is not in the list";
    const std::string error = error_of(entry.path().string());
    if (says->second.empty()) {
      EXPECT_EQ(error, "");
    } else {
      EXPECT_NE(error.find(entry.path().filename().string() + ": "), std::string::npos) << error;
      EXPECT_NE(error.find(says->second), std::string::npos) << says->first << ": " << error;
    }
    ++files;
  }
  EXPECT_EQ(files, kSays.size());
}

}  // namespace
}  // namespace heddle
