// heddle kv-error: what each way to keep a model's cache costs, in bytes and in accuracy.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/file.h"
#include "heddle/error.h"
#include "heddle/kv_cache.h"
#include "heddle/model.h"
#include "tools/heddle/commands.h"
#include "tools/heddle/errors.h"
#include "tools/heddle/input.h"
#include "tools/heddle/kv_error_measure.h"
#include "tools/heddle/kv_sample_file.h"
#include "tools/heddle/options.h"
#include "tools/heddle/output.h"
#include "tools/heddle/printable.h"
#include "tools/heddle/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

constexpr int kMostHeads = 8;  // that are measured: all of a model's are alike here

struct KvErrorOptions {
  std::string config;
  int tokens = 512;
  std::uint32_t seed = 1;
  std::string data;  // a safetensors file; empty: synthetic
  std::string plot;
  bool json = false;
};

struct Row {
  std::string name;
  KvTokenBytes bytes;
  KvError error;
};

// A token and head of K and V together.
double bytes_of_head(std::size_t bytes, int heads) { return static_cast<double>(bytes) / heads; }

ordered_json to_json(const Row& row, int heads) {
  return {{"cache", row.name},
          {"code_bytes", bytes_of_head(row.bytes.codes, heads)},
          {"scale_bytes", bytes_of_head(row.bytes.scales, heads)},
          {"k_error", row.error.k_only},
          {"v_error", row.error.v_only},
          {"error", row.error.both}};
}

std::string to_text(const std::vector<Row>& rows, int heads) {
  Table table({{"CACHE"},
               {"CODES", Align::kRight},
               {"SCALES", Align::kRight},
               {"K ERROR", Align::kRight},
               {"V ERROR", Align::kRight},
               {"ERROR", Align::kRight}});
  for (const Row& row : rows) {
    table.add_row({row.name, fmt::format("{:g}", bytes_of_head(row.bytes.codes, heads)),
                   fmt::format("{:g}", bytes_of_head(row.bytes.scales, heads)),
                   fmt::format("{:.2e}", row.error.k_only), fmt::format("{:.2e}", row.error.v_only),
                   fmt::format("{:.2e}", row.error.both)});
  }
  return table.text();
}

// Bytes to the right, the logarithm of the error upwards.
std::string to_svg(const std::vector<Row>& rows, int heads) {
  constexpr double kWidth = 900;
  constexpr double kHeight = 560;
  constexpr double kMargin = 60;
  constexpr double kDecades = 5;  // from 1e-4 to 10
  double most = 0;
  for (const Row& row : rows) {
    most = std::max(most, bytes_of_head(row.bytes.codes + row.bytes.scales, heads));
  }
  const auto x_of = [&](double bytes) {
    return kMargin + bytes / (1.2 * most) * (kWidth - 2 * kMargin);
  };
  const auto y_of = [&](double error) {
    const double place = (std::log10(std::max(error, 1e-4)) + 4) / kDecades;
    return kHeight - kMargin - place * (kHeight - 2 * kMargin);
  };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n"
      "<text x=\"{}\" y=\"{}\">bytes of a token and head, K and V</text>\n"
      "<text x=\"8\" y=\"20\">relative error of attention</text>\n",
      kWidth, kHeight, kWidth / 2 - 90, kHeight - 15);
  for (int decade = -4; decade <= 1; ++decade) {
    const double y = y_of(std::pow(10, decade));
    svg += fmt::format(
        "<line x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\" stroke=\"#ccc\"/>\n"
        "<text x=\"8\" y=\"{:.1f}\">1e{}</text>\n",
        kMargin, y, kWidth - kMargin, y, y + 4, decade);
  }
  for (const Row& row : rows) {
    const double bytes = bytes_of_head(row.bytes.codes + row.bytes.scales, heads);
    svg += fmt::format(
        "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"4\" fill=\"#36c\"><title>{2}: {3:g} bytes, "
        "{4:.2e}</title></circle>\n<text x=\"{5:.1f}\" y=\"{6:.1f}\">{2}</text>\n",
        x_of(bytes), y_of(row.error.both), row.name, bytes, row.error.both, x_of(bytes) + 7,
        y_of(row.error.both) + 4);
  }
  return svg + "</svg>\n";
}

void write_plot(const std::string& path, const std::string& svg) {
  OutputFile file(path);
  file.write(0, svg.data(), svg.size());
  file.commit();
}

Model read_cache_model(const std::string& argument) {
  const Input input = read_input(argument);
  try {
    return cache_model_from_config(input.text, "{}");
  } catch (const Error& error) {
    throw at_place(input.place, error);
  }
}

// The cache that most layers of the model have.
struct CacheShape {
  AttentionShape shape;
  DType dtype{};
  int layers = 0;
};

CacheShape shape_of(const Model& model, const std::string& config) {
  CacheShape result;
  for (const ModelKernel& append : model.kernels) {
    if (append.spec.op() != Op::kKvAppend || append.layers <= result.layers) continue;
    const KvShape kv = append.spec.kv_shape();
    for (const ModelKernel& kernel : model.kernels) {
      if (kernel.spec.op() != Op::kDecodeAttention) continue;
      const DecodeAttentionSpec& attention = kernel.spec.decode_attention();
      if (attention.shape.kv_heads != kv.kv_heads || attention.shape.head_dim != kv.head_dim) {
        continue;
      }
      result = {attention.shape, attention.activation, append.layers};
    }
  }
  if (result.layers > 0) return result;
  throw Error(ErrorCategory::kUnsupported, "tool.kv_unserved",
              fmt::format("{}: {}", config,
                          model.unserved.empty() ? "the model has no key-value cache"
                                                 : model.unserved.front().reason));
}

int run(const KvErrorOptions& options) {
  const Model model = read_cache_model(options.config);
  const auto [shape, dtype, layers] = shape_of(model, options.config);
  const int heads = std::min(shape.kv_heads, kMostHeads);
  const KvSample sample =
      options.data.empty() ? make_kv_sample(heads, shape.heads / shape.kv_heads, shape.head_dim,
                                            options.tokens, dtype, options.seed)
                           : read_kv_sample(options.data, shape, kMostHeads, dtype, options.seed);
  std::vector<Row> rows;
  for (const KvChoice& choice : kv_choices(heads, shape.head_dim, dtype)) {
    KvSpec kv;
    kv.k = choice.k;
    kv.v = choice.v;
    rows.push_back({choice.name,
                    kv_token_bytes(kv_cache_layout(kv, shape.kv_heads, shape.head_dim)),
                    measure_kv_error(sample, choice.k, choice.v)});
  }
  if (!options.plot.empty()) write_plot(options.plot, to_svg(rows, shape.kv_heads));
  if (options.json) {
    auto list = ordered_json::array();
    for (const Row& row : rows) list.push_back(to_json(row, shape.kv_heads));
    print_json({{"model_type", model.model_type},
                {"head_dim", shape.head_dim},
                {"kv_heads", shape.kv_heads},
                {"layers", layers},
                {"data", options.data.empty() ? "synthetic" : options.data},
                {"tokens", sample.tokens},
                {"seed", options.seed},
                {"caches", std::move(list)}});
  } else {
    print(to_text(rows, shape.kv_heads) +
          fmt::format("{}: {} layers x {} heads; CODES and SCALES are bytes of a token and head, K "
                      "and V\n",
                      printable(model.model_type), layers, shape.kv_heads));
  }
  return kExitDone;
}

}  // namespace

void add_kv_error_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<KvErrorOptions>();
  CLI::App* command = app.add_subcommand(
      "kv-error", "What each way to keep a model's key-value cache costs in bytes and accuracy");
  command
      ->add_option("CONFIG", options->config,
                   "a model's config.json: a file, or - for standard input")
      ->required();
  CLI::Option* data = command->add_option(
      "--data", options->data,
      "take K and V from this safetensors file: \"k\" and \"v\", [tokens, kv_heads, head_dim], and "
      "\"q\", [heads, head_dim], if it is there");
  data->type_name("FILE");
  command->add_option("--tokens", options->tokens, "synthetic tokens in the cache; default 512")
      ->check(CLI::Range(1, 65536))
      ->excludes(data);
  command->add_option("--seed", options->seed, "of the data; default 1");
  command->add_option("--plot", options->plot, "also write a plot, SVG, to this file")
      ->type_name("FILE");
  add_json_option(*command, &options->json);
  command->footer(
      "Without --data K is synthetic with channels of large values, as trained models have them, "
      "V\n"
      "without, and Q is random. Of a model with more than 8 heads of K and V the first 8 count.\n"
      "ERROR is the distance of attention's output from that of the cache in 16 bits, K ERROR and\n"
      "V ERROR with only K or only V quantised. It needs no GPU; the codes are those of "
      "kv_append.\n"
      "Example:\n"
      "  heddle kv-error examples/models/llama-3-8b-awq/config.json --plot kv.svg\n"
      "  heddle kv-error config.json --data layer-12.safetensors");
  command->callback([=] { *action = [options] { return run(*options); }; });
}

}  // namespace heddle
