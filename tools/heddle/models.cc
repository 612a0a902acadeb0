// heddle models: the families of models that a config.json may be of, and what of each is served.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generator/model/model_json.h"
#include "heddle/model.h"
#include "tools/heddle/commands.h"
#include "tools/heddle/errors.h"
#include "tools/heddle/options.h"
#include "tools/heddle/output.h"
#include "tools/heddle/table.h"

namespace heddle {
namespace {

struct ModelsOptions {
  bool markdown = false;
  bool json = false;
};

std::string joined(const std::vector<std::string>& words, const std::string& quote = "") {
  std::string text;
  for (const std::string& word : words) {
    text.append(text.empty() ? "" : ", ").append(quote).append(word).append(quote);
  }
  return text.empty() ? "-" : text;
}

std::string to_text(const std::vector<ModelFamily>& families) {
  Table table({{"FAMILY"}, {"MODEL TYPES"}, {"SERVED"}, {"LISTED ONLY"}});
  for (const ModelFamily& family : families) {
    table.add_row(
        {family.name, joined(family.model_types), joined(family.served), joined(family.listed)});
  }
  return table.text();
}

// The page docs/models.md.
std::string to_markdown(const std::vector<ModelFamily>& families) {
  std::string text =
      "# Models\n\n"
      "`heddle build` takes the config.json of a model, or a folder with its tensors, and lists "
      "every layer of it: those\n"
      "that a kernel serves, and the others with the reason. This page is what `heddle models "
      "--markdown` prints.\n\n"
      "*Served*: kernels are made where the layer is quantised in a form that "
      "[checkpoints](checkpoints.md) lists; attention\n"
      "with `--kv`. *Listed only*: Heddle has no kernel yet. Layers whose weights are not "
      "quantised "
      "are listed, too;\n"
      "with `--dense` those of 16 bits that are dense and linear are served, with `--lm-head` "
      "lm_head in 8 or 4 bits.\n"
      "Vision and audio towers are listed as a whole.\n\n"
      "The last line of a list counts modules: each matrix of a decoder layer once, the experts of "
      "a layer once for each of\n"
      "their matrices, the blocks of a tower, and with `--kv` appending and attention. `--all` "
      "makes "
      "the exit code 1 where not\n"
      "all are served, as in most models, whose lm_head is not quantised.\n\n"
      "| family | `model_type` | served | listed only |\n"
      "| --- | --- | --- | --- |\n";
  for (const ModelFamily& family : families) {
    text += fmt::format("| {} | {} | {} | {} |\n", family.name, joined(family.model_types, "`"),
                        joined(family.served), joined(family.listed));
  }
  text +=
      "\nOf another `model_type` a folder with tensors is served by what the tensors show, with a "
      "note; a config alone is refused.\n"
      "A field that a family needs and the config lacks is refused by name, with all the fields "
      "that were looked for, and so is\n"
      "a kind of layer that the family does not have.\n\n"
      "A family is a row of a table in `generator/model/families`: to add one, add a row there and "
      "a config in `tests/models`.\n";
  return text;
}

int run(const ModelsOptions& options) {
  const std::vector<ModelFamily> families = known_families();
  if (options.json) {
    print_json(families_json());
  } else {
    print(options.markdown ? to_markdown(families) : to_text(families));
  }
  return kExitDone;
}

}  // namespace

void add_models_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<ModelsOptions>();
  CLI::App* command =
      app.add_subcommand("models", "List the families of models and what is served");
  command->add_flag("--markdown", options->markdown, "as the page docs/models.md");
  add_json_option(*command, &options->json);
  command->footer(
      "Example:\n"
      "  heddle models");
  command->callback([=] { *action = [options] { return run(*options); }; });
}

}  // namespace heddle
