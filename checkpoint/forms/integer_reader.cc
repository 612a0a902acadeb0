#include "checkpoint/forms/integer_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkpoint/modules/layer_error.h"

namespace heddle {

IntegerTensors IntegerReader::read() {
  read_tensors();
  const auto fixed = static_cast<std::uint8_t>(fixed_zero());
  layer_.symmetric =
      scheme_.symmetric && std::all_of(layer_.zeros.begin(), layer_.zeros.end(),
                                       [fixed](std::uint8_t zero) { return zero == fixed; });
  return std::move(layer_);
}

void IntegerReader::contradiction(const std::string& why) const { refuse_layer(layer_.name, why); }

const TensorInfo& IntegerReader::tensor(const char* suffix) const {
  const TensorInfo* found = checkpoint_.find(full(suffix));
  if (found == nullptr) contradiction(fmt::format("the tensor {} is missing", full(suffix)));
  return *found;
}

const TensorInfo& IntegerReader::matrix(const char* suffix, TensorType type) const {
  const TensorInfo& found = tensor(suffix);
  if (found.type != type || found.shape.size() != 2) {
    contradiction(fmt::format("the tensor {} is {}, not {} with two sides", full(suffix),
                              describe(found.type, found.shape), to_string(type)));
  }
  for (const std::int64_t side : found.shape) {
    if (side < 1 || side > kLargestSide) {
      contradiction(fmt::format("the tensor {} is {}: a side is out of range", full(suffix),
                                describe(found.type, found.shape)));
    }
  }
  return found;
}

void IntegerReader::expect_shape(const char* suffix, const std::vector<std::int64_t>& want) const {
  const TensorInfo& found = tensor(suffix);
  if (found.shape == want) return;
  contradiction(fmt::format("the tensor {} is {}, expected [{}]", full(suffix),
                            describe(found.type, found.shape), fmt::join(want, ", ")));
}

std::vector<std::uint32_t> IntegerReader::read_words(const char* suffix) const {
  const Checkpoint::Entry& entry = checkpoint_.at(full(suffix));
  std::vector<std::uint32_t> words(entry.tensor->bytes / 4);
  entry.file->read(*entry.tensor, 0, words.data(), words.size() * 4);
  return words;
}

void IntegerReader::read_codes(const char* suffix) {
  if (load_ == Load::kShape) return;
  const Checkpoint::Entry& entry = checkpoint_.at(full(suffix));
  const std::size_t count = entry.tensor->bytes / 4;
  layer_.words = make_large_buffer<std::uint32_t>(count);
  entry.file->read(*entry.tensor, 0, layer_.words.get(), count * 4);
}

void IntegerReader::set_bits(int bits) {
  if (bits < 1 || bits > 8) {
    contradiction(fmt::format("it has {}-bit weights; 1 to 8 bits can be read", bits));
  }
  layer_.codes.bits = bits;
}

bool IntegerReader::has_zeros(const char* suffix) {
  if (checkpoint_.find(full(suffix)) != nullptr) return true;
  if (!scheme_.symmetric) {
    contradiction(
        fmt::format("the tensor {} is missing: the config says that the codes are not symmetric",
                    full(suffix)));
  }
  layer_.zeros.assign(static_cast<std::size_t>(layer_.codes.n * layer_.groups),
                      static_cast<std::uint8_t>(fixed_zero()));
  return false;
}

void IntegerReader::check_symmetric() const {
  const auto fixed = static_cast<std::uint8_t>(fixed_zero());
  const auto other = std::find_if(layer_.zeros.begin(), layer_.zeros.end(),
                                  [fixed](std::uint8_t zero) { return zero != fixed; });
  if (other == layer_.zeros.end()) return;
  const std::int64_t index = other - layer_.zeros.begin();
  contradiction(fmt::format(
      "the config says symmetric, which is the zero point {} everywhere, but the tensors say {} "
      "in row {}, group {}",
      fixed, *other, index / layer_.groups, index % layer_.groups));
}

void IntegerReader::unpack_zeros(const std::vector<std::uint32_t>& words, std::int64_t group_step,
                                 std::int64_t word_step, unsigned bias) {
  const unsigned mask = (1U << layer_.codes.bits) - 1;
  layer_.zeros.resize(static_cast<std::size_t>(layer_.codes.n * layer_.groups));
  for (std::int64_t g = 0; g < layer_.groups; ++g) {
    for (std::int64_t n = 0; n < layer_.codes.n; ++n) {
      const std::uint32_t stored =
          stream_value(words.data() + g * group_step, word_step, layer_.codes.bits, n);
      layer_.zeros[static_cast<std::size_t>(n * layer_.groups + g)] =
          static_cast<std::uint8_t>((stored + bias) & mask);
    }
  }
}

}  // namespace heddle
