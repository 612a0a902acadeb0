// Uploader on the fake driver, whose copies are made as late as they may be.
#include "heddle/uploader.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "cache/bytes.h"
#include "heddle/checkpoint.h"
#include "tests/checkpoint/reader_cases.h"
#include "tests/fake_driver/fake_driver.h"
#include "tests/runtime/fake_engine.h"

namespace heddle {
namespace {

using testing::code_of;
using testing::EngineContext;
using testing::EngineStream;

// Aligned as device memory is.
struct DeviceMemory {
  explicit DeviceMemory(std::size_t bytes) : bytes(bytes), words(bytes / 16 + 1) { fill(); }
  void fill() { std::memset(words.data(), 0xA5, 16 * words.size()); }
  std::uint8_t* data() { return reinterpret_cast<std::uint8_t*>(words.data()); }
  DeviceOutput output() { return {data(), bytes}; }
  Bytes content() { return {data(), data() + bytes}; }

  struct alignas(16) Word {
    std::uint8_t bytes[16];
  };
  std::size_t bytes;
  std::vector<Word> words;
};

class UploaderTest : public ::testing::Test {
 protected:
  void SetUp() override { fake::reset(); }
  void TearDown() override {
    fake::heal();
    EXPECT_EQ(fake::live_host_bytes(), 0U);
    EXPECT_EQ(fake::live_events(), 0);
    EXPECT_EQ(fake::copies_under_way(), 0);
    EXPECT_EQ(fake::capture_mode(), 0);
  }
};

struct SmallCheckpoint {
  SmallCheckpoint() : reader(written()) {}

  TemporaryFolder folder;
  CheckpointReader reader;

 private:
  std::string written() const {
    write_case(gptq_case(false), folder);
    return folder.path();
  }
};

Bytes counted(std::size_t count, std::size_t first = 0) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>((first + i) * 7 / 5);
  return bytes;
}

// Far more bytes than staging memory has: a half that is filled again before its copy was made
// would give other bytes.
TEST_F(UploaderTest, StagingMemoryIsNotUsedAgainTooEarly) {
  const EngineContext context;
  const EngineStream stream;
  Uploader uploader(stream.get(), 4096);
  EXPECT_EQ(fake::live_host_bytes(), 4096U);
  DeviceMemory memory(100'000);
  std::size_t at = 0;
  for (const std::size_t count : {1U, 4095U, 4096U, 17U, 50'000U, 2048U}) {
    Bytes bytes = counted(count, at);
    uploader.write(bytes.data(), count, {memory.data() + at, count});
    std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});  // the caller's own may go
    at += count;
  }
  EXPECT_GT(fake::copies_under_way(), 0);
  uploader.finish();
  EXPECT_EQ(fake::copies_under_way(), 0);
  Bytes got = memory.content();
  EXPECT_EQ(Bytes(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(at)), counted(at));
  EXPECT_EQ(Bytes(got.begin() + static_cast<std::ptrdiff_t>(at), got.end()),
            Bytes(memory.bytes - at, 0xA5));
  EXPECT_EQ(fake::live_host_bytes(), 4096U);
}

TEST_F(UploaderTest, LayersArriveAsTheyArePacked) {
  const EngineContext context;
  const EngineStream stream;
  for (const ReaderCase& made : reader_cases()) {
    SCOPED_TRACE(made.name);
    const TemporaryFolder folder;
    write_case(made, folder);
    const CheckpointReader reader(folder.path(), made.options());
    Uploader uploader(stream.get(), 4096);
    for (const CheckpointLayer& layer : reader.layers()) {
      Bytes want(layer.packed.bytes);
      reader.pack(layer, want.data(), want.size());
      DeviceMemory memory(want.size());
      uploader.pack(reader, layer, memory.output());
      for (const auto& companion : {layer.permutation, layer.bias, layer.pre_scale}) {
        if (!companion) continue;
        Bytes plain(companion->bytes);
        reader.read(*companion, plain.data(), plain.size());
        DeviceMemory vector(companion->bytes);
        uploader.read(reader, *companion, vector.output());
        uploader.finish();
        EXPECT_EQ(vector.content(), plain);
      }
      uploader.finish();
      EXPECT_EQ(memory.content(), want);
    }
  }
}

TEST_F(UploaderTest, DestroyingWaitsForTheCopies) {
  const EngineContext context;
  const EngineStream stream;
  DeviceMemory memory(9000);
  const Bytes bytes = counted(9000);
  {
    Uploader uploader(stream.get(), 4096);
    uploader.write(bytes.data(), bytes.size(), memory.output());
    Uploader other = std::move(uploader);
    EXPECT_GT(fake::copies_under_way(), 0);
  }
  EXPECT_EQ(memory.content(), bytes);
}

TEST_F(UploaderTest, WhatItRefusesIsNotCopied) {
  const EngineContext context;
  const EngineStream stream;
  const SmallCheckpoint checkpoint;
  const CheckpointReader& reader = checkpoint.reader;
  const CheckpointLayer& layer = reader.layers().front();
  EXPECT_EQ(code_of([&] { Uploader(stream.get(), 4095); }), "upload.staging_bytes");
  Uploader uploader(stream.get(), 4096);
  DeviceMemory memory(layer.packed.bytes + 16);
  const Bytes before = memory.content();
  EXPECT_EQ(code_of([&] {
              uploader.pack(reader, layer, {memory.data(), layer.packed.bytes - 1});
            }),
            "upload.too_small");
  EXPECT_EQ(code_of([&] {
              uploader.pack(reader, layer, {memory.data() + 8, layer.packed.bytes});
            }),
            "upload.misaligned");
  EXPECT_EQ(code_of([&] {
              uploader.pack(reader, layer, {nullptr, layer.packed.bytes});
            }),
            "upload.null");
  CheckpointTensor liar = layer.packed;
  liar.bytes = 16;
  EXPECT_EQ(code_of([&] {
              uploader.read(reader, liar, {memory.data(), 16});
            }),
            "checkpoint.no_tensor");
  CheckpointLayer foreign = layer;
  GemmSpec spec = layer.spec.gemm();
  spec.weight.zero_point = ZeroPoint::kFloat;
  foreign.spec = Spec::from_gemm(spec);
  EXPECT_EQ(code_of([&] { uploader.pack(reader, foreign, memory.output()); }),
            "checkpoint.no_tensor");
  EXPECT_EQ(code_of([&] { uploader.write(nullptr, 16, memory.output()); }), "upload.null");
  EXPECT_EQ(code_of([&] { uploader.write(before.data(), 16, {nullptr, 16}); }), "upload.null");
  uploader.finish();
  EXPECT_EQ(memory.content(), before);
}

// What had been staged of a tensor that failed belongs to memory that may be gone by now.
TEST_F(UploaderTest, WhatWasStagedOfAFailureIsNeverCopied) {
  const EngineContext context;
  const EngineStream stream;
  const SmallCheckpoint checkpoint;
  const CheckpointReader& reader = checkpoint.reader;
  const CheckpointLayer& layer = reader.layers().front();
  Uploader uploader(stream.get(), 1 << 20);
  const std::string file = checkpoint.folder / "model.safetensors";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  DeviceMemory memory(layer.packed.bytes);
  const Bytes before = memory.content();
  EXPECT_EQ(code_of([&] { uploader.pack(reader, layer, memory.output()); }), "checkpoint.read");
  const Bytes bytes = counted(100);
  DeviceMemory other(100);
  uploader.write(bytes.data(), bytes.size(), other.output());
  uploader.finish();
  EXPECT_EQ(memory.content(), before);
  EXPECT_EQ(other.content(), bytes);
}

TEST_F(UploaderTest, CapturesAreRefusedAndStayValid) {
  const EngineContext context;
  EngineStream captured;
  const EngineStream stream;
  Uploader uploader(captured.get(), 4096);
  const Bytes bytes = counted(20'000);
  DeviceMemory memory(bytes.size());
  captured.begin_capture();
  EXPECT_EQ(code_of([&] { uploader.write(bytes.data(), bytes.size(), memory.output()); }),
            "upload.capturing");
  {
    Uploader other(stream.get(), 4096);  // goes on undisturbed, and disturbs nobody
    other.write(bytes.data(), bytes.size(), memory.output());
    other.finish();
  }
  EXPECT_EQ(memory.content(), bytes);
  EXPECT_TRUE(captured.end_capture());
  memory.fill();
  uploader.write(bytes.data(), bytes.size(), memory.output());
  uploader.finish();
  EXPECT_EQ(memory.content(), bytes);
}

// Each call fails once: an error, nothing is lost, and the next attempt is whole.
TEST_F(UploaderTest, EachDriverCallMayFail) {
  const EngineContext context;
  const EngineStream stream;
  const Bytes bytes = counted(20'000);
  for (const char* call :
       {"cuMemHostAlloc", "cuEventCreate", "cuMemcpyHtoDAsync", "cuEventRecord",
        "cuEventSynchronize", "cuStreamGetCaptureInfo", "cuThreadExchangeStreamCaptureMode"}) {
    for (int skip = 0; skip < 4; ++skip) {
      SCOPED_TRACE(std::string(call) + " after " + std::to_string(skip));
      fake::fail(call, 2, skip, 1);
      DeviceMemory memory(bytes.size());
      const auto attempt = [&](Uploader& uploader) {
        uploader.write(bytes.data(), bytes.size(), memory.output());
        uploader.finish();
      };
      const std::string code = code_of([&] {
        Uploader uploader(stream.get(), 4096);
        const std::string failed = code_of([&] { attempt(uploader); });
        if (failed.empty()) return;
        EXPECT_EQ(failed, "driver.CUDA_ERROR_OUT_OF_MEMORY");
        memory.fill();
        attempt(uploader);
      });
      EXPECT_TRUE(code.empty() || code == "driver.CUDA_ERROR_OUT_OF_MEMORY") << code;
      if (code.empty()) {
        EXPECT_EQ(memory.content(), bytes);
      }
      fake::heal();
      fake::capture_mode() = 0;  // the call that sets it back may be the one that failed
    }
  }
}

}  // namespace
}  // namespace heddle
