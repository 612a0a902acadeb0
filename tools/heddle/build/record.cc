// heddle record: runs a command and notes the specs that it asks kernels for.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "cache/append_log.h"
#include "heddle/error.h"
#include "runtime/recorder.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/input.h"
#include "tools/heddle/shared/options.h"

extern char** environ;

namespace heddle {
namespace {

constexpr int kExitSignalled = 128;  // plus the signal, as shells have it

struct RecordOptions {
  std::string output;
  std::vector<std::string> command;
};

int run_command(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::signal(SIGCHLD, SIG_DFL);  // who ignores it has no child to wait for
  ::signal(SIGXFSZ, SIG_DFL);  // the command is not this one (ended_by_signal.h)
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
  if (error != 0) {
    throw Error(
        ErrorCategory::kFile, "tool.cannot_run",
        fmt::format("cannot run {}: {}", command[0], std::generic_category().message(error)));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitSignalled + WTERMSIG(status);
}

std::size_t recorded_specs(const std::string& path) {
  const Input input = read_input(path);
  try {
    return parse_record(input.text).size();
  } catch (const Error& error) {
    throw at_place(path, error);
  }
}

// The command would run for nothing: what it cannot record it does without.
void check_writable(const std::string& path) {
  AppendLog(path, [](const std::string& why) {
    throw Error(ErrorCategory::kFile, "tool.cannot_write", why);
  }).check();
}

int run(const RecordOptions& options) {
  // The command may run in another folder.
  const std::string path = std::filesystem::absolute(options.output).string();
  check_writable(path);
  recorded_specs(path);  // a file that is no record is refused before the command has run
  ::setenv("HEDDLE_RECORD", path.c_str(), 1);
  const int code = run_command(options.command);
  print_problem(fmt::format("{} specs in {}", recorded_specs(path), options.output));
  return code;
}

}  // namespace

void add_record_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App* command =
      app.add_subcommand("record", "Run a command and note the specs it asks kernels for");
  command
      ->add_option("-o,--output", options->output,
                   "the record; specs are added to one that is there")
      ->type_name("FILE")
      ->required();
  CLI::Option* const program =
      command->add_option("COMMAND", options->command, "what to run, with its arguments, after --");
  program->required();
  allow_empty_values(program);  // they are another program's
  command->positionals_at_end();
  command->footer(
      "The command's exit code is this command's. Its standard streams are its own.\n"
      "Example:\n"
      "  heddle record -o model.record -- ./engine --model llama\n"
      "  heddle bundle create --specs model.record -o model.hdl");
  command->callback([=] { *action = [options] { return run(*options); }; });
}

}  // namespace heddle
