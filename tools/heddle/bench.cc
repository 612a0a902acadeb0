#include "tools/heddle/commands.h"
namespace heddle {
void add_bench_command(CLI::App&, Action*) {}
}  // namespace heddle
