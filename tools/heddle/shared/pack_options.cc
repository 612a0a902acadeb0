#include "tools/heddle/shared/pack_options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <string>

namespace heddle {
namespace {

// "1/4" into its two numbers; what is wrong with it, else nothing.
template <class Ranks>
std::string read_ranks(const std::string& text, Ranks* parallel) {
  const char* const end = text.data() + text.size();
  const auto rank = std::from_chars(text.data(), end, parallel->rank);
  if (rank.ec != std::errc() || rank.ptr == end || *rank.ptr != '/')
    return "is not RANK/SIZE, as 1/4";
  const auto size = std::from_chars(rank.ptr + 1, end, parallel->size);
  if (size.ec != std::errc() || size.ptr != end) return "is not RANK/SIZE, as 1/4";
  static_assert(Ranks::kMostSize == 1024);  // as the text says
  if (parallel->size < 1 || parallel->size > Ranks::kMostSize)
    return "has a SIZE that is not 1 to 1024";
  if (parallel->rank < 0 || parallel->rank >= parallel->size)
    return "has a RANK that is not 0 to SIZE - 1";
  return "";
}

template <class Ranks>
void add_ranks(CLI::App& command, const char* option, Ranks* ranks, const char* what) {
  command
      .add_option_function<std::string>(
          option, [ranks](const std::string& text) { static_cast<void>(read_ranks(text, ranks)); },
          what)
      ->type_name("RANK/SIZE")
      ->check([](const std::string& text) {
        Ranks read;
        return read_ranks(text, &read);
      });
}

}  // namespace

void add_choice_options(CLI::App& command, PackCommandOptions* options) {
  command
      .add_option(
          "--keep", options->pack.choice.keep,
          "leave these tensors as they are: a shell pattern for names of tensors, or of modules "
          "with all that is in them; may be given several times")
      ->type_name("PATTERN")
      ->allow_extra_args(false);  // else [ab] would be a list
  command
      .add_option("--skip", options->pack.choice.skip,
                  "leave these tensors out, named as for --keep")
      ->type_name("PATTERN")
      ->allow_extra_args(false);  // else [ab] would be a list
  command.add_flag(
      "--engine-rotates", options->request.engine_rotates,
      "the engine rotates activations where the config asks for it, which no kernel of "
      "Heddle does");
}

void add_layer_options(CLI::App& command, PackCommandOptions* options) {
  command.add_flag(
      "--fuse,!--no-fuse", options->pack.fuse,
      "take q_proj, k_proj, v_proj as qkv_proj and gate_proj, up_proj as gate_up_proj; on "
      "by default");
  command.add_flag("--gated", options->pack.gated,
                   "kernels of gate_up_proj also do activation(gate) * up, and weights are packed "
                   "for them: say it to both repack and build");
  command.add_flag("--dense", options->pack.dense,
                   "also dense linear layers that are not quantised, lm_head among them, with "
                   "weights of 16 bits: say it to both repack and build");
  command
      .add_option("--lm-head", options->pack.lm_head_bits,
                  "lm_head is quantised from 16 bits to 8 or 4: say it to both repack and build")
      ->type_name("BITS")
      ->check([](const std::string& text) { return text.empty() ? "is empty" : ""; })
      ->check(CLI::IsMember({8, 4}));
  command
      .add_option(
          "--activations", options->request.activation_bits,
          "16: activations stay in 16 bits where the model says 8, which not all GPUs take: say it "
          "to both repack and build")
      ->type_name("BITS")
      ->check([](const std::string& text) { return text.empty() ? "is empty" : ""; })
      ->check(CLI::IsMember({16}));
  add_ranks(command, "--tp", &options->pack.parallel,
            "only what this rank of several GPUs has: projections to heads and features are split "
            "along "
            "N, those from them along K");
  add_ranks(command, "--ep", &options->pack.expert_parallel,
            "of experts only those that this rank of several GPUs has, whole; with --tp, which "
            "names the same rank, other layers are split");
}

}  // namespace heddle
