// heddle models: the families of models that a config.json may be of, and what of each is served.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generator/model/model_json.h"
#include "heddle/model.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"
#include "tools/heddle/shared/table.h"

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

constexpr const char* kPageHead =
    R"(# Models

For a deployer or engine developer with a model's config.json: which model types Heddle knows, and which layers of each
have kernels. `heddle models --markdown` prints this page.

```sh
heddle build examples/models/llama-3-8b-awq --list --target h200
```

lists every layer with its kernel or why it has none. Add `--kv int8:head` for attention, `--all`
to exit with 1 unless every layer has a kernel.

| layers | kernels |
| --- | --- |
| dense linear layers | where they are quantised as [checkpoints](checkpoints.md#which-checkpoints-are-read) lists; those of 16 bits with `--dense` |
| experts | as dense ones, by [moe](spec.md#what-moe-computes) |
| lm_head | quantised, with `--dense`, or with `--lm-head 8` or `4` |
| attention and its KV cache | with `--kv`, except the kinds in the last column |
| RMSNorms, activations | made but not listed ([spec](spec.md#model-configs)) |
| vision and audio towers | none; listed as a whole |

Each matrix counts as one module.

| family | `model_type` | no kernel |
| --- | --- | --- |
)";

constexpr const char* kPageEnd = R"(
A folder with tensors of another `model_type` is served by what the tensors show, with a note; its config alone is
refused. Missing fields without a default and unknown kinds of layers are refused by name; what a field leaves to the
engine is a note, and unknown fields are named. To add a family, add a row in `generator/model/families` and a config in
`tests/models`, then run `tests/models/transformers_fields.py`.
)";

// The page docs/models.md.
std::string to_markdown(const std::vector<ModelFamily>& families) {
  std::string text = kPageHead;
  for (const ModelFamily& family : families) {
    text += fmt::format("| {} | {} | {} |\n", family.name, joined(family.model_types, "`"),
                        joined(family.listed));
  }
  return text + kPageEnd;
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
