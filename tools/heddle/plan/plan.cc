// heddle plan: every decision that turns a spec into kernels, and the proof of its decode plan.
#include "heddle/inspect/plan.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generator/decode/decode_plan.h"
#include "heddle/runtime.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/input.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"

namespace heddle {
namespace {

struct PlanOptions {
  std::string spec;
  std::string target;
  CompileOptions compile;  // --tuned alone
  bool prove = false;
  bool json = false;
};

// null where no kernel decodes.
nlohmann::ordered_json to_json(const DecodeProof& proof) {
  if (proof.codes_checked == 0) return nullptr;
  nlohmann::ordered_json json = {{"codes_checked", proof.codes_checked},
                                 {"mismatches", proof.mismatches}};
  if (proof.mismatches != 0) json["first_mismatch"] = proof.first_mismatch;
  return json;
}

// Proves every plan that kernels decode by, and adds up the results.
DecodeProof prove_all(const std::vector<SharedDecodePlan>& plans) {
  DecodeProof all;
  for (const DecodePlan& plan : plans) {
    const DecodeProof proof = prove_decode_plan(plan);
    all.codes_checked += proof.codes_checked;
    all.mismatches += proof.mismatches;
    if (all.first_mismatch.empty()) all.first_mismatch = proof.first_mismatch;
  }
  return all;
}

void print_text(const Plan& plan, const DecodeProof* proof) {
  std::string text = describe(plan);
  if (text.empty() || text.back() != '\n') text += '\n';
  if (proof != nullptr && proof->codes_checked == 0) {
    text += "nothing to prove: no kernel of the plan decodes weights\n";
  } else if (proof != nullptr) {
    text += fmt::format("proof of the decode plan: {} codes checked, {} mismatches\n",
                        proof->codes_checked, proof->mismatches);
  }
  print(text);
}

int run(const PlanOptions& options) {
  Runtime runtime(runtime_options(options.compile));
  const Spec spec = read_spec(options.spec);
  const Plan plan = resolve(spec, choose_target(options.target, runtime), runtime.tuned_tables());
  DecodeProof proof;
  if (options.prove) proof = prove_all(decode_plans_of(plan));
  if (options.json) {
    auto json = nlohmann::ordered_json::parse(plan_to_json(plan));
    if (options.prove) json["proof"] = to_json(proof);
    print_json(json);
  } else {
    print_text(plan, options.prove ? &proof : nullptr);
  }
  if (proof.mismatches == 0) return kExitDone;
  print_problem("the decode plan is wrong: " + proof.first_mismatch);
  return kExitFailed;
}

}  // namespace

void add_plan_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand("plan", "Explain every decision made for a spec");
  command->add_option("SPEC", options->spec, kSpecHelp)->required();
  add_target_option(*command, &options->target);
  add_tuned_option(*command, &options->compile);
  command->add_flag("--prove", options->prove,
                    "execute the decode plan on the host for every code and compare exactly");
  add_json_option(*command, &options->json);
  command->footer(
      "Example:\n"
      "  heddle plan examples/specs/symmetric-g128.json --target h200 --prove");
  command->callback([=] { *action = [options] { return run(*options); }; });
}

}  // namespace heddle
