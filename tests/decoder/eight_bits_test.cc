// examples/decoder with activations of eight bits on the fake driver of a Hopper GPU: which kernels
// it launches in which order, and what they are given.
#include <map>
#include <set>

#include "tests/decoder/fake_decoder.h"

namespace heddle::testing {
namespace {

class EightBitDecoder : public FakeDecoder {
 protected:
  void SetUp() override {
    FakeDecoder::SetUp();
    if (IsSkipped()) return;
    take_hopper();
    context_ = std::make_unique<EngineContext>();
    stream_ = std::make_unique<EngineStream>();
  }
  ::Model open_bytes(EightBits kind, int arch = 90, int activation_bits = 0) {
    small_eight_bits(kind).write(folder_);
    return ::Model(folder_.path(), "int8:head", 3, arch, activation_bits);
  }
  // A row_transform ahead of each matrix.
  void expect_one_graph(EightBits kind) {
    const ::Model model = open_bytes(kind);
    const std::size_t before = fake::launches().size();
    Decoder decoder(runtime(), model, 64, stream_->get());
    const std::vector<fake::Launch> launches = fake::launches();
    std::vector<std::string> got;
    for (std::size_t i = before; i < launches.size(); ++i) {
      for (const char* op : {"row", "gemm", "kv_append", "decode_attention"}) {
        if (launches[i].kernel.rfind(std::string("heddle_") + op, 0) == 0) got.emplace_back(op);
      }
    }
    std::vector<std::string> expected;
    for (int layer = 0; layer < 2; ++layer) {
      for (const char* op : {"row", "gemm", "kv_append", "decode_attention", "row", "gemm", "row",
                             "gemm", "row", "gemm"}) {
        expected.emplace_back(op);
      }
    }
    expected.insert(expected.end(), {"row", "gemm"});
    EXPECT_EQ(got, expected);
    EXPECT_EQ(decoder.step({1, 2, 3}).size(), 3U * 96);
    decoder.read_prompts(ragged_prompts());
  }
};

// "int8 token" of each matrix of a layer and of its row_transforms.
std::set<std::string> forms_of(const ::Model& model) {
  std::set<std::string> forms;
  for (const Spec& spec : model.specs()) {
    if (spec.op() != Op::kRowTransform) continue;
    const RowTransformSpec& rows = spec.row_transform();
    forms.insert(std::string(rows.norm.type == NormType::kNone ? "quantize"
                             : rows.residual                   ? "add_norm"
                                                               : "norm") +
                 ' ' + std::to_string(rows.shape.columns) + ' ' +
                 std::string(to_string(rows.output.dtype)) + ' ' +
                 std::string(to_string(rows.output.granularity)) +
                 (rows.output.symmetric ? "" : " zeros") +
                 (rows.output.scale_dtype == RowScaleDtype::kE8m0 ? " e8m0" : "") +
                 (rows.output.scale_layout == ScaleLayout::kColumnMajor ? " columns" : ""));
  }
  return forms;
}

TEST_F(EightBitDecoder, RowsWriteWhatMatricesTake) {
  const std::map<EightBits, std::string> kinds = {{EightBits::kInt8, "int8 token"},
                                                  {EightBits::kInt8Zeros, "int8 token zeros"},
                                                  {EightBits::kFp8, "fp8_e4m3 token"},
                                                  {EightBits::kFp8Static, "fp8_e4m3 tensor"},
                                                  {EightBits::kFp8Unscaled, "fp8_e4m3 token"}};
  for (const auto& [kind, form] : kinds) {
    EXPECT_EQ(forms_of(open_bytes(kind)),
              (std::set<std::string>{"norm 128 " + form, "add_norm 128 " + form,
                                     "add_norm 128 bf16 none", "quantize 256 " + form}));
  }
}

// Blocks: a scale for each row and 128 columns.
TEST_F(EightBitDecoder, RowsWriteScalesOfGroupsAsMatricesReadThem) {
  for (const auto& [kind, scales] : {std::pair(EightBits::kFp8Blocks, "columns"),
                                     std::pair(EightBits::kFp8PowerBlocks, "e8m0 columns")}) {
    const std::string form = "fp8_e4m3 group " + std::string(scales);
    EXPECT_EQ(forms_of(open_bytes(kind)),
              (std::set<std::string>{"norm 320 " + form, "add_norm 320 " + form,
                                     "add_norm 320 bf16 none", "quantize 256 " + form}));
  }
}

// A scale and a zero point for each row, and a scale of the checkpoint.
TEST_F(EightBitDecoder, AStepIsOneGraph) {
  expect_one_graph(EightBits::kInt8Zeros);
  expect_one_graph(EightBits::kFp8Static);
}

// Three scales of a row: more than those of tokens.
TEST_F(EightBitDecoder, AStepOfBlocksIsOneGraph) { expect_one_graph(EightBits::kFp8Blocks); }

// INT8 needs no more than mma.sync, FP8 has it from sm_89 on.
TEST_F(EightBitDecoder, AnAmpereTakesEightBitsOfIntegersAlone) {
  const std::set<std::string> sixteen = {"norm 128 bf16 none", "add_norm 128 bf16 none"};
  EXPECT_EQ(forms_of(open_bytes(EightBits::kInt8, 80)),
            (std::set<std::string>{"norm 128 int8 token", "add_norm 128 int8 token",
                                   "add_norm 128 bf16 none", "quantize 256 int8 token"}));
  EXPECT_EQ(forms_of(open_bytes(EightBits::kFp8Static, 80)), sixteen);
}

TEST_F(EightBitDecoder, SixteenBitsCanBeAskedFor) {
  const std::set<std::string> sixteen = {"norm 128 bf16 none", "add_norm 128 bf16 none"};
  EXPECT_EQ(forms_of(open_bytes(EightBits::kFp8Static, 90, 16)), sixteen);
}

}  // namespace
}  // namespace heddle::testing
