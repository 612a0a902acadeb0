// The header's JSON is read event by event: a hostile header may be 100 MB, and a tree of it would
// take a hundred times that.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "checkpoint/files/tensor.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

using Json = nlohmann::json;

struct TypeFacts {
  TensorType type;
  std::string_view word;
  int bytes;
};

// In the order of the enumerators.
constexpr std::array<TypeFacts, 16> kTypes = {{{TensorType::kBool, "BOOL", 1},
                                               {TensorType::kU8, "U8", 1},
                                               {TensorType::kI8, "I8", 1},
                                               {TensorType::kF8E4M3, "F8_E4M3", 1},
                                               {TensorType::kF8E5M2, "F8_E5M2", 1},
                                               {TensorType::kF8E8M0, "F8_E8M0", 1},
                                               {TensorType::kU16, "U16", 2},
                                               {TensorType::kI16, "I16", 2},
                                               {TensorType::kF16, "F16", 2},
                                               {TensorType::kBf16, "BF16", 2},
                                               {TensorType::kU32, "U32", 4},
                                               {TensorType::kI32, "I32", 4},
                                               {TensorType::kF32, "F32", 4},
                                               {TensorType::kU64, "U64", 8},
                                               {TensorType::kI64, "I64", 8},
                                               {TensorType::kF64, "F64", 8}}};
constexpr std::size_t kMostSides = 16;
constexpr std::size_t kLongestName = 1024;

const TypeFacts& facts(TensorType type) { return kTypes[static_cast<std::size_t>(type)]; }

// The events of one header. A fault is kept as text; the reader then stops.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  SafetensorsHeader take_header() { return std::move(header_); }
  const std::string& fault() const { return fault_; }

  bool null() override { return unexpected("null"); }
  bool boolean(bool /*value*/) override { return unexpected("a boolean"); }
  bool number_integer(std::int64_t value) override {
    // The parser gives integers without a sign to number_unsigned.
    if (state_ != State::kShape && state_ != State::kOffsets) return unexpected("a number");
    const char* const field = state_ == State::kShape ? "shape" : "data_offsets";
    return fail(fmt::format("{} has a negative number in its {}: {}", where(), field, value));
  }
  bool number_unsigned(std::uint64_t value) override {
    if (state_ == State::kShape) {
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return fail(fmt::format("{} has a side of {}, which is too large", where(), value));
      }
      if (tensor_.shape.size() == kMostSides) return fail(where() + " has too many sides");
      tensor_.shape.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    if (state_ == State::kOffsets) {
      if (offset_count_ == 2) return fail(where() + " has more than two data_offsets");
      offsets_[offset_count_++] = value;
      return true;
    }
    return unexpected("a number");
  }
  bool number_float(double /*value*/, const std::string& /*text*/) override {
    return unexpected("a fraction, or a number beyond 64 bits");
  }
  bool string(std::string& value) override {
    if (state_ == State::kMetadata) {
      if (!header_.metadata.try_emplace(key_, std::move(value)).second) {
        return fail(fmt::format("__metadata__ has \"{}\" twice", excerpt(key_)));
      }
      return true;
    }
    if (state_ != State::kTensor || key_ != "dtype") return unexpected("a string");
    const std::optional<TensorType> type = tensor_type(value);
    if (!type) return fail(fmt::format("{} has the unknown dtype \"{}\"", where(), excerpt(value)));
    tensor_.type = *type;
    return true;
  }
  bool binary(Json::binary_t& /*value*/) override { return false; }
  bool key(std::string& value) override {
    key_ = std::move(value);
    if (state_ == State::kTop) return top_key();
    if (state_ == State::kMetadata) return true;
    static constexpr std::array<std::string_view, 3> kFields = {"dtype", "shape", "data_offsets"};
    const auto* const field = std::find(kFields.begin(), kFields.end(), key_);
    if (field == kFields.end()) {
      return fail(fmt::format("{} has the unknown field \"{}\"", where(), excerpt(key_)));
    }
    bool& seen = seen_[static_cast<std::size_t>(field - kFields.begin())];
    if (seen) return fail(fmt::format("{} has {} twice", where(), key_));
    return seen = true;
  }
  bool start_object(std::size_t /*size*/) override {
    if (state_ == State::kStart) return enter(State::kTop);
    if (state_ != State::kTop) return unexpected("an object");
    if (key_ == "__metadata__") return enter(State::kMetadata);
    tensor_ = {};
    tensor_.name = key_;
    seen_ = {};
    offset_count_ = 0;
    return enter(State::kTensor);
  }
  bool end_object() override {
    if (state_ == State::kTop) return enter(State::kEnd);
    const bool good = state_ != State::kTensor || end_tensor();
    state_ = State::kTop;
    return good;
  }
  bool start_array(std::size_t /*size*/) override {
    if (state_ == State::kTensor && key_ == "shape") return enter(State::kShape);
    if (state_ == State::kTensor && key_ == "data_offsets") return enter(State::kOffsets);
    return unexpected("an array");
  }
  bool end_array() override { return enter(State::kTensor); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return fail(fmt::format("the header is not JSON at its byte {}", position));
  }

 private:
  enum class State { kStart, kTop, kMetadata, kTensor, kShape, kOffsets, kEnd };

  bool enter(State state) {
    state_ = state;
    return true;
  }

  bool fail(std::string why) {
    if (fault_.empty()) fault_ = std::move(why);
    return false;
  }

  std::string where() const {
    switch (state_) {
      case State::kTensor:
      case State::kShape:
      case State::kOffsets:
        return fmt::format("tensor \"{}\"", excerpt(tensor_.name));
      case State::kMetadata:
        return "__metadata__";
      default:
        return key_.empty() ? "the header" : fmt::format("tensor \"{}\"", excerpt(key_));
    }
  }

  bool unexpected(const char* what) {
    return fail(fmt::format("{} has {} where it does not belong", where(), what));
  }

  bool top_key() {
    if (key_.empty() || key_.size() > kLongestName) {
      return fail("a tensor's name is empty or too long");
    }
    if (!names_.insert(key_).second) return fail(where() + " is there twice");
    return true;
  }

  bool end_tensor() {
    for (const bool seen : seen_) {
      if (!seen) return fail(where() + " lacks one of dtype, shape and data_offsets");
    }
    if (offset_count_ != 2) return fail(where() + " has fewer than two data_offsets");
    const std::optional<std::uint64_t> bytes = tensor_bytes(tensor_.type, tensor_.shape);
    if (!bytes) return fail(where() + " has a shape of 2^63 bytes or more");
    if (offsets_[1] < offsets_[0] || offsets_[1] - offsets_[0] != *bytes) {
      return fail(fmt::format("{} is {}, which are {} bytes, but its data_offsets are [{}, {}]",
                              where(), describe(tensor_.type, tensor_.shape), *bytes, offsets_[0],
                              offsets_[1]));
    }
    tensor_.begin = offsets_[0];
    tensor_.bytes = *bytes;
    header_.tensors.push_back(std::move(tensor_));
    return true;
  }

  SafetensorsHeader header_;
  std::unordered_set<std::string> names_;
  std::string fault_;
  State state_ = State::kStart;
  std::string key_;
  TensorInfo tensor_;
  std::array<bool, 3> seen_{};
  std::array<std::uint64_t, 2> offsets_{};
  std::size_t offset_count_ = 0;
};

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw Error(ErrorCategory::kFile, "checkpoint.header", fmt::format("{}: {}", file, why));
}

void check_cover(const std::vector<TensorInfo>& tensors, std::uint64_t data_bytes,
                 const std::string& file) {
  std::uint64_t end = 0;
  for (const TensorInfo& tensor : tensors) {
    const std::string name = excerpt(tensor.name);
    if (tensor.begin > data_bytes || tensor.bytes > data_bytes - tensor.begin) {
      refuse(file, fmt::format("tensor \"{}\" ends at byte {} of the data, but the file has {}: it "
                               "is truncated or its header lies",
                               name, tensor.begin + tensor.bytes, data_bytes));
    }
    if (tensor.begin != end) {
      refuse(file, fmt::format("tensor \"{}\" starts at byte {} of the data, {} byte {}", name,
                               tensor.begin,
                               tensor.begin < end ? "inside of another that ends at"
                                                  : "with a gap after the one that ends at",
                               end));
    }
    end = tensor.begin + tensor.bytes;
  }
  if (end != data_bytes) {
    refuse(file, fmt::format("the tensors end at byte {} of the data, but the file has {}", end,
                             data_bytes));
  }
}

}  // namespace

int bytes_of(TensorType type) noexcept { return facts(type).bytes; }

std::string_view to_string(TensorType type) noexcept { return facts(type).word; }

std::optional<TensorType> tensor_type(std::string_view word) noexcept {
  for (const TypeFacts& type : kTypes) {
    if (type.word == word) return type.type;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> tensor_bytes(TensorType type, const std::vector<std::int64_t>& shape) {
  // A side of zero makes the tensor empty, however large the others are.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t bytes = bytes_of(type);
  for (const std::int64_t side : shape) {
    if (side < 0 || __builtin_mul_overflow(bytes, side, &bytes)) return std::nullopt;
  }
  return static_cast<std::uint64_t>(bytes);
}

TensorInfo member_of_stack(const TensorInfo& stack, std::int64_t index) {
  TensorInfo member = stack;
  member.bytes /= static_cast<std::uint64_t>(stack.shape.front());
  member.begin += static_cast<std::uint64_t>(index) * member.bytes;
  member.shape.erase(member.shape.begin());
  return member;
}

std::string describe(TensorType type, const std::vector<std::int64_t>& shape) {
  return fmt::format("{} [{}]", to_string(type), fmt::join(shape, ", "));
}

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                           const std::string& file) {
  if (json.empty() || json.front() != '{') refuse(file, "the header is not a JSON object");
  // The parser would take a NUL byte for the end of the header and pass over what follows.
  if (const std::size_t nul = json.find('\0'); nul != json.npos) {
    refuse(file, fmt::format("the header is not JSON at its byte {}", nul + 1));
  }
  HeaderReader reader;
  if (!Json::sax_parse(json.begin(), json.end(), &reader)) {
    refuse(file, reader.fault().empty() ? "the header is not JSON" : reader.fault());
  }
  SafetensorsHeader header = reader.take_header();
  std::stable_sort(header.tensors.begin(), header.tensors.end(),
                   [](const TensorInfo& a, const TensorInfo& b) {
                     return std::pair(a.begin, a.bytes) < std::pair(b.begin, b.bytes);
                   });
  check_cover(header.tensors, data_bytes, file);
  return header;
}

}  // namespace heddle
