#include "tools/heddle/commands.h"
namespace heddle {
void add_run_command(CLI::App&, Action*) {}
}  // namespace heddle
