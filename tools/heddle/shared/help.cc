// heddle help and heddle version: --help and --version for who writes them as commands.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "heddle/version.h"
#include "tools/heddle/shared/command_line.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"

namespace heddle {

void add_help_command(CLI::App& app, Action* action) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("help", "Explain the program or one of its commands");
  command->add_option("COMMAND", *words, "the command, as in cache list; default the program")
      ->expected(0, 2);
  command->footer(
      "Example:\n"
      "  heddle help build");
  command->callback([&app, action, words] {
    *action = [&app, words] {
      print(help_of_words(app, *words));
      return kExitDone;
    };
  });
}

void add_version_command(CLI::App& app, Action* action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("version", "Print the version");
  add_json_option(*command, json.get());
  command->footer(
      "Example:\n"
      "  heddle version");
  command->callback([action, json] {
    *action = [json] {
      if (*json) {
        print_json({{"version", HEDDLE_VERSION}});
      } else {
        print("heddle " HEDDLE_VERSION "\n");
      }
      return kExitDone;
    };
  });
}

}  // namespace heddle
