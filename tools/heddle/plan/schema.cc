// heddle schema: the JSON Schema of a spec.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "heddle/spec.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"

namespace heddle {

void add_schema_command(CLI::App& app, Action* action) {
  // The schema is JSON either way; the flag is there because every command has it.
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("schema", "Print the JSON Schema of a spec");
  add_json_option(*command, json.get());
  command->footer(
      "Example:\n"
      "  heddle schema > heddle.schema.json");
  command->callback([action, json] {
    *action = [] {
      std::string schema = spec_schema();
      if (schema.empty() || schema.back() != '\n') schema += '\n';
      print(schema);
      return kExitDone;
    };
  });
}

}  // namespace heddle
