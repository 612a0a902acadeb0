// What each way to keep a model's key-value cache costs, in bytes and in accuracy.
//   heddle_kv_error CONFIG [--data FILE | --tokens N] [--seed N]
//
// Without --data K is synthetic with channels of large values, as trained models have them, V
// without, and Q is random. FILE is a safetensors file with "k" and "v", [tokens, kv_heads,
// head_dim], and perhaps "q", [heads, head_dim]. Of a model with more than 8 heads of K and V the
// first 8 count. Exit codes: 0 done, 1 the model has no cache, 2 wrong input.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "heddle/error.h"
#include "heddle/model.h"
#include "kv_error.h"

namespace heddle::kv_error {

using nlohmann::json;

struct Options {
  std::string config;
  std::string data;  // empty: synthetic
  int tokens = 512;
  std::uint32_t seed = 1;
};

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

int number_of(const std::string& name, const std::string& text, int least, int most) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  const bool is_number = !text.empty() && *end == '\0';
  if (is_number && value >= least && value <= most) return static_cast<int>(value);
  refuse(name + ": \"" + text + "\" is not a number from " + std::to_string(least) + " to " +
         std::to_string(most));
}

Options read_options(const std::vector<std::string>& words) {
  constexpr const char* kUsage =
      "usage: heddle_kv_error CONFIG [--data FILE | --tokens N] [--seed N]";
  Options options;
  bool has_tokens = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value = [&] {
      if (i + 1 == words.size()) refuse(words[i] + " has no value; " + kUsage);
      return words[++i];
    };
    const std::string& word = words[i];
    if (word == "--data") {
      options.data = value();
      if (options.data.empty()) refuse("--data is empty");
    } else if (word == "--tokens") {
      options.tokens = number_of(word, value(), 1, 65536);
      has_tokens = true;
    } else if (word == "--seed") {
      options.seed = static_cast<std::uint32_t>(number_of(word, value(), 0, 2147483647));
    } else if (word.substr(0, 1) != "-" && options.config.empty()) {
      options.config = word;
    } else {
      refuse("\"" + word + "\" is not known; " + kUsage);
    }
  }
  if (options.config.empty()) refuse(kUsage);
  if (has_tokens && !options.data.empty()) refuse("--data has tokens of its own: leave one away");
  return options;
}

std::string read_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) refuse(path + " is a folder, not a file");
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.is_open() || file.bad()) refuse("cannot read " + path);
  return text;
}

// A small safetensors file: K, V and perhaps Q.
class DataFile {
 public:
  explicit DataFile(std::string path) : path_(std::move(path)), bytes_(read_file(path_)) {
    std::uint64_t length = 0;
    if (bytes_.size() < sizeof length) fail("is no safetensors file: it has fewer than 8 bytes");
    std::memcpy(&length, bytes_.data(), sizeof length);
    if (length > bytes_.size() - sizeof length) {
      fail("is no safetensors file: its header would have " + std::to_string(length) +
           " bytes, and the file has " + std::to_string(bytes_.size()));
    }
    begin_ = sizeof length + length;
    header_ = json::parse(bytes_.substr(sizeof length, length), nullptr, false);
    if (!header_.is_object()) fail("is no safetensors file: its header is no JSON object");
  }

  bool has(const char* name) const { return header_.contains(name); }

  std::vector<std::int64_t> shape(const char* name) const {
    if (!has(name)) fail(std::string("there is no tensor \"") + name + '"');
    return numbers(name, "shape");
  }

  // All elements, rounded to `dtype`.
  std::vector<float> values(const char* name, DType dtype) const {
    const json& tensor = header_[name];
    const bool has_type = tensor.contains("dtype") && tensor["dtype"].is_string();
    const std::string type = has_type ? tensor["dtype"].get<std::string>() : "of no dtype";
    const std::size_t size = type == "F32" ? 4 : 2;
    if (type != "F32" && type != "F16" && type != "BF16") {
      fail(of_tensor(name) + "is " + type + "; it has to be F16, BF16 or F32");
    }
    std::size_t count = 1;
    for (const std::int64_t side : shape(name)) count *= static_cast<std::size_t>(side);
    const std::vector<std::int64_t> place = numbers(name, "data_offsets");
    if (place.size() != 2 || place[1] < place[0] ||
        static_cast<std::size_t>(place[1]) > bytes_.size() - begin_ ||
        static_cast<std::size_t>(place[1] - place[0]) != size * count) {
      fail(of_tensor(name) + "needs " + std::to_string(size * count) +
           " bytes for its shape and dtype, and its \"data_offsets\" are not two places so far "
           "apart among the file's " +
           std::to_string(bytes_.size() - begin_) + " bytes of data");
    }
    KvToken stored;
    const auto* const first =
        reinterpret_cast<const std::uint8_t*>(bytes_.data()) + begin_ + place[0];
    stored.codes.assign(first, first + size * count);
    std::vector<float> values(count);
    if (type == "F32") {
      std::memcpy(values.data(), stored.codes.data(), stored.codes.size());
    } else {
      const KvTensor plain = plain_tensor(type == "F16" ? DType::kFp16 : DType::kBf16);
      values = dequantize_kv(plain, 1, static_cast<int>(count), stored);
    }
    values = rounded(dtype, values);
    for (std::size_t i = 0; i < count; ++i) {
      if (std::isfinite(values[i])) continue;
      fail("element " + std::to_string(i) + " of \"" + name + "\" is not finite in " +
           std::string(to_string(dtype)));
    }
    return values;
  }

  // A list of whole numbers that the header has of the tensor.
  std::vector<std::int64_t> numbers(const char* name, const char* what) const {
    std::vector<std::int64_t> values;
    const json& tensor = header_[name];
    const json list = tensor.is_object() ? tensor.value(what, json()) : json();
    for (const json& value : list) {
      if (value.is_number_unsigned()) values.push_back(value.get<std::int64_t>());
    }
    if (list.is_array() && values.size() == list.size()) return values;
    fail(of_tensor(name) + "has no list of whole numbers as its \"" + what +
         "\" in the file's header");
  }
  static std::string of_tensor(const char* name) {
    return "the tensor \"" + std::string(name) + "\" ";
  }
  [[noreturn]] void fail(const std::string& why) const { refuse(path_ + ": " + why); }

 private:
  std::string path_;
  std::string bytes_;
  std::size_t begin_ = 0;
  json header_;
};

// The first `taken` of every `row` elements.
std::vector<float> first_of_rows(const std::vector<float>& values, int row, int taken) {
  std::vector<float> some;
  for (auto at = values.begin(); at != values.end(); at += row) {
    some.insert(some.end(), at, at + taken);
  }
  return some;
}

KvSample read_sample(const DataFile& file, const AttentionShape& shape, KvSample sample,
                     DType dtype) {
  const std::vector<std::int64_t> k = file.shape("k");
  if (k.size() != 3 || k[0] < 1 || k[0] > 65536 || k[1] != shape.kv_heads ||
      k[2] != shape.head_dim) {
    file.fail("\"k\" is not [tokens, " + std::to_string(shape.kv_heads) + ", " +
              std::to_string(shape.head_dim) + "] with 1 to 65536 tokens, as the model has it");
  }
  if (k != file.shape("v")) file.fail("\"k\" and \"v\" have different shapes");
  const int row = shape.kv_heads * shape.head_dim;
  const int taken = sample.heads * shape.head_dim;
  sample.tokens = static_cast<int>(k[0]);
  sample.k = first_of_rows(file.values("k", dtype), row, taken);
  sample.v = first_of_rows(file.values("v", dtype), row, taken);
  if (!file.has("q")) return sample;
  if (file.shape("q") != std::vector<std::int64_t>{shape.heads, shape.head_dim}) {
    file.fail("\"q\" is not [" + std::to_string(shape.heads) + ", " +
              std::to_string(shape.head_dim) + "], as the model has it");
  }
  sample.q = first_of_rows(file.values("q", dtype), row * sample.ratio, taken * sample.ratio);
  return sample;
}

// The cache that most layers of the model have: the spec of its attention.
const DecodeAttentionSpec* most_attention(const Model& model, int* layers) {
  const DecodeAttentionSpec* found = nullptr;
  for (const ModelKernel& append : model.kernels) {
    if (append.spec.op() != Op::kKvAppend || append.layers <= *layers) continue;
    const KvShape kv = append.spec.kv_shape();
    for (const ModelKernel& kernel : model.kernels) {
      if (kernel.spec.op() != Op::kDecodeAttention) continue;
      const DecodeAttentionSpec& attention = kernel.spec.decode_attention();
      if (attention.shape.kv_heads != kv.kv_heads || attention.shape.head_dim != kv.head_dim) {
        continue;
      }
      found = &attention;
      *layers = append.layers;
    }
  }
  return found;
}

Model read_model(const std::string& path) {
  try {
    return cache_model_from_config(read_file(path), "{}");
  } catch (const Error& error) {
    refuse(path + ": " + error.what());
  }
}

int run(const Options& options) {
  constexpr int kMostHeads = 8;  // that are measured: all of a model's are alike here
  const Model model = read_model(options.config);
  int layers = 0;
  const DecodeAttentionSpec* const attention = most_attention(model, &layers);
  if (attention == nullptr) {
    std::cerr << options.config << ": "
              << (model.unserved.empty() ? "the model has no key-value cache"
                                         : model.unserved.front().reason)
              << "\n";
    return 1;
  }
  const AttentionShape& shape = attention->shape;
  const DType dtype = attention->activation;
  const int heads = std::min(shape.kv_heads, kMostHeads);
  KvSample sample = make_kv_sample(heads, shape.heads / shape.kv_heads, shape.head_dim,
                                   options.data.empty() ? options.tokens : 1, dtype, options.seed);
  if (!options.data.empty()) sample = read_sample(DataFile(options.data), shape, sample, dtype);
  if (std::all_of(sample.v.begin(), sample.v.end(), [](float value) { return value == 0; })) {
    refuse(options.data + ": \"v\" is zero everywhere: there is nothing to compare errors with");
  }

  const ErrorMeter meter(sample);
  std::printf("%-44s  CODES  SCALES   K ERROR   V ERROR     ERROR\n", "CACHE");
  for (const KvChoice& choice : kv_choices(heads, shape.head_dim, dtype)) {
    KvSpec kv;
    kv.k = choice.k;
    kv.v = choice.v;
    const KvTokenBytes bytes = kv_token_bytes(kv_cache_layout(kv, shape.kv_heads, shape.head_dim));
    const KvError error = meter.measure(choice.k, choice.v);
    std::printf("%-44s  %5g  %6g  %8.2e  %8.2e  %8.2e\n", choice.name.c_str(),
                static_cast<double>(bytes.codes) / shape.kv_heads,
                static_cast<double>(bytes.scales) / shape.kv_heads, error.k_only, error.v_only,
                error.both);
  }
  std::printf("%d layers x %d heads, %d tokens; CODES and SCALES are bytes of a token and head\n",
              layers, shape.kv_heads, sample.tokens);
  return 0;
}

}  // namespace heddle::kv_error

int main(int argc, char** argv) {
  try {
    return heddle::kv_error::run(
        heddle::kv_error::read_options(std::vector<std::string>(argv + 1, argv + argc)));
  } catch (const std::exception& error) {  // heddle::Error is one, too
    std::cerr << error.what() << "\n";
    return 2;
  }
}
