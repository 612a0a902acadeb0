#include "generator/model/family_table.h"

#include <algorithm>

#include "generator/model/families/rows.h"
#include "generator/spec/near_miss.h"
#include "heddle/error.h"

namespace heddle {
namespace {

template <typename Row>
bool is_of(const Row& row, std::string_view model_type) {
  const auto& types = row.model_types;
  return std::find(types.begin(), types.end(), model_type) != types.end();
}

}  // namespace

const std::vector<const FamilyRow*>& family_rows() {
  static const std::vector<const FamilyRow*> all = [] {
    std::vector<const FamilyRow*> list;
    for (const auto& rows :
         {llama_relatives, qwen_relatives, gemma_relatives, glm_relatives, deepseek_relatives,
          mixtures, minimax_relatives, mimo_and_step, hybrids, gpt_relatives}) {
      for (const FamilyRow& family : rows()) list.push_back(&family);
    }
    return list;
  }();
  return all;
}

const FamilyRow* find_family(std::string_view model_type) {
  for (const FamilyRow* family : family_rows()) {
    if (is_of(*family, model_type)) return family;
  }
  return nullptr;
}

const Wrapper* find_wrapper(std::string_view model_type) {
  for (const Wrapper& wrapper : wrappers()) {
    if (is_of(wrapper, model_type)) return &wrapper;
  }
  return nullptr;
}

void refuse_model_type(std::string_view model_type, const ConfigReader& config) {
  std::vector<std::string_view> known;
  for (const FamilyRow* family : family_rows()) {
    known.insert(known.end(), family->model_types.begin(), family->model_types.end());
  }
  for (const Wrapper& wrapper : wrappers()) {
    known.insert(known.end(), wrapper.model_types.begin(), wrapper.model_types.end());
  }
  throw Error(ErrorCategory::kUnsupported, "model.type",
              std::vector<Problem>{
                  {config.pointer("model_type"),
                   "the layers of this model type are not known to Heddle; model_type was looked "
                   "for here and in text_config, llm_config, language_config and thinker_config. "
                   "heddle build FOLDER takes them from the model's tensors",
                   '"' + excerpt(model_type) + '"', "one that heddle models lists",
                   did_you_mean(model_type, known)}});
}

}  // namespace heddle
