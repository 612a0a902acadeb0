// heddle dequantize: a quantised checkpoint as plain FP16 or BF16 weights. Needs no GPU.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/heddle/checkpoint/convert_options.h"
#include "tools/heddle/shared/commands.h"

namespace heddle {

void add_dequantize_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<ConvertCommandOptions>();
  CLI::App* command =
      app.add_subcommand("dequantize", "Write a quantised checkpoint as FP16 or BF16 weights");
  add_convert_options(*command, options.get());
  command
      ->add_option("--layer", options->convert.layer,
                   "only this layer, and none of the other tensors")
      ->type_name("NAME");
  command->footer(
      "Each layer becomes <layer>.weight, [N, K] in the config's torch_dtype: (code - zero) is\n"
      "exact, the product with the scale is rounded once. Other tensors are copied.\n"
      "Reads AWQ, GPTQ, AutoRound, compressed-tensors, FP8, FBGEMM, MXFP4, Model Optimizer and\n"
      "Quark; docs/checkpoints.md has every form, and what is refused.\n"
      "Example:\n"
      "  heddle dequantize model.safetensors --config config.json -o weights.safetensors");
  command->callback([=] {
    // Whatever activations a kernel takes, the weights are the same.
    options->pack.request.activation_bits = 16;
    *action = [options] { return run_convert(*options, dequantize_checkpoint, "dequantized"); };
  });
}

}  // namespace heddle
