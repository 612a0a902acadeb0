#include "generator/spec/kv_meaning.h"

#include <string>
#include <utility>

#include "generator/spec/in_quotes.h"

namespace heddle {
namespace {

constexpr int kStepDim = 16;  // elements of a head that one thread takes
constexpr int kNvfp4Group = 16;

bool is_integer(KvDtype dtype) {
  return dtype == KvDtype::kInt8 || dtype == KvDtype::kInt4 || dtype == KvDtype::kInt2;
}
bool is_16_bit(KvDtype dtype) { return dtype == KvDtype::kFp16 || dtype == KvDtype::kBf16; }

class TensorRules {
 public:
  TensorRules(const KvTensor& tensor, std::string pointer, int head_dim, Problems& problems)
      : tensor_(tensor), pointer_(std::move(pointer)), head_dim_(head_dim), problems_(problems) {}

  void check() {
    const bool fits = check_granularity();
    unless(tensor_.symmetric || is_integer(tensor_.dtype), "symmetric",
           "only integer codes have zero points", "false", "true");
    check_group();
    if (fits) check_scale();  // the type of scales follows from what shares them
  }

 private:
  bool check_granularity() {
    const std::size_t before = problems_.size();
    const std::string granularity = in_quotes(to_string(tensor_.granularity));
    const bool none = tensor_.granularity == KvGranularity::kNone;
    if (is_16_bit(tensor_.dtype)) {
      unless(none, "granularity", "16-bit values have no scales", granularity, "\"none\"");
    } else if (tensor_.dtype == KvDtype::kNvfp4) {
      unless(tensor_.granularity == KvGranularity::kGroup, "granularity",
             "NVFP4 has a scale for each group of 16", granularity, "\"group\"");
    } else {
      unless(!none, "granularity", "codes of this type need scales", granularity,
             "\"tensor\", \"token\", \"head\", \"group\" or \"channel\"");
    }
    return problems_.size() == before;
  }

  void check_group() {
    const int size = tensor_.group_size;
    const auto refuse = [&](const char* why, std::string allowed) {
      unless(false, "group_size", why, std::to_string(size), std::move(allowed));
    };
    if (tensor_.granularity == KvGranularity::kGroup) {
      if (tensor_.dtype == KvDtype::kNvfp4 && size != kNvfp4Group) {
        refuse("NVFP4 has groups of 16", "16");
      } else if (size % kStepDim != 0 || head_dim_ % size != 0) {
        refuse("groups are whole runs of 16 elements that divide the head",
               "multiples of 16 that divide " + std::to_string(head_dim_));
      }
    } else if (tensor_.granularity != KvGranularity::kChannel && size != 0) {
      refuse("only the granularities group and channel have groups", "0");
    }
  }

  void check_scale() {
    if (!tensor_.scale_dtype) return;
    const DType type = *tensor_.scale_dtype;
    const auto only = [&](bool fine, const char* why, const char* allowed) {
      unless(fine, "scale_dtype", why, in_quotes(to_string(type)), allowed);
    };
    if (is_16_bit(tensor_.dtype)) {
      only(false, "16-bit values have no scales", "none");
    } else if (tensor_.dtype == KvDtype::kNvfp4) {
      only(type == DType::kE4m3, "the scales of NVFP4 are e4m3", "\"e4m3\"");
    } else if (tensor_.granularity == KvGranularity::kTensor) {
      only(type == DType::kFp32, "the scale of a whole tensor is given in FP32", "\"fp32\"");
    } else {
      only(type != DType::kE8m0 && type != DType::kE4m3, "a cache has no scales of this type",
           "\"fp16\", \"bf16\" or \"fp32\"");
    }
  }

  void unless(bool fine, const char* field, const char* why, std::string value,
              std::string allowed) {
    if (fine) return;
    problems_.push_back({pointer_ + '/' + field, why, std::move(value), std::move(allowed), ""});
  }

  const KvTensor& tensor_;
  std::string pointer_;
  int head_dim_;
  Problems& problems_;
};

}  // namespace

void check_kv(const KvSpec& kv, int head_dim, Problems& problems) {
  TensorRules(kv.k, "/kv/k", head_dim, problems).check();
  TensorRules(kv.v, "/kv/v", head_dim, problems).check();
  if (kv.layout == KvLayout::kPaged && kv.page_size == 0) {
    problems.push_back({"/kv/page_size", "a page holds at least one token", "0", "1 to 256", ""});
  }
  if (kv.layout == KvLayout::kContiguous && kv.page_size != 0) {
    problems.push_back({"/kv/page_size", "a contiguous cache has no pages",
                        std::to_string(kv.page_size), "0", ""});
  }
  if (head_dim % kStepDim != 0) {
    problems.push_back({"/shape/head_dim", "rows of the cache are whole runs of 16 elements",
                        std::to_string(head_dim), "multiples of 16", ""});
  }
}

}  // namespace heddle
