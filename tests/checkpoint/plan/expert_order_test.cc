// Experts in act-order: what a launch computes from the stacks is what the checkpoint's own weights
// say, whichever orders columns are packed in.
#include "checkpoint/plan/expert_order.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "checkpoint/checkpoint_model.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/convert.h"
#include "tests/checkpoint/expert_stacks.h"

namespace heddle {
namespace {

constexpr std::size_t kHidden = kExpertHidden;
constexpr std::size_t kInner = kExpertInner;
constexpr std::size_t kGroup = 32;

// As the checkpoint has them: W [N, K] of every module, whatever group a column is of.
Values values_of(const SampleLayer& layer) {
  Values values(layer.n * layer.k);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t group =
        i / layer.k * layer.groups() + static_cast<std::size_t>(layer.index[i % layer.k]);
    values[i] = (static_cast<double>(layer.codes[i]) - layer.zeros[group]) *
                float16_to_double(kBinary16, layer.scales[group]);
  }
  return values;
}

// Columns of group 0 in ascending order, then those of group 1 ...
std::vector<std::int32_t> order_of(const std::vector<std::int32_t>& index) {
  std::vector<std::int32_t> order;
  for (std::int32_t group = 0; order.size() < index.size(); ++group) {
    for (std::size_t column = 0; column < index.size(); ++column) {
      if (index[column] == group) order.push_back(static_cast<std::int32_t>(column));
    }
  }
  return order;
}

// One expert with its biases, [N] of each module.
struct Expert {
  Values gate, up, down, gate_bias, up_bias, down_bias;
};

// Y of x. SiLU, and nothing is rounded.
Values output_of(const Expert& expert, const Values& x) {
  Values middle(kInner);
  for (std::size_t row = 0; row < kInner; ++row) {
    double gate = expert.gate_bias[row];
    double up = expert.up_bias[row];
    for (std::size_t column = 0; column < kHidden; ++column) {
      gate += expert.gate[row * kHidden + column] * x[column];
      up += expert.up[row * kHidden + column] * x[column];
    }
    middle[row] = gate / (1 + std::exp(-gate)) * up;
  }
  Values y = expert.down_bias;
  for (std::size_t row = 0; row < kHidden; ++row) {
    for (std::size_t column = 0; column < kInner; ++column) {
      y[row] += expert.down[row * kInner + column] * middle[column];
    }
  }
  return y;
}

// The matrices of a stack as the kernel reads them: columns as they are packed, gates before ups.
std::vector<Values> unpacked(const CheckpointReader& reader, const std::string& name) {
  const CheckpointLayer& layer = reader.layer(name);
  const GemmSpec& gemm = layer.spec.gemm();
  std::vector<std::uint8_t> packed(layer.packed.bytes);
  reader.pack(layer, packed.data(), packed.size());
  const std::size_t each = packed.size() / static_cast<std::size_t>(layer.matrices);
  std::vector<Values> matrices;
  for (std::size_t at = 0; at < packed.size(); at += each) {
    const QuantizedWeights weights = unpack_weights(gemm, packed.data() + at, each);
    Values values(static_cast<std::size_t>(gemm.shape.n * gemm.shape.k));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = value_of_code(gemm.weight, weights, i, static_cast<std::size_t>(gemm.shape.k));
    }
    matrices.push_back(std::move(values));
  }
  return matrices;
}

std::vector<std::int32_t> permutation_of(const CheckpointReader& reader, const std::string& name) {
  const CheckpointTensor& tensor = reader.layer(name).permutation.value();
  EXPECT_EQ(tensor.name, name + ".heddle_perm");
  EXPECT_EQ(tensor.type, TensorType::kI32);
  EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{kExperts, kExpertHidden}));
  std::vector<std::int32_t> order(tensor.bytes / sizeof(std::int32_t));
  reader.read(tensor, order.data(), tensor.bytes);
  return order;
}

class ExpertOrders : public ExpertStacks {
 protected:
  enum class Form { kGptq, kCompressed };
  // Which matrices of an expert are out of order.
  struct Orders {
    bool gate_up = true;
    bool down = true;
  };

  // Experts of Qwen, each with orders of its own; `orders` has those of each.
  void make(Form form, const std::vector<Orders>& orders, bool biases) {
    model_ = {};
    experts_.clear();
    gate_up_orders_.clear();
    model_.config = expert_config(kQwenNames, scheme_of(form));
    for (std::size_t expert = 0; expert < orders.size(); ++expert) {
      const auto seed = static_cast<unsigned>(10 * expert + 1);
      SampleLayer gate = random_layer(kInner, kHidden, kGroup, 4, orders[expert].gate_up, seed);
      SampleLayer up = random_layer(kInner, kHidden, kGroup, 4, false, seed + 1);
      up.index = gate.index;
      const SampleLayer down =
          random_layer(kHidden, kInner, kGroup, 4, orders[expert].down, seed + 2);
      gate_up_orders_.push_back(order_of(gate.index));
      Expert made{values_of(gate), values_of(up),  values_of(down),
                  Values(kInner),  Values(kInner), Values(kHidden)};
      add(form, expert, "gate_proj", gate, biases, &made.gate_bias);
      add(form, expert, "up_proj", up, biases, &made.up_bias);
      add(form, expert, "down_proj", down, biases, &made.down_bias);
      experts_.push_back(std::move(made));
    }
  }
  static std::string at() { return std::string(kQwenNames.at) + "."; }
  static std::string module_of(std::size_t expert, const std::string& leaf) {
    return at() + std::to_string(expert) + "." + leaf;
  }

  // Every expert of the reader's stacks gives Y of the checkpoint's.
  void expect_outputs(const CheckpointReader& reader) const {
    ASSERT_EQ(reader.experts().size(), 1U);
    const CheckpointExperts& stored = reader.experts().front();
    const MoeSpec& moe = stored.spec.moe();
    ASSERT_TRUE(stored.routed.has_value());
    EXPECT_EQ(stored.routed->moe().act_order, moe.act_order);
    EXPECT_EQ(reader.layer(stored.gate_up).spec.canonical_json(),
              Spec::from_gemm(moe_gemms(moe).gate_up).canonical_json());
    EXPECT_EQ(reader.layer(stored.gate_up).spec.gemm().act_order, moe.act_order);
    EXPECT_EQ(reader.layer(stored.gate_up).permutation.has_value(), moe.act_order);
    EXPECT_FALSE(reader.layer(stored.down).spec.gemm().act_order);
    EXPECT_FALSE(reader.layer(stored.down).permutation);
    std::vector<std::int32_t> permutation;
    if (moe.act_order) {
      permutation = permutation_of(reader, stored.gate_up);
      EXPECT_EQ(permutation, joined_orders());
    }
    const std::vector<Values> gate_up = unpacked(reader, stored.gate_up);
    const std::vector<Values> down = unpacked(reader, stored.down);
    Values gate_up_bias(kExperts * 2 * kInner);
    Values down_bias(kExperts * kHidden);
    if (moe.epilogue.bias) {
      gate_up_bias = bias_values(reader, stored.gate_up);
      down_bias = bias_values(reader, stored.down);
    }
    ASSERT_EQ(gate_up.size(), experts_.size());
    ASSERT_EQ(down.size(), experts_.size());
    for (std::size_t expert = 0; expert < experts_.size(); ++expert) {
      const auto part = [&](const Values& of, std::size_t index, std::size_t size) {
        return part_of_stack(of, static_cast<std::int64_t>(index), static_cast<std::int64_t>(size));
      };
      const Expert packed{part(gate_up[expert], 0, kInner * kHidden),
                          part(gate_up[expert], 1, kInner * kHidden),
                          down[expert],
                          part(gate_up_bias, 2 * expert, kInner),
                          part(gate_up_bias, 2 * expert + 1, kInner),
                          part(down_bias, expert, kHidden)};
      Values x(kHidden);
      Values ordered(kHidden);
      for (std::size_t i = 0; i < kHidden; ++i) {
        x[i] = std::sin(static_cast<double>(1 + i * (expert + 3)));
      }
      for (std::size_t i = 0; i < kHidden; ++i) {
        ordered[i] = permutation.empty()
                         ? x[i]
                         : x[static_cast<std::size_t>(permutation[expert * kHidden + i])];
      }
      expect_close(output_of(packed, ordered), output_of(experts_[expert], x), expert);
    }
  }
  // Sums of the same products in another order.
  static void expect_close(const Values& got, const Values& want, std::size_t expert) {
    double size = 0;
    for (const double one : want) size = std::max(size, std::abs(one));
    ASSERT_GT(size, 0);
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], 1e-12 * size) << "expert " << expert << " row " << i;
    }
  }
  std::vector<std::int32_t> joined_orders() const {
    std::vector<std::int32_t> all;
    for (const auto& one : gate_up_orders_) all.insert(all.end(), one.begin(), one.end());
    return all;
  }
  std::string repacked() {
    std::string packed = folder_ / "packed.heddle.safetensors";
    std::filesystem::remove(packed);
    repack_checkpoint(Checkpoint(folder_ / "model.safetensors"),
                      read_checkpoint_config(model_.config), packed, {});
    return packed;
  }
  TestTensor& tensor(const std::string& name) {
    const auto found = std::find_if(model_.tensors.begin(), model_.tensors.end(),
                                    [&](const TestTensor& one) { return one.name == name; });
    if (found == model_.tensors.end()) throw std::out_of_range(name);
    return *found;
  }

  ExpertModel model_;
  std::vector<Expert> experts_;
  std::vector<std::vector<std::int32_t>> gate_up_orders_;

 private:
  static std::string scheme_of(Form form) {
    if (form == Form::kGptq) {
      return R"({"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": false,
                 "desc_act": true})";
    }
    return R"({"quant_method": "compressed-tensors", "format": "pack-quantized",
               "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4,
                 "type": "int", "strategy": "group", "group_size": 32, "symmetric": false,
                 "actorder": "group"}}}})";
  }
  void add(Form form, std::size_t expert, const std::string& leaf, const SampleLayer& layer,
           bool biases, Values* bias) {
    const std::string module = module_of(expert, leaf);
    append(form == Form::kGptq ? gptq(layer, module, true) : compressed(layer, module),
           &model_.tensors);
    if (!biases) return;
    std::vector<std::uint16_t> bits;
    for (std::size_t i = 0; i < layer.n; ++i) {
      bits.push_back(static_cast<std::uint16_t>(0x3E00 + (i * 37 + expert * 11) % 0x180));
      (*bias)[i] = float16_to_double(kBfloat16, bits.back());
    }
    model_.tensors.push_back({module + ".bias",
                              TensorType::kBf16,
                              {static_cast<std::int64_t>(layer.n)},
                              bytes_of_values(bits)});
  }
};

TEST_F(ExpertOrders, GiveWhatTheCheckpointsWeightsSay) {
  const std::vector<std::vector<Orders>> cases = {
      {{true, true}, {true, true}, {true, true}},
      {{true, false}, {true, false}, {true, false}},
      {{false, true}, {false, true}, {false, true}},
      // Columns that happen to be in order.
      {{true, true}, {false, false}, {true, false}},
      {{false, false}, {true, true}, {false, true}},
      {{false, false}, {false, false}, {false, false}},
  };
  for (const Form form : {Form::kGptq, Form::kCompressed}) {
    for (const bool biases : {false, true}) {
      for (const std::vector<Orders>& orders : cases) {
        make(form, orders, biases);
        write(model_);
        const CheckpointReader reader = open();
        EXPECT_TRUE(reader.unserved().empty());
        EXPECT_TRUE(reader.tensors().empty());
        ASSERT_NO_FATAL_FAILURE(expect_outputs(reader));
        const bool ordered = std::any_of(orders.begin(), orders.end(),
                                         [](const Orders& one) { return one.gate_up; });
        EXPECT_EQ(reader.experts()[0].spec.moe().act_order, ordered);
        EXPECT_EQ(reader.experts()[0].spec.moe().epilogue.bias, biases);
        const std::string packed = repacked();
        const CheckpointReader again(packed);
        ASSERT_NO_FATAL_FAILURE(expect_outputs(again));
        EXPECT_EQ(again.experts()[0].spec.canonical_json(),
                  reader.experts()[0].spec.canonical_json());
        std::filesystem::remove(packed);
      }
    }
  }
}

// What the test above compares depends on every order.
TEST_F(ExpertOrders, OtherOrdersGiveOtherOutputs) {
  make(Form::kGptq, std::vector<Orders>(kExperts), true);
  const Values x = [] {
    Values values(kHidden);
    for (std::size_t i = 0; i < kHidden; ++i) values[i] = std::cos(static_cast<double>(i));
    return values;
  }();
  const Expert& right = experts_.front();
  const Values want = output_of(right, x);
  const auto differs = [&](const Expert& expert, const Values& of) {
    const Values got = output_of(expert, of);
    double size = 0;
    double difference = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      size = std::max(size, std::abs(want[i]));
      difference = std::max(difference, std::abs(got[i] - want[i]));
    }
    return difference > 1e-6 * size;
  };
  Values turned = x;
  std::swap(turned[0], turned[1]);
  EXPECT_TRUE(differs(right, turned));
  Expert other = right;
  std::swap_ranges(other.gate.begin(), other.gate.begin() + kHidden, other.gate.begin() + kHidden);
  EXPECT_TRUE(differs(other, x)) << "rows of gates alone";
  other = right;
  std::swap(other.up_bias[0], other.up_bias[1]);
  EXPECT_TRUE(differs(other, x)) << "a bias alone";
  EXPECT_FALSE(differs(right, x));
}

// Gates and ups share X, and with it an order.
TEST_F(ExpertOrders, GatesAndUpsInOtherOrdersAreRefused) {
  make(Form::kGptq, std::vector<Orders>(kExperts), false);
  TestTensor& index = tensor(module_of(1, "up_proj.g_idx"));
  std::rotate(index.bytes.begin(), index.bytes.begin() + 4, index.bytes.end());
  expect_refusal(model_, {"experts.1.gate_up_proj", module_of(1, "gate_proj"),
                          module_of(1, "up_proj"), "the order of their columns (act-order)"});
}

TEST_F(ExpertOrders, GroupsOfOtherSizesAreRefused) {
  for (const std::vector<std::string>& leaves :
       {std::vector<std::string>{"gate_proj", "up_proj"}, {"down_proj"}}) {
    make(Form::kGptq, std::vector<Orders>(kExperts), false);
    for (const std::string& leaf : leaves) {
      std::vector<std::uint8_t>& bytes = tensor(module_of(2, leaf + ".g_idx")).bytes;
      std::size_t at = 0;
      while (bytes[at] != 0) at += 4;
      bytes[at] = 1;  // a column of the first group to the second
    }
    expect_refusal(model_, {"experts.2." + (leaves.size() > 1 ? "gate_up_proj" : leaves[0]),
                            "g_idx does not give each group 32 columns"});
  }
}

// Columns of a rank's part of down would be of all groups.
TEST_F(ExpertOrders, RanksAreRefusedWhereDownHasAnOrder) {
  make(Form::kGptq, std::vector<Orders>(kExperts), false);
  write(model_);
  CheckpointOptions options;
  options.parallel = {0, 2};
  try {
    const CheckpointReader reader(folder_.path(), options);
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "checkpoint.not_converted");
    const std::string what = error.what();
    EXPECT_NE(what.find(module_of(0, "down_proj")), what.npos) << what;
    EXPECT_NE(what.find("it has act-order"), what.npos) << what;
  }
}

// Rows of gates and ups are split, whatever the order of their columns.
TEST_F(ExpertOrders, RanksShareTheOrderOfGatesAndUps) {
  make(Form::kGptq, std::vector<Orders>(kExperts, {true, false}), false);
  write(model_);
  CheckpointOptions options;
  options.parallel = {1, 2};
  const CheckpointReader rank(folder_.path(), options);
  const std::string name = at() + "gate_up_proj";
  EXPECT_EQ(permutation_of(rank, name), joined_orders());
  const std::vector<Values> got = unpacked(rank, name);
  for (std::size_t expert = 0; expert < experts_.size(); ++expert) {
    for (std::size_t row = 0; row < kInner; ++row) {
      const std::size_t half = kInner / 2;
      const Values& from = row < half ? experts_[expert].gate : experts_[expert].up;
      for (std::size_t column = 0; column < kHidden; ++column) {
        const auto of = static_cast<std::size_t>(gate_up_orders_[expert][column]);
        ASSERT_EQ(got[expert][row * kHidden + column], from[(half + row % half) * kHidden + of]);
      }
    }
  }
}

// Rows of the first product were not planned to be in it.
TEST_F(ExpertOrders, AnOrderOfDownThatAppearsLaterIsNoticed) {
  make(Form::kGptq, std::vector<Orders>(kExperts, {true, false}), false);
  write(model_);
  const CheckpointReader reader = open();
  auto* const index =
      reinterpret_cast<std::int32_t*>(tensor(module_of(1, "down_proj.g_idx")).bytes.data());
  std::reverse(index, index + kInner);
  const TemporaryFolder other;
  write_case({"", model_.config, model_.tensors}, other);
  // The file is written in place: a file of another name would leave the opened one as it is.
  const std::string bytes = read_file(other / "model.safetensors");
  std::fstream(folder_ / "model.safetensors", std::ios::binary | std::ios::in | std::ios::out)
      .write(bytes.data(), std::ssize(bytes));
  const auto pack = [&](const std::string& name) {
    const CheckpointLayer& layer = reader.layer(at() + name);
    std::vector<std::uint8_t> packed(layer.packed.bytes);
    reader.pack(layer, packed.data(), packed.size());
  };
  EXPECT_EQ(code_of([&] { pack("down_proj"); }), "checkpoint.changed");
  EXPECT_EQ(code_of([&] { pack("gate_up_proj"); }), "");
}

// A launch reads X at these places, and no less of them than the spec says.
TEST_F(ExpertOrders, APackedFileHasAnOrderOfEachExpert) {
  make(Form::kGptq, std::vector<Orders>(kExperts), false);
  write(model_);
  const std::string packed = repacked();
  const std::string name = at() + "gate_up_proj.heddle_perm";
  const struct {
    const char* what;
    std::function<void(TestTensor*)> change;
  } faults[] = {
      {"a column twice",
       [](TestTensor* order) { std::copy_n(order->bytes.end() - 4, 4, order->bytes.end() - 8); }},
      {"a column of another expert's",
       [](TestTensor* order) { order->bytes[order->bytes.size() - 4] ^= 0x80; }},
      {"an order of one expert",
       [](TestTensor* order) {
         order->bytes.resize(order->bytes.size() / kExperts);
         order->shape = {kExpertHidden};
       }},
      {"no order", [](TestTensor* order) { order->name = "another"; }},
  };
  for (const auto& fault : faults) {
    const SafetensorsFile file(packed);
    const Checkpoint checkpoint(packed);
    std::vector<TestTensor> tensors;
    for (const auto& [tensor, entry] : checkpoint.tensors()) {
      tensors.push_back({tensor, entry.tensor->type, entry.tensor->shape, checkpoint.read(tensor)});
      if (tensor == name) fault.change(&tensors.back());
    }
    const std::string edited = folder_ / "edited.safetensors";
    write_tensors(edited, tensors, file.header().metadata);
    EXPECT_EQ(code_of([&] { CheckpointReader{edited}; }), "checkpoint.packed") << fault.what;
    std::filesystem::remove(edited);
  }
}

TEST(OrderedRows, AreThoseOfEachHalf) {
  const std::vector<std::int32_t> order = {2, 0, 1};
  const auto firsts = [&](std::int64_t rows) {
    std::vector<std::int64_t> all;
    for (const RowRun& run : ordered_rows("experts.0.up_proj", rows, order)) {
      EXPECT_EQ(run.count, 1);
      all.push_back(run.first);
    }
    return all;
  };
  EXPECT_EQ(firsts(3), (std::vector<std::int64_t>{2, 0, 1}));
  EXPECT_EQ(firsts(6), (std::vector<std::int64_t>{2, 0, 1, 5, 3, 4}));
  for (const std::int64_t rows : {0, 2, 4, 9}) {
    EXPECT_EQ(code_of([&] { ordered_rows("experts.0.up_proj", rows, order); }), "checkpoint.layer");
  }
}

}  // namespace
}  // namespace heddle
