// What is wrong with a command line, and the help of a command.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_COMMAND_LINE_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_COMMAND_LINE_H_

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace heddle {

// "heddle cache list": the command line's words up to the innermost subcommand.
std::string named_command(const CLI::App& app);

// The help of the innermost subcommand that the command line named.
std::string help_of(const CLI::App& app);

// The help of the subcommand that the words name, {"cache", "list"}; of the program where there are
// none. Throws Error(kUsage, "tool.no_command") for words that name none, with the nearest command.
std::string help_of_words(const CLI::App& app, const std::vector<std::string>& words);

// What is wrong, in a line without its end, with the command or option that may have been meant.
std::string complaint(const CLI::App& app, const CLI::ParseError& error);

// The list in the words of the command line that has an empty element, which the parser drops:
// "--m: \"1,,2\" has an empty element"; empty: there is none. The words are parsed already.
std::string complaint_of_lists(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_COMMAND_LINE_H_
