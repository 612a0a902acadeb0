#include "tests/random_specs/check_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <set>
#include <string>
#include <string_view>

#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {
namespace {

// What a config may take. Patterns of a hostile one may take some seconds (kMostMatchingWork in
// regex_program.h).
constexpr double kMostSeconds = 15;

struct ConfigFault {
  std::string what;
};

void must(bool fine, const std::string& what) {
  if (!fine) throw ConfigFault{what};
}

void add_keys(const Json& value, std::set<std::string, std::less<>>* keys) {
  for (const auto& [name, member] : value.items()) {
    if (value.is_object()) keys->insert(name);
    if (member.is_structured()) add_keys(member, keys);
  }
}

// Names of all fields of the texts.
std::set<std::string, std::less<>> keys_of(const ConfigCase& config) {
  std::set<std::string, std::less<>> keys;
  for (const std::string* text :
       {&config.config, &config.hf_quant_config, &config.quantize_config}) {
    const Json value = Json::parse(*text, nullptr, false);
    if (value.is_structured()) add_keys(value, &keys);
  }
  return keys;
}

bool names_one_of(std::string_view message, const std::set<std::string, std::less<>>& keys) {
  const auto is_part = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (std::size_t at = 0; at < message.size(); ++at) {
    const std::size_t begin = at;
    while (at < message.size() && is_part(message[at])) ++at;
    if (keys.count(message.substr(begin, at - begin)) != 0) return true;
  }
  return false;
}

// A refusal must say where: a pointer, or a message that names a field of the config.
void check_refusal(const Error& error, const ConfigCase& config) {
  const ErrorCategory category = error.category();
  must(category == ErrorCategory::kSpec || category == ErrorCategory::kUnsupported,
       fmt::format("another error than a refusal: {}: {}", error.code(), error.what()));
  must(!error.problems().empty(), "a refusal without a reason");
  for (const Problem& problem : error.problems()) {
    must(!problem.message.empty(), "a refusal with an empty reason");
    const bool is_whole = problem.message.find("JSON") != std::string::npos ||
                          problem.message.find("document") != std::string::npos;
    // What stands after the most that a refusal lists.
    const bool is_number = problem.message.find("more problems") != std::string::npos;
    must(!problem.pointer.empty() || is_whole || is_number ||
             names_one_of(problem.message, keys_of(config)),
         fmt::format("a refusal that names no place: {}", error.what()));
  }
}

void check_kernels(const std::vector<ModelKernel>& kernels, const Target& target,
                   ConfigVerdict* verdict) {
  for (const ModelKernel& kernel : kernels) {
    const std::string canonical = kernel.spec.canonical_json();
    must(Spec::parse(canonical).canonical_json() == canonical,
         "a kernel's spec is another one once it is parsed: " + canonical);
    try {
      must(resolve(kernel.spec, target).kernel_count() > 0, "a plan without kernels");
      ++verdict->kernels;
    } catch (const Error& error) {
      must(error.category() == ErrorCategory::kUnsupported && !error.problems().empty(),
           fmt::format("a kernel's plan fails with {}: {}", error.code(), error.what()));
    }
  }
}

void check_model(const Model& model, const Target& target, ConfigVerdict* verdict) {
  for (const ModelLayer& layer : model.layers) {
    must(layer.kernel >= 0 || !layer.reason.empty(), "a layer without kernel and reason");
    must(layer.kernel < static_cast<int>(model.kernels.size()), "a kernel that there is not");
  }
  check_kernels(model.kernels, target, verdict);
  check_kernels(model.rows, target, verdict);
  must(!model_facts(model).empty(), "no facts");
}

template <typename Read>
void check_read(const ConfigCase& config, const Target& target, ConfigVerdict* verdict, Read read) {
  std::optional<Model> model;
  try {
    model = read();
  } catch (const Error& error) {
    return check_refusal(error, config);
  }
  verdict->is_accepted = true;
  check_model(*model, target, verdict);
}

}  // namespace

ConfigVerdict check_config(const ConfigCase& config) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  ConfigVerdict verdict;
  try {
    const Target target = target_from_name(config.target.empty() ? "h100" : config.target);
    check_read(config, target, &verdict, [&] { return model_from_config(config.texts()); });
    check_read(config, target, &verdict,
               [&] { return cache_model_from_config(config.config, config.kv); });
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    must(seconds <= kMostSeconds, fmt::format("{:.0f} s", seconds));
  } catch (const ConfigFault& fault) {
    verdict.fault = fault.what;
  } catch (const Error& error) {
    verdict.fault = fmt::format("{}: {}", error.code(), error.what());
  } catch (const std::bad_alloc&) {
    verdict.fault = "out of the memory that a config may take";
  } catch (const std::exception& error) {
    verdict.fault = fmt::format("an exception: {}", error.what());
  }
  return verdict;
}

}  // namespace heddle
