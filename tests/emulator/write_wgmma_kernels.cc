// Writes the kernels of wgmma_cases() as write_kernels.cc does those of streams.
//
// usage: write_wgmma_kernels FOLDER FILES
#include <fmt/core.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/source.h"
#include "tests/emulator/wgmma_cases.h"

namespace heddle {
namespace {

constexpr const char* kTemplates =
    "#include \"tests/emulator/cuda_words.h\"\n"
    "// The library has some of these names, too.\n"
    "#define heddle heddle_kernels\n"
    "#include \"gemm/gemm_wgmma.cuh\"\n";
constexpr const char* kTable =
    "#include \"tests/emulator/wgmma_kernels.h\"\n"
    "namespace heddle_kernels {\n"
    "extern unsigned char shared_memory[];\n"
    "unsigned char shared_memory[1];\n"
    "}\n";

// Config, Decode and the entry point, which get names of their own.
std::string own_text(const Source& source, std::size_t number) {
  const std::size_t begin = source.text.find("namespace heddle {\n\nstruct Config {");
  if (begin == std::string::npos) throw std::logic_error("no Config in the source");
  std::string text;
  for (const std::string& name :
       {std::string("Config"), std::string("Decode"), source.kernel_name}) {
    const std::string as = name == source.kernel_name ? "wgmma" : name;
    text += fmt::format("#undef {0}\n#define {0} {1}_{2}\n", name, as, number);
  }
  return text + source.text.substr(begin);
}

void write(const std::string& folder, int files) {
  std::vector<std::string> texts(static_cast<std::size_t>(files), kTemplates);
  std::string table = kTable;
  std::string list;
  for (std::size_t i = 0; i < wgmma_cases().size(); ++i) {
    texts[i % texts.size()] += own_text(render(wgmma_cases()[i].plan(), 0), i);
    table += fmt::format("extern \"C\" heddle::WgmmaKernel wgmma_{};\n", i);
    list += fmt::format("  wgmma_{},\n", i);
  }
  table += "const std::vector<heddle::WgmmaKernel*> heddle::wgmma_kernels{\n" + list + "};\n";
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::ofstream(fmt::format("{}/wgmma_kernels_{}.cc", folder, i)) << texts[i];
  }
  std::ofstream(folder + "/wgmma_kernels.cc") << table;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    heddle::write(argv[1], std::stoi(argv[2]));
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
  return 0;
}
