#include "tests/emulator/kernel_writer.h"

#include <fmt/core.h>

#include <fstream>
#include <stdexcept>

#include "heddle/inspect/source.h"

namespace heddle {
namespace {

// Behind each `word` in the text its number.
void number_words(const std::string& word, std::size_t number, std::string* text) {
  const std::string numbered = fmt::format("{}_{}", word, number);
  for (std::size_t at = 0; (at = text->find(word, at)) != std::string::npos;) {
    text->replace(at, word.size(), numbered);
    at += numbered.size();
  }
}

// Config, Decode or Encode, what else a family's Config has of its own, and the entry point, which
// get names of their own.
std::string own_text(const Source& source, const std::string& kind, std::size_t number) {
  const std::size_t config = source.text.find("\nstruct Config {");
  if (config == std::string::npos) throw std::logic_error("no Config in the source");
  const std::size_t begin = source.text.rfind("\nnamespace heddle {", config);
  std::string text;
  for (const std::string& name :
       {std::string("Config"), std::string("Decode"), std::string("Encode"), std::string("GateUp"),
        std::string("Down"), source.kernel_name}) {
    const std::string as = name == source.kernel_name ? kind : name + '_' + kind;
    text += fmt::format("#undef {0}\n#define {0} {1}_{2}\n", name, as, number);
  }
  std::string own = source.text.substr(begin);
  // Not macros: members of templates have some of these names, too.
  for (const char* word :
       {"struct Frequencies", "heddle::Frequencies", "rope_frequencies", "namespace gate_up",
        "heddle::gate_up", "namespace down", "heddle::down"}) {
    number_words(word, number, &own);
  }
  return text + own;
}

}  // namespace

void write_kernels(const KernelFamily& family, const std::string& folder, int files) {
  const auto& [kind, header, type, paths, plans, tests] = family;
  std::string includes;
  for (const std::string& path : paths) includes += fmt::format("#include \"{}\"\n", path);
  std::vector<std::string> texts(static_cast<std::size_t>(files),
                                 fmt::format("#include \"tests/emulator/cuda_words.h\"\n"
                                             "// The library has some of these names, too.\n"
                                             "#define heddle heddle_kernels\n"
                                             "{}",
                                             includes));
  std::string table = fmt::format(
      "#include \"tests/{}/{}_kernels.h\"\n"
      "namespace heddle_kernels {{\n"
      "extern unsigned char shared_memory[];\n"
      // A test may have kernels of several kinds.
      "[[gnu::weak]] unsigned char shared_memory[1];\n"
      "}}\n",
      tests, header);
  std::string list;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    texts[i % texts.size()] += own_text(render(plans[i], 0), kind, i);
    table += fmt::format("extern \"C\" heddle::{} {}_{};\n", type, kind, i);
    list += fmt::format("  {}_{},\n", kind, i);
  }
  table +=
      fmt::format("const std::vector<heddle::{}*> heddle::{}_kernels{{\n{}}};\n", type, kind, list);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::ofstream(fmt::format("{}/{}_kernels_{}.cc", folder, kind, i)) << texts[i];
  }
  std::ofstream(fmt::format("{}/{}_kernels.cc", folder, kind)) << table;
}

}  // namespace heddle
