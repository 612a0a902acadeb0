// heddle: the command line of the library. Only dispatches; see commands.h.
#include <CLI/CLI.hpp>
#include <exception>
#include <new>
#include <string>

#include "heddle/error.h"
#include "heddle/version.h"
#include "tools/heddle/shared/command_line.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/ended_by_signal.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"

namespace heddle {
namespace {

void add_commands(CLI::App& app, Action* action) {
  app.set_version_flag("-V,--version", "heddle " HEDDLE_VERSION);
  app.require_subcommand(1);
  add_build_command(app, action);
  add_render_command(app, action);
  add_plan_command(app, action);
  add_explain_command(app, action);
  add_inspect_command(app, action);
  add_schema_command(app, action);
  add_targets_command(app, action);
  add_models_command(app, action);
  add_run_command(app, action);
  add_bench_command(app, action);
  add_tune_command(app, action);
  add_cache_command(app, action);
  add_bundle_command(app, action);
  add_record_command(app, action);
  add_doctor_command(app, action);
  add_repack_command(app, action);
  add_dequantize_command(app, action);
  add_size_command(app, action);
  add_sample_model_command(app, action);
  add_help_command(app, action);
  add_version_command(app, action);
  refuse_empty_values(app);
  app.footer(
      "Exit codes: 0 done, 1 the work failed or cannot be done, 2 the command line\n"
      "or an input is wrong.\n"
      "heddle COMMAND --help explains a command and gives an example.");
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Makes CUDA kernels for one quantised model on one GPU.", "heddle");
  Action action;
  add_commands(app, &action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print(help_of(app));
    return kExitDone;
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
    return kExitDone;
  } catch (const CLI::ParseError& error) {
    print_problem(complaint(app, error) + "; see " + named_command(app) + " --help");
    return kExitUsage;
  }
  const std::string lists = complaint_of_lists(app, {argv + 1, argv + argc});
  if (!lists.empty()) {
    print_problem(lists + "; see " + named_command(app) + " --help");
    return kExitUsage;
  }
  return action();
}

int guarded_main(int argc, char** argv) {
  try {
    hold_standard_streams();
    clean_up_after_signals();
    const int code = parse_and_run(argc, argv);
    flush_output();
    return code;
  } catch (const Error& error) {
    return report(error);
  } catch (const OutputError& error) {
    // A reader that has seen enough, as `head` has, is no failure to tell of.
    if (!error.reader_is_gone()) print_problem(error.what());
    return kExitFailed;
  } catch (const std::bad_alloc&) {
    print_problem("out of memory");
    return kExitFailed;
  } catch (const std::exception& error) {
    print_problem(std::string("internal error: ") + error.what());
    return kExitFailed;
  }
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) { return heddle::guarded_main(argc, argv); }
