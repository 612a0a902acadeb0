// The subcommands of `heddle`. Each lives in the file of its name and registers itself here.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_COMMANDS_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_COMMANDS_H_

#include <functional>

namespace CLI {
class App;
}

namespace heddle {

// The work of a subcommand, with its options bound. Returns the exit code; throws Error.
using Action = std::function<int()>;

// Each adds one subcommand with its options to `app`. Once the command line has been parsed,
// *action is the work of the subcommand that was named.
void add_build_command(CLI::App& app, Action* action);
void add_render_command(CLI::App& app, Action* action);
void add_plan_command(CLI::App& app, Action* action);
void add_explain_command(CLI::App& app, Action* action);
void add_inspect_command(CLI::App& app, Action* action);
void add_schema_command(CLI::App& app, Action* action);
void add_targets_command(CLI::App& app, Action* action);
void add_models_command(CLI::App& app, Action* action);
void add_run_command(CLI::App& app, Action* action);
void add_bench_command(CLI::App& app, Action* action);
void add_tune_command(CLI::App& app, Action* action);
void add_cache_command(CLI::App& app, Action* action);
void add_bundle_command(CLI::App& app, Action* action);
void add_record_command(CLI::App& app, Action* action);
void add_doctor_command(CLI::App& app, Action* action);
void add_repack_command(CLI::App& app, Action* action);
void add_dequantize_command(CLI::App& app, Action* action);
void add_size_command(CLI::App& app, Action* action);
void add_sample_model_command(CLI::App& app, Action* action);
// `app`, whose help is printed, must outlive the action.
void add_help_command(CLI::App& app, Action* action);
void add_version_command(CLI::App& app, Action* action);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_COMMANDS_H_
