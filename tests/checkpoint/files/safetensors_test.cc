#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>
#include <filesystem>
#include <random>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/files/unread_file.h"
#include "heddle/error.h"
#include "tests/checkpoint/test_util.h"

namespace heddle {
namespace {

// The message of the error that opening the file gives; empty if there is none.
std::string fault_of(const std::string& file) {
  const TemporaryFolder folder;
  write_file(folder / "a.safetensors", file);
  try {
    const Checkpoint checkpoint(folder / "a.safetensors");
    for (const auto& [name, entry] : checkpoint.tensors()) checkpoint.read(name);
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kFile);
    EXPECT_NE(std::string(error.what()).find("a.safetensors"), std::string::npos);
    return error.what();
  }
}

std::string fault_of(std::string_view header, std::string_view data) {
  return fault_of(safetensors(header, data));
}

constexpr std::string_view kGood = R"({"__metadata__":{"format":"pt"},)"
                                   R"("a":{"dtype":"U8","shape":[2,3],"data_offsets":[0,6]},)"
                                   R"("b":{"dtype":"F16","shape":[],"data_offsets":[6,8]},)"
                                   R"("c":{"shape":[0,9],"dtype":"I64","data_offsets":[8,8]}}  )";

TEST(Safetensors, ReadsTensorsAndMetadata) {
  const TemporaryFolder folder;
  write_file(folder / "a.safetensors", safetensors(kGood, "abcdefgh"));
  const SafetensorsFile file(folder / "a.safetensors");
  EXPECT_EQ(file.header().metadata.at("format"), "pt");
  ASSERT_EQ(file.header().tensors.size(), 3u);
  EXPECT_EQ(file.header().tensors[0].shape, (std::vector<std::int64_t>{2, 3}));
  char part[2];
  file.read(file.header().tensors[0], 3, part, 2);
  EXPECT_EQ(std::string(part, 2), "de");
}

TEST(Safetensors, NothingMayFollowBehindANul) {
  using namespace std::string_literals;
  for (const std::string& behind : {"\0"s, "\0 garbage }{"s}) {
    const std::string fault = fault_of(std::string(kGood) + behind, "abcdefgh");
    EXPECT_NE(fault.find("not JSON at its byte "), std::string::npos) << fault;
  }
}

TEST(Safetensors, EveryLieIsNamed) {
  struct Case {
    const char* header;
    const char* says;
  };
  const Case cases[] = {
      {R"({"t":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})", "\"t\" ends at byte 9"},
      {R"({"t":{"dtype":"U8","shape":[7],"data_offsets":[0,7]}})", "end at byte 7"},
      {R"({"t":{"dtype":"U8","shape":[7],"data_offsets":[1,8]}})", "\"t\" starts at byte 1"},
      {R"({"s":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
           "t":{"dtype":"U8","shape":[5],"data_offsets":[3,8]}})",
       "\"t\" starts at byte 3 of the data, inside"},
      {R"({"t":{"dtype":"U8","shape":[7],"data_offsets":[0,8]}})", "\"t\" is U8 [7]"},
      {R"({"t":{"dtype":"U8","shape":[8],"data_offsets":[8,0]}})", "\"t\" is U8 [8]"},
      {R"({"t":{"dtype":"I64","shape":[1152921504606846976],"data_offsets":[0,8]}})",
       "\"t\" has a shape of 2^63"},
      {R"({"t":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})",
       "\"t\" has a shape of 2^63"},
      {R"({"t":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,8]}})",
       "\"t\" has a side of 9223372036854775808"},
      {R"({"t":{"dtype":"U8","shape":[8],"data_offsets":[18446744073709551608,18446744073709551616]}})",
       "\"t\""},
      {R"({"t":{"dtype":"U8","shape":[8],"data_offsets":[9223372036854775808,9223372036854775816]}})",
       "\"t\" ends at byte 9223372036854775816"},
      {R"({"t":{"dtype":"U8","shape":[-8],"data_offsets":[0,8]}})",
       "\"t\" has a negative number in its shape"},
      {R"({"t":{"dtype":"U8","shape":[8],"data_offsets":[-1,7]}})",
       "\"t\" has a negative number in its data_offsets: -1"},
      {R"({"t":{"dtype":"U8","shape":[8.0],"data_offsets":[0,8]}})", "\"t\" has a fraction"},
      {R"({"t":{"dtype":"Q4","shape":[8],"data_offsets":[0,8]}})", "dtype \"Q4\""},
      {R"({"t":{"dtype":"U8","shape":[8],"data_offsets":[0]}})", "\"t\" has fewer than two"},
      {R"({"t":{"dtype":"U8","shape":[8],"data_offsets":[0,8,8]}})", "\"t\" has more than two"},
      {R"({"t":{"dtype":"U8","shape":[8]}})", "\"t\" lacks"},
      {R"({"t":{"dtype":"U8","dtype":"U8","shape":[8],"data_offsets":[0,8]}})", "dtype twice"},
      {R"({"t":{"dtype":"U8","shape":[8],"data_offsets":[0,8],"x":1}})", "unknown field \"x\""},
      {R"({"t":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},
           "t":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
       "\"t\" is there twice"},
      {R"({"t":[1]})", "\"t\" has an array"},
      {R"({"t":{"dtype":"U8","shape":[[8]],"data_offsets":[0,8]}})", "\"t\" has an array"},
      {R"({"__metadata__":{"a":1}})", "__metadata__"},
      {R"({"__metadata__":{"a":"1","a":"2"}})", "\"a\" twice"},
      {R"([])", "not a JSON object"},
      {R"({"t")", "not JSON"},
      {R"({}{})", "not JSON"},
      {"", "not a JSON object"},
  };
  for (const Case& c : cases) {
    EXPECT_NE(fault_of(c.header, "12345678").find(c.says), std::string::npos)
        << c.header << "\n"
        << fault_of(c.header, "12345678");
  }
}

TEST(Safetensors, HeaderLengthIsComparedWithTheFile) {
  std::string file = safetensors(kGood, "abcdefgh");
  for (const std::uint64_t length : {std::uint64_t{100'000}, std::uint64_t{1} << 63,
                                     ~std::uint64_t{0}, std::uint64_t{200'000'000}}) {
    std::memcpy(file.data(), &length, 8);
    EXPECT_NE(fault_of(file).find("a header of"), std::string::npos);
  }
}

// The length of a header may be the first bytes of another format, such as those of a pickle.
TEST(Safetensors, AHeaderOfAnyLengthIsNoOtherFormat) {
  constexpr std::size_t kPickle = 0x0280;
  std::string header(kGood);
  header.append(kPickle - header.size(), ' ');
  EXPECT_EQ(fault_of(safetensors(header, "abcdefgh")), "");
}

// What a file is that is called as one of another format, and what one is that is not.
TEST(Safetensors, OtherFormatsAreNamed) {
  const TemporaryFolder folder;
  const struct {
    const char* file;
    std::string content;
    const char* code;
    const char* says;
  } cases[] = {
      {"m.gguf", "GGUF" + std::string(60, '\1'), "checkpoint.foreign", "GGUF is not read"},
      {"m.onnx", std::string(60, '\b'), "checkpoint.foreign", "ONNX is not read"},
      {"m.pt", std::string("PK\3\4"), "checkpoint.foreign", "PyTorch is not read"},
      {"m.safetensors", "GGUF" + std::string(60, '\1'), "checkpoint.header", "this is of GGUF"},
      {"m.safetensors", "PK\3\4" + std::string(60, '\1'), "checkpoint.header", "PyTorch"},
      {"m.safetensors", "version https://git-lfs", "checkpoint.header", "Git LFS"}};
  for (const auto& [file, content, code, says] : cases) {
    write_file(folder / file, content);
    try {
      const SafetensorsFile opened(folder / file);
      ADD_FAILURE() << file;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  }
  // A name alone says nothing of a file that is what is read.
  write_file(folder / "m.bin", safetensors(kGood, "abcdefgh"));
  EXPECT_NO_THROW(SafetensorsFile(folder / "m.bin"));
}

// The size of a file that is too deep to be asked for it is not known.
TEST(Safetensors, AFileOfUnknownSizeIsNotTheLargest) {
  const TemporaryFolder folder;
  std::string deep = folder / "";
  while (deep.size() + 200 < PATH_MAX - 20) deep += std::string(199, 'd') + '/';
  deep += std::string(PATH_MAX - 20 - deep.size(), 'e');
  std::filesystem::create_directories(deep);
  write_file(deep + "/m.gguf", "some");
  const int place = ::open(deep.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(place, 0);
  const char* const hidden = "of-a-long-name.onnx";
  const int file = ::openat(place, hidden, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  EXPECT_GE(file, 0);
  ::close(file);
  const auto found = unread_file_in(deep);
  EXPECT_EQ(::unlinkat(place, hidden, 0), 0);
  ::close(place);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->format->name, "GGUF");
}

TEST(Safetensors, EveryTruncationIsAnError) {
  const std::string file = safetensors(kGood, "abcdefgh");
  EXPECT_EQ(fault_of(file), "");
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_NE(fault_of(file.substr(0, length)), "") << length;
  }
  EXPECT_NE(fault_of(file + "x"), "");
}

TEST(Safetensors, MutatedHeadersNeverCrash) {
  std::mt19937 random(5);
  constexpr std::string_view kBytes = "{}[]\",:0129-.eE\\ \x80\xff";
  for (int round = 0; round < 3000; ++round) {
    std::string header(kGood);
    for (unsigned i = 0; i <= random() % 4; ++i) {
      const std::size_t at = random() % header.size();
      if (random() % 4 == 0) {
        header.erase(at, 1 + random() % 5);
      } else {
        header[at] = kBytes[random() % kBytes.size()];
      }
    }
    try {
      parse_safetensors_header(header, 8, "file");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "checkpoint.header");
    }
  }
}

TEST(SafetensorsWriter, WritesWhatTheReaderReads) {
  const TemporaryFolder folder;
  const std::string path = folder / "out.safetensors";
  write_tensors(path, {{"x \"\n", TensorType::kF32, {2}, {1, 2, 3, 4, 5, 6, 7, 8}},
                       {"y", TensorType::kU8, {1, 3}, {9, 8, 7}}});
  const Checkpoint checkpoint(path);
  EXPECT_EQ(checkpoint.read("y"), (std::vector<std::uint8_t>{9, 8, 7}));
  EXPECT_EQ(checkpoint.find("x \"\n")->type, TensorType::kF32);
}

TEST(SafetensorsWriter, WithoutCommitTheOldFileStays) {
  const TemporaryFolder folder;
  const std::string path = folder / "out.safetensors";
  write_file(path, "old");
  { const SafetensorsWriter writer(path, {}, {}); }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

class IndexTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write_tensors(folder_ / "1.safetensors", {{"a", TensorType::kU8, {1}, {1}}});
    write_tensors(folder_ / "2.safetensors", {{"b", TensorType::kU8, {1}, {2}}});
  }

  std::string fault(const std::string& index) {
    write_file(folder_ / "model.safetensors.index.json", index);
    try {
      const Checkpoint checkpoint(folder_.path());
      EXPECT_EQ(checkpoint.read("b").front(), 2);
      return {};
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::kFile);
      return error.what();
    }
  }

  TemporaryFolder folder_;
};

TEST_F(IndexTest, FindsTensorsInShards) {
  EXPECT_EQ(fault(R"({"metadata":{"total_size":2},
                      "weight_map":{"a":"1.safetensors","b":"2.safetensors"}})"),
            "");
}

TEST_F(IndexTest, RefusesShardsWithTensorsThatItDoesNotName) {
  write_tensors(folder_ / "2.safetensors",
                {{"b", TensorType::kU8, {1}, {2}}, {"c", TensorType::kU8, {1}, {3}}});
  const std::string why = fault(R"({"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})");
  EXPECT_NE(why.find("does not name the tensor \"c\""), std::string::npos) << why;
  // A file beside the shards is none of them.
  EXPECT_NE(fault(R"({"weight_map":{"b":"2.safetensors"}})"), "");
  EXPECT_EQ(fault(R"({"weight_map":{"b":"2.safetensors","c":"2.safetensors"}})"), "");
}

TEST_F(IndexTest, RefusesWrongMaps) {
  EXPECT_NE(fault(R"({"weight_map":{"b":"../2.safetensors"}})").find("\"b\""), std::string::npos);
  EXPECT_NE(fault(R"({"weight_map":{"b":"/etc/passwd"}})").find("\"b\""), std::string::npos);
  EXPECT_NE(fault(R"({"weight_map":{"b":".."}})").find("\"b\""), std::string::npos);
  EXPECT_NE(fault(R"({"weight_map":{"b":3}})").find("\"b\""), std::string::npos);
  EXPECT_NE(fault(R"({"weight_map":{"b":"1.safetensors"}})").find("\"b\" is not in"),
            std::string::npos);
  EXPECT_NE(fault(R"({"weight_map":{"b":"3.safetensors"}})").find("3.safetensors"),
            std::string::npos);
  EXPECT_NE(fault(R"({"weight_map":[]})"), "");
  EXPECT_NE(fault(R"({"weight_map":{"b":"2.safetensors","b":"1.safetensors"}})"), "");
  EXPECT_NE(fault("{"), "");
  EXPECT_NE(fault("{}").find("give the folder instead"), std::string::npos) << "a config.json";
}

}  // namespace
}  // namespace heddle
