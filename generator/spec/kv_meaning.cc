// The rules between the fields of the operations on a key-value cache.
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "generator/spec/in_quotes.h"
#include "generator/spec/meaning.h"

namespace heddle {
namespace {

using Problems = std::vector<Problem>;

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
    unless(tensor_.symmetric || is_integer(tensor_.dtype), "symmetric",
           "only integer codes have zero points", "false", "true");
    check_group();
    check_scale();
  }

 private:
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

void check_kv(const KvSpec& kv, int head_dim, Problems& problems) {
  TensorRules(kv.k, "/kv/k", head_dim, problems).check();
  TensorRules(kv.v, "/kv/v", head_dim, problems).check();
  if (kv.layout == KvLayout::kPaged && kv.page_size == 0) {
    problems.push_back({"/kv/page_size", "a page holds at least one token", "0", "1 to 256", ""});
  }
  if (head_dim % kStepDim != 0) {
    problems.push_back({"/shape/head_dim", "rows of the cache are whole runs of 16 elements",
                        std::to_string(head_dim), "multiples of 16", ""});
  }
}

// Which numbers each type of scaling has.
class ScalingRules {
 public:
  ScalingRules(const RopeSpec& rope, Problems& problems)
      : rope_(rope), scaling_(rope.scaling), problems_(problems) {}

  void check() {
    const bool llama3 = scaling_.type == RopeScalingType::kLlama3;
    const bool yarn = scaling_.type == RopeScalingType::kYarn;
    const bool some = scaling_.type != RopeScalingType::kNone;
    if (some && rope_.source == RopeSource::kTable) {
      refuse("/type", "a table has the angles as they are", in_quotes(to_string(scaling_.type)),
             "\"none\", or the source \"base\"");
    }
    exactly(some, scaling_.factor.has_value(), "/factor");
    exactly(llama3 || yarn, scaling_.original_max_position_embeddings.has_value(),
            "/original_max_position_embeddings");
    exactly(llama3, scaling_.low_freq_factor.has_value(), "/low_freq_factor");
    exactly(llama3, scaling_.high_freq_factor.has_value(), "/high_freq_factor");
    // complete() sets these where they are needed.
    only(yarn, scaling_.beta_fast.has_value(), "/beta_fast");
    only(yarn, scaling_.beta_slow.has_value(), "/beta_slow");
    only(yarn, scaling_.attention_factor.has_value(), "/attention_factor");
    only(yarn, !scaling_.truncate, "/truncate");
    const std::optional<float>& low = scaling_.low_freq_factor;
    if (low && scaling_.high_freq_factor && *scaling_.high_freq_factor <= *low) {
      refuse("/high_freq_factor", "not more than low_freq_factor",
             number_text(*scaling_.high_freq_factor), "more than " + number_text(*low));
    }
    const std::optional<float>& slow = scaling_.beta_slow;
    if (slow && scaling_.beta_fast && *scaling_.beta_fast <= *slow) {
      refuse("/beta_fast", "not more than beta_slow", number_text(*scaling_.beta_fast),
             "more than " + number_text(*slow));
    }
  }

 private:
  static std::string number_text(float value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
  }
  void exactly(bool wanted, bool given, const char* field) {
    only(wanted, given, field);
    if (!wanted || given) return;
    refuse(field, "scaling of this type needs it", "", "a number");
  }
  void only(bool has, bool given, const char* field) {
    if (has || !given) return;
    refuse(field, "scaling of this type has none", "given",
           std::string("none with ") + in_quotes(to_string(scaling_.type)));
  }
  void refuse(const char* field, const char* why, std::string value, std::string allowed) {
    problems_.push_back(
        {std::string("/rope/scaling") + field, why, std::move(value), std::move(allowed), ""});
  }

  const RopeSpec& rope_;
  const RopeScaling& scaling_;
  Problems& problems_;
};

void check_query(const KvAppendSpec& spec, Problems& problems) {
  const int kv_heads = spec.shape.kv_heads;
  if (spec.query.heads % kv_heads != 0) {
    problems.push_back({"/query/heads", "each head of K and V serves as many heads of Q",
                        std::to_string(spec.query.heads),
                        "multiples of " + std::to_string(kv_heads), ""});
  }
  if (!spec.norm.epsilon && spec.norm.weight_offset != 0) {
    problems.push_back({"/norm/weight_offset", "the spec has no norm", "1", "0", ""});
  }
}

}  // namespace

std::vector<Problem> check_meaning(const KvAppendSpec& spec) {
  Problems problems;
  check_kv(spec.kv, spec.shape.head_dim, problems);
  check_query(spec, problems);
  ScalingRules(spec.rope, problems).check();
  if (spec.rope.dim > spec.shape.head_dim) {
    problems.push_back({"/rope/dim", "more elements than a head has", std::to_string(spec.rope.dim),
                        "at most " + std::to_string(spec.shape.head_dim), ""});
  }
  return problems;
}

std::vector<Problem> check_meaning(const DecodeAttentionSpec& spec) {
  Problems problems;
  const auto [heads, kv_heads, head_dim, query_len] = spec.shape;
  check_kv(spec.kv, head_dim, problems);
  if (heads % kv_heads != 0) {
    problems.push_back({"/shape/heads", "each head of K and V serves as many heads of Q",
                        std::to_string(heads), "multiples of " + std::to_string(kv_heads), ""});
  }
  if (spec.sink_tokens != 0 && spec.window == 0) {
    problems.push_back({"/sink_tokens", "without a window all tokens are seen",
                        std::to_string(spec.sink_tokens), "0, or a window", ""});
  }
  return problems;
}

}  // namespace heddle
