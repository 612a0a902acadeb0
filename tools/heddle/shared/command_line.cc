#include "tools/heddle/shared/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

#include "generator/spec/near_miss.h"
#include "heddle/error.h"
#include "tools/heddle/shared/errors.h"

namespace heddle {
namespace {

// What others call commands and options of Heddle, without dashes.
struct OtherWord {
  std::string_view word;
  std::array<std::string_view, 2> means;  // those that there are where the word stands count
};
constexpr OtherWord kOtherWords[] = {
    {"compile", {"build"}},
    {"benchmark", {"bench"}},
    {"time", {"bench"}},
    {"gpus", {"targets"}},
    {"devices", {"targets"}},
    {"pack", {"repack"}},
    {"convert", {"repack", "dequantize"}},
    {"source", {"render"}},
    {"ptx", {"inspect"}},
    {"test", {"run"}},
    {"gpu", {"target", "targets"}},
    {"arch", {"target", "targets"}},
    {"device", {"target", "targets"}},
};

std::vector<std::string_view> meant_words(std::string_view word,
                                          const std::vector<std::string>& names) {
  std::vector<std::string_view> meant;
  for (const OtherWord& other : kOtherWords) {
    if (edit_distance(other.word, word) != 0) continue;  // the case of letters does not count
    for (const std::string_view name : other.means) {
      if (std::find(names.begin(), names.end(), name) != names.end()) meant.push_back(name);
    }
  }
  return meant.empty() ? near_misses(word, {names.begin(), names.end()}) : meant;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  return names;
}

// Without their dashes.
std::vector<std::string> names_of_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& words = option->get_lnames();
    names.insert(names.end(), words.begin(), words.end());
  }
  return names;
}

// " (did you mean \"--target\"?)", or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string>& names,
                       const std::string& dashes = "") {
  std::vector<std::string> shown;
  for (const std::string_view near : meant_words(word, names)) {
    shown.push_back(fmt::format("\"{}{}\"", dashes, near));
  }
  return shown.empty() ? "" : fmt::format(" (did you mean {}?)", fmt::join(shown, " or "));
}

std::string no_command(const CLI::App& app, const std::string& word) {
  return fmt::format("there is no command or option {}{}", word,
                     suggestion(word, names_of_commands(app)));
}

// The first word that looks like an option and is none; empty: there is none.
std::string unknown_option(const CLI::App& app) {
  for (const std::string& word : app.remaining()) {
    if (word.size() > 2 && word.starts_with("--")) return word.substr(0, word.find('='));
  }
  return {};
}

}  // namespace

std::string named_command(const CLI::App& app) {
  const std::vector<CLI::App*> named = app.get_subcommands();
  return app.get_name() + (named.empty() ? "" : " " + named_command(*named.front()));
}

std::string help_of(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    words.push_back(at->get_name());
  }
  return help_of_words(app, words);
}

std::string help_of_words(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  std::string prefix;
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> commands = commands_of(*command);
    const auto found = std::find_if(commands.begin(), commands.end(), [&word](const CLI::App* one) {
      return one->get_name() == word;
    });
    if (found == commands.end()) {
      throw Error(ErrorCategory::kUsage, "tool.no_command",
                  fmt::format("{}; {} --help lists what there is", no_command(*command, word),
                              prefix.empty() ? app.get_name() : prefix + command->get_name()));
    }
    prefix += command->get_name() + " ";
    command = *found;
  }
  // App::help() would go on to the subcommand that was named, which may be "help" itself.
  return command->get_formatter()->make_help(command, prefix + command->get_name(),
                                             CLI::AppFormatMode::Normal);
}

// CLI11 tells of a missing subcommand where there is one that it does not know, and of a missing
// argument where one went to an option that it does not know.
std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> named = app.get_subcommands();
  if (!named.empty()) return complaint(*named.front(), error);
  const std::vector<std::string> unknown = app.remaining();
  if (!commands_of(app).empty() && !unknown.empty()) return no_command(app, unknown.front());
  const bool is_of_words = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) ||
                           error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
  if (const std::string option = unknown_option(app); is_of_words && !option.empty()) {
    return fmt::format("there is no option {}{}", option,
                       suggestion(option.substr(2), names_of_options(app), "--"));
  }
  return one_line(error.what());
}

std::string complaint_of_lists(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  const CLI::Option* option = nullptr;  // that the words belong to, if it takes a list
  for (const std::string& word : words) {
    std::string_view value = word;
    if (word.starts_with("--")) {
      const std::size_t equal = std::min(word.find('='), word.size());
      option = command->get_option_no_throw(word.substr(0, equal));
      value = value.substr(std::min(equal + 1, word.size()));
    }
    if (option == nullptr || option->get_delimiter() == '\0') continue;
    const std::string comma(1, option->get_delimiter());
    if (value.find(comma + comma) == value.npos && !value.starts_with(comma) &&
        !value.ends_with(comma)) {
      continue;
    }
    return fmt::format("{}: \"{}\" has an empty element", option->get_name(), value);
  }
  return {};
}

}  // namespace heddle
