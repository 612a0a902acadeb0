// Writes the kernels of stream_cases(), bulk_cases(), wgmma_cases(), mma_cases(),
// attention_cases(), kv_append_cases(), row_cases() or one of weight_op_cases.h as C++: what the
// renderer adds to the templates, behind an #include of those, spread over some files, and a table
// of them.
//
// usage: write_kernels KIND FOLDER FILES
// KIND: stream, gemv, bulk, wgmma, mma, attention, kv_append, row, repack, quantize or dequantize
#include <fmt/core.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/inspect/source.h"
#include "tests/emulator/attention_cases.h"
#include "tests/emulator/bulk_cases.h"
#include "tests/emulator/gemv_cases.h"
#include "tests/emulator/kv_append_cases.h"
#include "tests/emulator/mma_cases.h"
#include "tests/emulator/row_cases.h"
#include "tests/emulator/stream_cases.h"
#include "tests/emulator/weight_op_cases.h"
#include "tests/emulator/wgmma_cases.h"

namespace heddle {
namespace {

// HEADER_kernels.h declares the table KIND_kernels of pointers to `type`.
struct Family {
  std::string kind;
  std::string header;
  std::string type;
  std::vector<std::string> paths;  // of its templates
  std::vector<Plan> plans;         // each of one kernel
};

template <class Cases>
std::vector<Plan> plans_of(const Cases& cases) {
  std::vector<Plan> plans;
  for (const auto& one : cases) plans.push_back(one.plan());
  return plans;
}

Family family_of(std::string_view kind) {
  if (kind == "stream") {
    return {"stream", "gemm", "GemmOnCpu", {"stream/stream.cuh"}, plans_of(stream_cases())};
  }
  if (kind == "gemv") {
    return {"gemv", "gemv", "GemmOnCpu", {"gemv/gemv.cuh"}, plans_of(gemv_cases())};
  }
  if (kind == "bulk") {
    return {"bulk", "bulk", "BulkKernel", {"tiles/bulk.cuh"}, plans_of(bulk_cases())};
  }
  if (kind == "wgmma") {
    return {"wgmma", "wgmma", "WgmmaKernel", {"warpgroup/warpgroup.cuh"}, plans_of(wgmma_cases())};
  }
  if (kind == "mma") {
    return {"mma", "gemm", "GemmOnCpu", {"tiles/tiles.cuh"}, plans_of(mma_cases())};
  }
  if (kind == "attention") {
    return {"attention",
            "attention",
            "AttentionKernel",
            {"decode_attention/decode_attention.cuh"},
            plans_of(attention_cases())};
  }
  if (kind == "kv_append") {
    return {"kv_append",
            "kv_append",
            "KvAppendOnCpu",
            {"kv_append/kv_append.cuh"},
            plans_of(kv_append_cases())};
  }
  if (kind == "row") {
    return {"row", "row", "RowKernel", {"row_transform/row_transform.cuh"}, plans_of(row_cases())};
  }
  if (kind == "repack") {
    return {"repack", "weight_op", "RepackOnCpu", {"repack/repack.cuh"}, plans_of(repack_cases())};
  }
  if (kind == "quantize") {
    return {"quantize",
            "weight_op",
            "QuantizeOnCpu",
            {"quantize_weight/quantize_weight.cuh"},
            plans_of(quantize_cases())};
  }
  if (kind == "dequantize") {
    return {"dequantize",
            "weight_op",
            "DequantizeOnCpu",
            {"dequantize/dequantize_packed.cuh"},
            plans_of(dequantize_cases())};
  }
  throw std::invalid_argument("no such kind of kernels");
}

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
       {std::string("Config"), std::string("Decode"), std::string("Encode"), source.kernel_name}) {
    const std::string as = name == source.kernel_name ? kind : name + '_' + kind;
    text += fmt::format("#undef {0}\n#define {0} {1}_{2}\n", name, as, number);
  }
  std::string own = source.text.substr(begin);
  // Not macros: members of templates have some of these names, too.
  for (const char* word : {"struct Frequencies", "heddle::Frequencies", "rope_frequencies"}) {
    number_words(word, number, &own);
  }
  return text + own;
}

void write(const Family& family, const std::string& folder, int files) {
  const auto& [kind, header, type, paths, plans] = family;
  std::string includes;
  for (const std::string& path : paths) includes += fmt::format("#include \"{}\"\n", path);
  std::vector<std::string> texts(static_cast<std::size_t>(files),
                                 fmt::format("#include \"tests/emulator/cuda_words.h\"\n"
                                             "// The library has some of these names, too.\n"
                                             "#define heddle heddle_kernels\n"
                                             "{}",
                                             includes));
  std::string table = fmt::format(
      "#include \"tests/emulator/{}_kernels.h\"\n"
      "namespace heddle_kernels {{\n"
      "extern unsigned char shared_memory[];\n"
      // A test may have kernels of several kinds.
      "[[gnu::weak]] unsigned char shared_memory[1];\n"
      "}}\n",
      header);
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

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    heddle::write(heddle::family_of(argv[1]), argv[2], std::stoi(argv[3]));
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
  return 0;
}
