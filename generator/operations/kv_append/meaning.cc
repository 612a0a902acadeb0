// The rules between the fields of kv_append.
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "generator/operations/kv_append/kv_append.h"
#include "generator/spec/in_quotes.h"
#include "generator/spec/kv_meaning.h"

namespace heddle {
namespace {

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

}  // namespace heddle
