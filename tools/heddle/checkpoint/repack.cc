// heddle repack: a quantised checkpoint with its weights in Heddle's layout. Needs no GPU.
#include <CLI/CLI.hpp>
#include <memory>

#include "heddle/target.h"
#include "tools/heddle/checkpoint/convert_options.h"
#include "tools/heddle/shared/commands.h"

namespace heddle {

void add_repack_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<ConvertCommandOptions>();
  CLI::App* command =
      app.add_subcommand("repack", "Write a checkpoint with its weights in Heddle's layout");
  add_convert_options(*command, options.get());
  add_layer_options(*command, &options->pack);
  command
      ->add_option_function<std::string>(
          "--target",
          [options](const std::string& name) {
            options->pack.request.arch = target_from_name(name).arch();
          },
          "GPU that the weights are for, as of heddle build: not all take activations of 8 bits; "
          "without it, one that has what the model says")
      ->type_name("NAME");
  command->footer(
      "Each layer becomes <layer>.heddle (U8), with its spec in the file's metadata under the\n"
      "same name, and for act-order <layer>.heddle_perm (I32 [K]): packed column j is column\n"
      "perm[j] of the checkpoint. Other tensors are copied; --dense packs linear layers of 16 "
      "bits, too.\n"
      "Reads AWQ, GPTQ, AutoRound, compressed-tensors, FP8, FBGEMM, MXFP4, Model Optimizer and\n"
      "Quark; docs/checkpoints.md has every form, and what is refused.\n"
      "Example:\n"
      "  heddle repack model.safetensors --config config.json -o packed.safetensors");
  command->callback(
      [=] { *action = [options] { return run_convert(*options, repack_checkpoint, "packed"); }; });
}

}  // namespace heddle
