// Writes the choice of experts of each case as C++: the phase of a layer by itself, which does not
// take the compiler as long as whole layers do.
//
// usage: write_choosers KIND FOLDER FILES
// FILES: one file has all of it
#include <fmt/core.h>

#include <fstream>
#include <string>

#include "experts/config.h"
#include "generator/families/experts/experts_family.h"
#include "generator/families/fields.h"
#include "tests/emulator/choose_cases.h"

namespace heddle {
namespace {

void write_choosers(const std::string& kind, const std::string& folder) {
  std::string text =
      "#include \"tests/emulator/cuda_words.h\"\n"
      "// The library has some of these names, too.\n"
      "#define heddle heddle_kernels\n"
      "#include \"experts/choose.cuh\"\n"
      "#include \"primitives/dependent_launch.cuh\"\n"
      "namespace heddle {\n"
      "struct Chooser {\n"
      "  ExpertLayer layer;\n"
      "  constexpr int threads() const { return " +
      std::to_string(kChooseThreads) + "; }\n};\n}\n";
  std::string table = fmt::format("#include \"tests/emulator/{}_kernels.h\"\n", kind);
  std::string list;
  for (std::size_t i = 0; i < choose_cases().size(); ++i) {
    const MoeSpec& spec = choose_cases()[i].spec;
    device::ExpertLayer layer{};
    layer.top_k = static_cast<int>(spec.shape.top_k);
    layer.router = router_config(spec);
    text += fmt::format(
        "namespace heddle {{\nstruct Config{0} {{\n  static constexpr Chooser "
        "value{{{1}}};\n}};\n}}\n"
        "extern \"C\" void {2}_{0}(heddle::MoeParameters p) {{\n"
        "  heddle::wait_for_predecessor();\n"
        "  heddle::choose_experts<heddle::Config{0}>(p);\n}}\n",
        i, families::initializer_text(layer, 2), kind);
    table += fmt::format("extern \"C\" heddle::ChooseOnCpu {}_{};\n", kind, i);
    list += fmt::format("  {}_{},\n", kind, i);
  }
  table += fmt::format("const std::vector<heddle::ChooseOnCpu*> heddle::{}_kernels{{\n{}}};\n",
                       kind, list);
  std::ofstream(fmt::format("{}/{}_kernels_0.cc", folder, kind)) << text;
  std::ofstream(fmt::format("{}/{}_kernels.cc", folder, kind)) << table;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  heddle::write_choosers(argv[1], argv[2]);
  return 0;
}
