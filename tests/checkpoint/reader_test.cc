// What CheckpointReader says of a checkpoint, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "cache/bytes.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/convert.h"
#include "heddle/checkpoint.h"
#include "heddle/error.h"
#include "heddle/weights.h"
#include "tests/checkpoint/reader_cases.h"

namespace heddle {
namespace {

TEST_F(ReaderTest, LayersSayWhatTheyAreMadeOf) {
  const CheckpointReader reader = open();
  const CheckpointLayer& qkv = reader.layers().at(1);
  ASSERT_EQ(qkv.parts.size(), 3U);
  EXPECT_EQ(qkv.parts[0].name, "model.layers.0.self_attn.q_proj");
  EXPECT_EQ(qkv.parts[2].rows, 32);
  EXPECT_EQ(qkv.bias->name, "model.layers.0.self_attn.qkv_proj.bias");
  EXPECT_EQ(qkv.bias->shape, (std::vector<std::int64_t>{128}));
  // Words, zero points, scales and group indices of the three parts.
  EXPECT_EQ(qkv.source_bytes, 128U * 256 / 2 + 128U * 4 / 2 + 128U * 4 * 2 + 3 * 256U * 4);
  ASSERT_EQ(reader.tensors().size(), 2U);
  EXPECT_EQ(reader.tensors()[0].name, "model.norm.scale");
  EXPECT_EQ(reader.tensors()[0].type, TensorType::kF32);
  EXPECT_EQ(to_string(reader.tensors()[1].type), "F16");
}

TEST_F(ReaderTest, RanksThatAreNone) {
  for (const TensorParallel parallel : {TensorParallel{2, 2}, {-1, 2}, {0, 0}, {0, 1025}}) {
    CheckpointOptions options;
    options.parallel = parallel;
    EXPECT_EQ(code_of([&] { open(options); }), "checkpoint.rank");
  }
}

TEST_F(ReaderTest, NamesWithANullByteAreRefused) {
  const std::string cut("model\0.safetensors", 18);
  EXPECT_EQ(code_of([&] { CheckpointReader reader(cut); }), "path.null_byte");
  CheckpointOptions options;
  options.config = std::string("config.json\0x", 13);
  EXPECT_EQ(code_of([&] { open(options); }), "path.null_byte");
}

TEST_F(ReaderTest, MemoryThatIsTooSmallIsNotTouched) {
  const CheckpointReader reader = open();
  for (const auto& entry : all_tensors(reader)) {
    const CheckpointTensor& tensor = entry.second;
    Bytes memory(tensor.bytes, 0xA5);
    EXPECT_EQ(code_of([&] { reader.read(tensor, memory.data(), memory.size() - 1); }),
              "checkpoint.too_small");
    EXPECT_EQ(memory, Bytes(tensor.bytes, 0xA5));
    EXPECT_EQ(code_of([&] { reader.read(tensor, nullptr, tensor.bytes); }), "checkpoint.null");
    EXPECT_EQ(code_of([&] { reader.read(tensor, ByteSink()); }), "checkpoint.null");
  }
  CheckpointTensor foreign;
  foreign.name = "of.another";
  EXPECT_EQ(code_of([&] { reader.read(foreign, nullptr, 0); }), "checkpoint.no_tensor");
}

TEST_F(ReaderTest, LayersAndTensorsAreFoundByName) {
  const CheckpointReader reader = open();
  for (const CheckpointLayer& layer : reader.layers()) EXPECT_EQ(&reader.layer(layer.name), &layer);
  for (const CheckpointTensor& tensor : reader.tensors()) {
    EXPECT_EQ(&reader.tensor(tensor.name), &tensor);
    EXPECT_EQ(code_of([&] { reader.layer(tensor.name); }), "checkpoint.no_layer");
  }
  EXPECT_EQ(code_of([&] { reader.tensor(reader.layers()[0].packed.name); }),
            "checkpoint.no_tensor");
  for (const char* name : {"", "a", "model.layers.0.mlp.down_proj ", "zzz"}) {
    EXPECT_EQ(code_of([&] { reader.layer(name); }), "checkpoint.no_layer") << name;
    EXPECT_EQ(code_of([&] { reader.tensor(name); }), "checkpoint.no_tensor") << name;
  }
}

// Who asks for a part of a fused layer, or for a tensor's module, is told where its weights are.
TEST_F(ReaderTest, NamesThatAreNoneSayWhereTheWeightsAre) {
  const CheckpointReader reader = open();
  const auto says = [](const auto& call, const std::string& what) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
      return;
    }
    FAIL() << what;
  };
  const std::string q = "model.layers.0.self_attn.q_proj";
  const std::string packed = "; it is packed in the layer \"model.layers.0.self_attn.qkv_proj\"";
  says([&] { reader.layer(q); }, packed);
  says([&] { reader.tensor(q + ".qweight"); }, packed);
  says([&] { reader.layer("model.norm.scale"); }, "; it is a plain tensor");
  says([&] { reader.layer("model.norm"); },
       "; \"model.norm.weight\" is a plain tensor (CheckpointOptions::dense");
}

// A layer that is there but has no kernel is listed with the reason.
TEST_F(ReaderTest, ALayerWithoutAKernelSaysWhy) {
  write_case(fp8_case(), folder_);
  const CheckpointReader reader = open();
  ASSERT_EQ(reader.unserved().size(), 1U);
  try {
    reader.layer("conv");
    FAIL() << "no kernel takes a convolution";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "checkpoint.no_layer");
    EXPECT_NE(std::string(error.what()).find(reader.unserved()[0].reason), std::string::npos);
  }
}

// Layers of all checkpoints may have the same names.
TEST_F(ReaderTest, ALayerOfAnotherCheckpointIsNotPacked) {
  const CheckpointReader reader = open();
  CheckpointLayer layer = reader.layers().front();
  Bytes memory(layer.packed.bytes, 0xA5);
  GemmSpec spec = layer.spec.gemm();
  spec.weight.zero_point = ZeroPoint::kFloat;
  layer.spec = Spec::from_gemm(spec);
  EXPECT_EQ(code_of([&] { reader.pack(layer, memory.data(), memory.size()); }),
            "checkpoint.no_tensor");
  CheckpointTensor tensor = reader.layers().front().packed;
  tensor.bytes -= 1;
  EXPECT_EQ(code_of([&] { reader.read(tensor, memory.data(), memory.size()); }),
            "checkpoint.no_tensor");
  EXPECT_EQ(memory, Bytes(memory.size(), 0xA5));
}

TEST_F(ReaderTest, ASinkMayStopAndThrow) {
  const CheckpointReader reader = open();
  const CheckpointLayer& layer = reader.layers().front();
  int calls = 0;
  EXPECT_EQ(code_of([&] {
              reader.pack(layer,
                          [&](std::size_t, const void*, std::size_t) { return ++calls < 2; });
            }),
            "checkpoint.cancelled");
  EXPECT_EQ(calls, 2);
  EXPECT_THROW(reader.pack(layer,
                           [](std::size_t, const void*, std::size_t) -> bool {
                             throw std::runtime_error("the device is lost");
                           }),
               std::runtime_error);
}

// What is longer than a piece comes in several.
TEST_F(ReaderTest, LongTensorsComeInPieces) {
  ReaderCase made = gptq_case(false);
  const std::size_t rows = CheckpointReader::kMostPieceBytes / 1024 + 1;
  made.tensors.push_back(some_halves("long", {static_cast<std::int64_t>(rows), 512}));
  write_case(made, folder_);
  const CheckpointReader reader = open();
  const auto all = all_tensors(reader);
  std::vector<std::size_t> pieces;
  reader.read(all.at("long"), [&](std::size_t, const void*, std::size_t count) {
    pieces.push_back(count);
    return true;
  });
  EXPECT_EQ(pieces, (std::vector<std::size_t>{CheckpointReader::kMostPieceBytes, 1024}));
  EXPECT_EQ(read_in_pieces(reader, all.at("long")), made.tensors.back().bytes);
}

TEST_F(ReaderTest, ProgressCountsLayersAndBytes) {
  const CheckpointReader reader = open({});
  for (const int jobs : {0, 1, 3}) {
    std::mutex mutex;
    std::map<std::string, Bytes> packed;
    std::size_t calls = 0;
    std::uint64_t last = 0;
    reader.for_each_layer(
        [&](const CheckpointLayer& layer) {
          Bytes bytes(layer.packed.bytes);
          reader.pack(layer, bytes.data(), bytes.size());
          const std::lock_guard<std::mutex> lock(mutex);
          packed[layer.name] = std::move(bytes);
        },
        [&](const CheckpointProgress& progress) {
          EXPECT_EQ(progress.done, ++calls);
          EXPECT_EQ(progress.total, 2U);
          EXPECT_EQ(progress.bytes_done - last, progress.layer.packed.bytes);
          last = progress.bytes_done;
          if (progress.done == progress.total) {
            EXPECT_EQ(progress.bytes_done, progress.bytes_total);
          }
          return true;
        },
        jobs);
    EXPECT_EQ(calls, 2U);
    for (const CheckpointLayer& layer : reader.layers()) {
      EXPECT_EQ(packed.at(layer.name), read_in_pieces(reader, layer.packed));
    }
  }
}

TEST_F(ReaderTest, ProgressMayCancelAndWorkMayThrow) {
  const CheckpointReader reader = open();
  std::size_t worked = 0;
  try {
    reader.for_each_layer([&](const CheckpointLayer&) { ++worked; },
                          [](const CheckpointProgress&) { return false; }, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kCancelled);
    EXPECT_EQ(error.code(), "checkpoint.cancelled");
  }
  EXPECT_EQ(worked, 1U);
  EXPECT_THROW(reader.for_each_layer(
                   [](const CheckpointLayer&) { throw std::runtime_error("no memory left"); }),
               std::runtime_error);
}

TEST_F(ReaderTest, ThreadsPackAtTheSameTime) {
  const CheckpointReader reader = open();
  std::vector<Bytes> want;
  for (const CheckpointLayer& layer : reader.layers()) {
    want.push_back(read_in_pieces(reader, layer.packed));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, copy = reader, t] {
      for (std::size_t i = 0; i < 8; ++i) {
        const std::size_t which = (t + i) % want.size();
        Bytes bytes(want[which].size());
        copy.pack(copy.layers()[which], bytes.data(), bytes.size());
        if (bytes != want[which]) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ReaderTest, DamagedAndMissingFiles) {
  const std::string path = folder_ / "model.safetensors";
  const std::string whole = read_file(path);
  write_file(path, whole.substr(0, whole.size() - 1));
  EXPECT_EQ(code_of([&] { open(); }), "checkpoint.header");
  std::string header = whole;
  header[8] = '[';
  write_file(path, header);
  EXPECT_EQ(code_of([&] { open(); }), "checkpoint.header");
  write_file(path, whole);
  write_file(folder_ / "config.json", "{");
  try {
    open();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kSpec);
    EXPECT_NE(std::string(error.what()).find("config.json"), std::string::npos) << error.what();
  }
  write_file(folder_ / "config.json", std::string("{}\0{}", 5));
  EXPECT_EQ(code_of([&] { open(); }), "checkpoint.not_text");
  std::filesystem::remove(folder_ / "config.json");
  EXPECT_EQ(code_of([&] { open(); }), "checkpoint.open");
  std::filesystem::remove(path);
  EXPECT_EQ(code_of([&] { open(); }), "checkpoint.open");
}

TEST_F(ReaderTest, AnotherConfigMayBeNamed) {
  std::filesystem::create_directory(folder_ / "other");
  std::filesystem::rename(folder_ / "config.json", folder_ / "other/c.json");
  CheckpointOptions options;
  options.config = folder_ / "other/c.json";
  EXPECT_EQ(open(options).layers().size(), 2U);
}

// The file gets shorter, or other zero points that make another layer of it, while it is open. The
// memory, which was sized for what was opened, is never overrun.
TEST_F(ReaderTest, FilesThatChangeAreNoticed) {
  const ReaderCase symmetric = [] {
    ReaderCase made{"",
                    R"({"quantization_config": {"quant_method": "gptq", "bits": 4,
                                                    "group_size": 64, "sym": true}})",
                    {}};
    Layer layer = random_layer(32, 128, 64, 4, false);
    std::fill(layer.zeros.begin(), layer.zeros.end(), 8);
    append(gptq(layer, "l", true), &made.tensors);
    return made;
  }();
  write_case(symmetric, folder_);
  const std::string path = folder_ / "model.safetensors";
  const std::string whole = read_file(path);
  const CheckpointReader reader = open();
  const CheckpointLayer& layer = reader.layers().front();
  EXPECT_EQ(layer.spec.gemm().weight.zero_point, ZeroPoint::kNone);
  Bytes memory(layer.packed.bytes + 64, 0xA5);
  const auto pack = [&] { reader.pack(layer, memory.data(), layer.packed.bytes); };
  const auto overwrite = [&path](std::size_t at, const std::string& bytes) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file.write(bytes.data(), std::ssize(bytes));
  };
  const std::size_t zeros = whole.find("\x77\x77\x77\x77\x77\x77\x77\x77");
  ASSERT_NE(zeros, std::string::npos);
  overwrite(zeros, "\x01");
  EXPECT_EQ(code_of(pack), "checkpoint.layer");  // the config says symmetric
  overwrite(zeros, "\x77");
  EXPECT_EQ(code_of(pack), "");
  std::filesystem::resize_file(path, whole.size() - 8);
  EXPECT_EQ(code_of(pack), "checkpoint.read");
  EXPECT_EQ(Bytes(memory.end() - 64, memory.end()), Bytes(64, 0xA5));
}

TEST_F(ReaderTest, AnOrderOfColumnsThatChangesIsNoticed) {
  write_case(gptq_case(true), folder_);
  const CheckpointReader reader = open();
  const CheckpointLayer& layer = reader.layers().front();
  Bytes memory(layer.packed.bytes);
  reader.pack(layer, memory.data(), memory.size());
  // The file is written in place: a file of another name would leave the opened one as it is.
  const TemporaryFolder other;
  ReaderCase changed = gptq_case(true);
  for (TestTensor& tensor : changed.tensors) {
    if (tensor.name.find("g_idx") == std::string::npos) continue;
    auto* const first = reinterpret_cast<std::int32_t*>(tensor.bytes.data());
    std::reverse(first, first + tensor.bytes.size() / sizeof *first);
  }
  write_case(changed, other);
  const std::string bytes = read_file(other / "model.safetensors");
  std::fstream(folder_ / "model.safetensors", std::ios::binary | std::ios::in | std::ios::out)
      .write(bytes.data(), std::ssize(bytes));
  EXPECT_EQ(code_of([&] { reader.pack(layer, memory.data(), memory.size()); }),
            "checkpoint.changed");
}

TEST_F(ReaderTest, PlainCheckpointsAndNamesThatAreTaken) {
  write_tensors(folder_ / "model.safetensors", {some_halves("a.weight", {16, 16})});
  EXPECT_EQ(code_of([&] { open(); }), "checkpoint.not_quantised");
  ReaderCase taken = gptq_case(false);
  taken.tensors.push_back(some_halves("model.layers.0.self_attn.qkv_proj.bias", {1}));
  write_case(taken, folder_);
  EXPECT_EQ(code_of([&] { open(); }), "checkpoint.collision");
}

}  // namespace
}  // namespace heddle
