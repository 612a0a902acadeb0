// heddle bundle: files with the kernels of a model for several architectures.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "tools/heddle/cache/bundle_parts.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/kv_option.h"
#include "tools/heddle/shared/model_input.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/pack_options.h"

namespace heddle {
namespace {

void add_create(CLI::App& parent, Action* action) {
  auto options = std::make_shared<BundleCreateOptions>();
  CLI::App* command = parent.add_subcommand("create", "Compile kernels into a bundle");
  command
      ->add_option(
          "--specs", options->specs,
          "a model's config.json, a spec, a JSON list of specs or a record (heddle record); "
          "may be given several times")
      ->type_name("FILE")
      ->required();
  add_kv_option(*command, &options->kv);
  add_choice_options(*command, &options->pack);
  add_layer_options(*command, &options->pack);
  command
      ->add_option("--targets", options->targets,
                   "GPUs or architectures, such as h200,a100; without it, those of the record")
      ->type_name("NAME,NAME...")
      ->delimiter(',');
  command->add_option("-o,--output", options->output, "the bundle, a name that ends in .hdl")
      ->type_name("FILE")
      ->required();
  add_tuned_option(*command, &options->compile);
  add_compile_options(*command, &options->compile);
  command->add_flag("--no-source", options->no_source,
                    "leave the CUDA text and the PTX of the kernels out");
  add_json_option(*command, &options->json);
  command->footer(
      "Example:\n"
      "  heddle bundle create --specs examples/specs/symmetric-g128.json --targets sm_80,sm_90 "
      "-o model.hdl\n"
      "  heddle bundle create --specs config.json --kv int8:head --targets h200 -o model.hdl\n"
      "  heddle bundle create --specs config.json --targets h200 --tuned h200.json -o model.hdl");
  command->callback([=] { *action = [options] { return create_bundle(*options); }; });
}

CLI::App* add_part(CLI::App& parent, Action* action, const std::string& name,
                   const std::string& help, int (*work)(const BundleFileOptions&),
                   const std::shared_ptr<BundleFileOptions>& options) {
  CLI::App* command = parent.add_subcommand(name, help);
  command->add_option("BUNDLE", options->file, "the bundle")->required();
  add_json_option(*command, &options->json);
  command->callback([=] { *action = [options, work] { return work(*options); }; });
  return command;
}

void add_merge(CLI::App& parent, Action* action) {
  auto options = std::make_shared<BundleMergeOptions>();
  CLI::App* command = parent.add_subcommand(
      "merge", "Put the kernels and tuned tables of several bundles into one");
  command->add_option("BUNDLE", options->files, "the bundles; an earlier one's tables go first")
      ->required();
  command->add_option("-o,--output", options->output, "the bundle, a name that ends in .hdl")
      ->type_name("FILE")
      ->required();
  add_json_option(*command, &options->json);
  command->footer("Example:\n  heddle bundle merge first.hdl second.hdl -o both.hdl");
  command->callback([=] { *action = [options] { return merge_bundles(*options); }; });
}

}  // namespace

void add_bundle_command(CLI::App& app, Action* action) {
  CLI::App* command =
      app.add_subcommand("bundle", "Make and read files with the kernels of a model");
  command->require_subcommand(1);
  command->footer("Example:\n  heddle bundle list model.hdl");
  add_create(*command, action);
  add_merge(*command, action);
  const auto options = [] { return std::make_shared<BundleFileOptions>(); };
  add_part(*command, action, "list",
           "List the kernels, what they were planned for, and tuned tables", list_bundle, options())
      ->footer("Example:\n  heddle bundle list model.hdl");
  add_part(*command, action, "verify", "Read every kernel and check it; exit code 1 on damage",
           verify_bundle, options())
      ->footer("Example:\n  heddle bundle verify model.hdl");
  const auto extracted = options();
  CLI::App* part = add_part(*command, action, "extract", "Add the kernels to a cache folder",
                            extract_bundle, extracted);
  part->add_option("-o,--output", extracted->output, "the folder")->type_name("DIR")->required();
  part->add_option("--tables", extracted->tables,
                   "a folder for the bundle's tuned tables, each as GPU.json")
      ->type_name("DIR");
  part->footer("Example:\n  heddle bundle extract model.hdl -o cache");
}

}  // namespace heddle
