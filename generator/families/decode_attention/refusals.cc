#include "generator/families/decode_attention/refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "generator/kv/kv_channel.h"
#include "heddle/kv_cache.h"
#include "heddle/spec.h"

namespace heddle {
namespace {

constexpr int kChunkBytes = 16;
// Heads whose codes and scales both are copied in whole.
constexpr const char* kNvfp4Heads = "64, 128 or multiples of 256";

bool entries_by_token(const KvTensor& tensor, const DecodeAttentionSpec& spec) {
  return tensor.granularity == KvGranularity::kToken || spec.kv.order == KvOrder::kHnd ||
         spec.shape.kv_heads == 1;
}

class TensorRefusal {
 public:
  TensorRefusal(const KvTensor& tensor, const DecodeAttentionSpec& spec, std::string pointer,
                std::vector<Problem>& problems)
      : tensor_(tensor), spec_(spec), pointer_(std::move(pointer)), problems_(problems) {}

  void check() {
    check_half();
    if (problems_.empty()) check_rows();
  }

 private:
  void check_half() {
    const KvDtype dtype = tensor_.dtype;
    const std::string name = '"' + std::string(to_string(dtype)) + '"';
    const bool fp16 = spec_.activation == DType::kFp16;
    if ((dtype == KvDtype::kFp16 && !fp16) || (dtype == KvDtype::kBf16 && fp16)) {
      refuse("/dtype", "a cache of 16-bit values has the type of Q", name,
             fp16 ? "\"fp16\"" : "\"bf16\"");
    }
  }

  void check_rows() {
    const int dim = spec_.shape.head_dim;
    const KvCacheLayout cache = kv_cache_layout(spec_.kv, spec_.shape.kv_heads, dim);
    const KvTensorLayout& layout = pointer_ == "/kv/k" ? cache.k : cache.v;
    const int bits = kv_bits(tensor_.dtype);
    if (layout.row_bytes % kChunkBytes != 0) {
      problems_.push_back(
          {"/shape/head_dim", "a row of codes is whole runs of 16 bytes", fmt::format("{}", dim),
           tensor_.dtype == KvDtype::kNvfp4 ? std::string(kNvfp4Heads)
                                            : fmt::format("multiples of {}", 128 / bits),
           ""});
      return;
    }
    const int entry = layout.scale_row_bytes;
    if (tensor_.dtype == KvDtype::kNvfp4) {
      if (entry == 4 || entry == 8 || entry % 16 == 0) return;
      problems_.push_back({"/shape/head_dim",
                           "the scales of a row are copied 4, 8 or multiples of 16 bytes at once",
                           fmt::format("{}, which makes {} bytes of scales", dim, entry),
                           kNvfp4Heads, ""});
      return;
    }
    if (entry > 2 && entry != 4 && entry != 8 && entry % 16 != 0) {
      refuse("/group_size", "the scales of a row are copied 4, 8 or multiples of 16 bytes at once",
             fmt::format("{}, which makes {} bytes of scales", tensor_.group_size, entry),
             "other groups or scales of another type");
    }
    if (tensor_.granularity == KvGranularity::kGroup && tensor_.group_size * bits % 128 != 0) {
      refuse("/group_size", "groups whose codes are no whole runs of 16 bytes have no kernel",
             fmt::format("{}", tensor_.group_size), fmt::format("multiples of {}", 128 / bits));
    }
    check_pairs(entry);
  }

  // Scales of two bytes are copied in words of two.
  void check_pairs(int entry) {
    if (entry != 2) return;
    if (!entries_by_token(tensor_, spec_)) {
      if (spec_.shape.kv_heads % 2 == 0) return;
      refuse("/scale_dtype", "scales of 16 bits lie in pairs of heads in the order nhd",
             fmt::format("{} heads", spec_.shape.kv_heads),
             "an even number of heads, the order hnd or scales in FP32");
    } else if (spec_.kv.layout == KvLayout::kPaged && spec_.kv.page_size % 2 != 0) {
      const Problem problem = {"/kv/page_size", "scales of 16 bits lie in pairs of tokens",
                               fmt::format("{}", spec_.kv.page_size),
                               "even numbers, or scales in FP32", ""};
      const bool is_told = std::any_of(problems_.begin(), problems_.end(), [&](const Problem& one) {
        return one.pointer == problem.pointer && one.message == problem.message;
      });
      if (!is_told) problems_.push_back(problem);  // K and V have the same pages
    }
  }

  void refuse(const char* field, const char* why, std::string value, std::string allowed) {
    problems_.push_back({pointer_ + field, why, std::move(value), std::move(allowed), ""});
  }

  const KvTensor& tensor_;
  const DecodeAttentionSpec& spec_;
  std::string pointer_;
  std::vector<Problem>& problems_;
};

}  // namespace

std::vector<Problem> refuse_attention_tensors(const DecodeAttentionSpec& spec) {
  std::vector<Problem> problems = refuse_channels(spec.kv);
  if (!problems.empty()) return problems;
  TensorRefusal(spec.kv.k, spec, "/kv/k", problems).check();
  TensorRefusal(spec.kv.v, spec, "/kv/v", problems).check();
  return problems;
}

}  // namespace heddle
