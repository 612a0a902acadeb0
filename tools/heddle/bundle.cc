// heddle bundle: the kernels of a model for several architectures in one file, made without a GPU.
#include "cache/bundle.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/disk_cache.h"
#include "cache/entry.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "heddle/runtime.h"
#include "runtime/builder.h"
#include "runtime/bundled_tables.h"
#include "runtime/recorder.h"
#include "tools/heddle/bundle_tables.h"
#include "tools/heddle/commands.h"
#include "tools/heddle/errors.h"
#include "tools/heddle/input.h"
#include "tools/heddle/kv_option.h"
#include "tools/heddle/model_input.h"
#include "tools/heddle/model_remarks.h"
#include "tools/heddle/model_report.h"
#include "tools/heddle/options.h"
#include "tools/heddle/output.h"
#include "tools/heddle/pack_options.h"
#include "tools/heddle/printable.h"
#include "tools/heddle/progress.h"
#include "tools/heddle/table.h"
#include "tools/heddle/unused_entries.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

struct CreateOptions {
  std::vector<std::string> specs;
  std::string kv;
  PackCommandOptions pack;
  std::vector<std::string> targets;
  std::string output;
  std::string tuned;
  CompileOptions compile;
  bool json = false;
};

struct FileOptions {
  std::string file;
  std::string output;  // of extract, as the next
  std::string tables;
  bool json = false;
};

// The kernels of one --specs that is no record. What is assumed of a model is told.
std::vector<ModelKernel> read_kernels(const std::string& argument, const std::string& kv,
                                      const PackCommandOptions& pack) {
  Model model = kv.empty() ? read_model(argument, pack) : read_model(argument, kv, pack);
  take_rows(&model);
  print_remarks(model);
  if (!model.unserved.empty()) {
    throw Error(
        ErrorCategory::kUnsupported, "tool.unserved",
        fmt::format("{}: the model needs kernels that cannot be made, so the bundle would not "
                    "be complete",
                    argument));
  }
  const ServedCount count = served_count(model);
  if (count.served < count.total) {
    print_problem(
        fmt::format("note: {} of {} layers of the model are served; heddle build --list "
                    "names the others",
                    count.served, count.total));
  }
  return std::move(model.kernels);
}

// What one --specs says, for the targets of the command line or else of a record.
std::vector<RecordedSpec> read_pairs(const std::string& argument, const std::string& kv,
                                     const PackCommandOptions& pack,
                                     const std::vector<Target>& targets) {
  // Standard input can be read only once.
  std::error_code none;
  if (argument != "-" && !argument.ends_with(".safetensors") &&
      !std::filesystem::is_directory(argument, none)) {
    const Input input = read_input(argument);
    if (is_record(input.text)) {
      if (!kv.empty()) {
        throw Error(ErrorCategory::kUsage, "tool.kv_needs_config",
                    fmt::format("--kv asks for the cache of a model: it takes a config.json, and "
                                "{} is a record",
                                argument));
      }
      std::vector<RecordedSpec> recorded;
      try {
        recorded = parse_record(input.text);
      } catch (const Error& error) {
        throw at_place(input.place, error);
      }
      if (targets.empty()) return recorded;
      std::vector<RecordedSpec> pairs;
      for (const RecordedSpec& each : recorded) {
        for (const Target& target : targets) pairs.push_back({each.spec, target});
      }
      return pairs;
    }
  }
  if (targets.empty()) {
    throw Error(ErrorCategory::kUsage, "tool.no_targets",
                fmt::format("{} is no record, which would name its targets; name them with "
                            "--targets, for example --targets h200,a100",
                            argument));
  }
  std::vector<RecordedSpec> pairs;
  for (const ModelKernel& kernel : read_kernels(argument, kv, pack)) {
    for (const Target& target : targets) pairs.push_back({kernel.spec, target});
  }
  return pairs;
}

// The sources of all pairs, each once. Throws Error(kUnsupported) with every pair that cannot be
// served: a bundle that lacks kernels is not written. `unused`: see unused_entries.h.
std::vector<Source> render_pairs(const std::vector<RecordedSpec>& pairs, const TunedTables& tables,
                                 std::vector<std::string>* unused) {
  std::vector<Source> sources;
  std::set<std::pair<std::string, std::string>> known;
  std::vector<Problem> problems;
  for (const auto& [spec, target] : pairs) {
    try {
      const Plan plan = resolve(spec, target, tables);
      add_unused(plan, tables, pairs.size() == 1 ? "" : spec.name(), unused);
      for (Source& source : render_all(plan)) {
        if (known.emplace(source.file_name, source.arch).second) {
          sources.push_back(std::move(source));
        }
      }
    } catch (const Error& error) {
      if (error.category() != ErrorCategory::kUnsupported) throw;
      const Error placed = at_place(target.name, error);
      problems.insert(problems.end(), placed.problems().begin(), placed.problems().end());
    }
  }
  if (!problems.empty()) {
    throw Error(ErrorCategory::kUnsupported, "tool.bundle_lacks_kernels", std::move(problems));
  }
  return sources;
}

BundleEntry entry_of(const Source& source, Binary binary) {
  binary.compile_ms = 0;  // so that the bundle's bytes do not depend on the machine
  const SerialKey key = serialize(cache_key(source, binary.compiler));
  return {key, encode_entry(key, binary)};
}

int create(const CreateOptions& options) {
  if (!is_bundle_name(options.output)) {
    throw Error(ErrorCategory::kUsage, "tool.bundle_name",
                fmt::format("\"{}\": the name of a bundle ends in .hdl", options.output));
  }
  std::vector<Target> targets;
  for (const std::string& name : options.targets) targets.push_back(target_from_name(name));
  std::vector<RecordedSpec> pairs;
  for (const std::string& argument : options.specs) {
    for (RecordedSpec& pair : read_pairs(argument, options.kv, options.pack, targets)) {
      pairs.push_back(std::move(pair));
    }
  }
  RuntimeOptions with_tables = runtime_options(options.compile);
  with_tables.tuned_tables = options.tuned;
  Runtime runtime(std::move(with_tables));
  std::vector<std::string> unused;
  const std::vector<Source> sources = render_pairs(pairs, runtime.tuned_tables(), &unused);
  std::set<std::string> gpus;
  for (const auto& [spec, target] : pairs) gpus.insert(tuned_gpu(target));
  const TunedTables tables = tables_to_bundle(runtime.tuned_tables(), gpus);
  std::vector<std::string> texts = texts_of(tables);
  std::vector<BundleEntry> entries;
  {
    Progress progress(!options.json);
    const auto built =
        runtime.build(sources, [&](const BuildResult& result, std::size_t done, std::size_t total) {
          progress.show(fmt::format("[{}/{}] {}: {} in {:.0f} ms", done, total, result.kernel_name,
                                    result.hit ? "found" : "compiled", result.ms),
                        result.hit);
        });
    for (std::size_t i = 0; i < sources.size(); ++i) {
      entries.push_back(entry_of(sources[i], *built[i].binary));
    }
  }
  const std::size_t count = entries.size();
  const Bytes bytes = encode_bundle(std::move(entries), std::move(texts));
  const int error = publish_bundle(options.output, bytes);
  if (error < 0) {
    throw Error(ErrorCategory::kFile, "tool.unwritable",
                fmt::format("cannot write {}: {}", options.output, error_text(-error)));
  }
  if (options.json) {
    print_json({{"bundle", options.output},
                {"kernels", count},
                {"bytes", bytes.size()},
                {"tables", tables_json(tables)},
                {"unused", unused}});
  } else {
    print(tables_text(tables) + fmt::format("{} kernels, {} bytes in {}\n", count, bytes.size(),
                                            printable(options.output)));
  }
  flush_output();
  print_unused(unused);
  return kExitDone;
}

// Throws Error(kFile) for a file that is no bundle or not to be trusted.
void check_readable(Bundle* bundle, const std::string& file) {
  const std::string problem = bundle->problem();
  if (problem.empty()) return;
  throw Error(ErrorCategory::kFile, "tool.bad_bundle",
              fmt::format("cannot use bundle {}: {}", file, problem));
}

int list(const FileOptions& options) {
  Bundle bundle(options.file);
  check_readable(&bundle, options.file);
  const TunedTables tables = read_tables(&bundle, options.file);
  const std::vector<EntryInfo> entries = bundle.list();
  if (options.json) {
    auto rows = ordered_json::array();
    for (const EntryInfo& entry : entries) {
      rows.push_back({{"key", entry.id},
                      {"kernel", entry.kernel_name},
                      {"arch", entry.arch},
                      {"compiler", entry.compiler},
                      {"cubin_bytes", entry.cubin_bytes}});
    }
    print_json({{"bundle", options.file}, {"entries", rows}, {"tables", tables_json(tables)}});
    return kExitDone;
  }
  Table table({{"KERNEL"}, {"ARCH"}, {"CUBIN", Align::kRight}, {"COMPILER"}, {"KEY"}});
  for (const EntryInfo& entry : entries) {
    table.add_row({entry.kernel_name, entry.arch, fmt::format("{}", entry.cubin_bytes),
                   entry.compiler, entry.id.substr(0, 16)});
  }
  print((entries.empty() ? std::string() : table.text()) + tables_text(tables) +
        fmt::format("{} kernels in {}\n", entries.size(), printable(options.file)));
  return kExitDone;
}

void print_damaged(const VerifyReport& report) {
  for (const auto& problem : report.problems) {
    print_problem(fmt::format("{}: {}", problem.file, problem.why));
  }
}

int verify(const FileOptions& options) {
  Bundle bundle(options.file);
  check_readable(&bundle, options.file);
  const TunedTables tables = read_tables(&bundle, options.file);
  const VerifyReport report = bundle.verify();
  if (options.json) {
    auto problems = ordered_json::array();
    for (const auto& problem : report.problems) {
      problems.push_back({{"key", problem.file}, {"why", problem.why}});
    }
    print_json({{"bundle", options.file},
                {"good", report.good},
                {"damaged", report.damaged},
                {"problems", problems},
                {"tables", tables_json(tables)}});
  } else {
    print(tables_text(tables) + fmt::format("{} good, {} damaged in {}\n", report.good,
                                            report.damaged, printable(options.file)));
  }
  flush_output();
  print_damaged(report);
  return report.damaged == 0 ? kExitDone : kExitFailed;
}

int extract(const FileOptions& options) {
  Bundle bundle(options.file);
  check_readable(&bundle, options.file);
  const TunedTables tables = read_tables(&bundle, options.file);
  DiskCacheOptions disk;
  disk.root = options.output;
  disk.max_bytes = 0;
  std::string why = "an entry could not be stored";
  disk.warn = [&why](const std::string& reason) { why = reason; };
  DiskCache cache(std::move(disk));
  std::size_t stored = 0;
  std::size_t failed = 0;
  const VerifyReport report = bundle.for_each([&](const SerialKey& key, const Bytes& bytes) {
    (cache.store(key, bytes) ? stored : failed) += 1;
  });
  if (failed > 0) throw Error(ErrorCategory::kFile, "tool.unwritable", why);
  const std::vector<std::string> files = write_tables(tables, options.tables);
  if (options.json) {
    print_json({{"bundle", options.file},
                {"root", options.output},
                {"kernels", stored},
                {"tables", files}});
  } else {
    for (const std::string& file : files)
      print(fmt::format("tuned table to {}\n", printable(file)));
    print(fmt::format("{} kernels to {}\n", stored, printable(options.output)));
  }
  flush_output();
  print_damaged(report);
  return report.damaged == 0 ? kExitDone : kExitFailed;
}

void add_create(CLI::App& parent, Action* action) {
  auto options = std::make_shared<CreateOptions>();
  CLI::App* command = parent.add_subcommand("create", "Compile kernels into a bundle");
  command
      ->add_option(
          "--specs", options->specs,
          "a model's config.json, a spec, a JSON list of specs or a record (heddle record); "
          "may be given several times")
      ->type_name("FILE")
      ->required();
  add_kv_option(*command, &options->kv);
  add_choice_options(*command, &options->pack);
  add_layer_options(*command, &options->pack);
  command
      ->add_option("--targets", options->targets,
                   "GPUs or architectures, such as h200,a100; without it, those of the record")
      ->type_name("NAME,NAME...")
      ->delimiter(',');
  command->add_option("-o,--output", options->output, "the bundle, a name that ends in .hdl")
      ->type_name("FILE")
      ->required();
  add_tuned_option(*command, &options->tuned);
  add_compile_options(*command, &options->compile);
  add_json_option(*command, &options->json);
  command->footer(
      "Example:\n"
      "  heddle bundle create --specs examples/specs/symmetric-g128.json --targets sm_80,sm_90 "
      "-o model.hdl\n"
      "  heddle bundle create --specs config.json --kv int8:head --targets h200 -o model.hdl\n"
      "  heddle bundle create --specs config.json --targets h200 --tuned h200.json -o model.hdl");
  command->callback([=] { *action = [options] { return create(*options); }; });
}

CLI::App* add_part(CLI::App& parent, Action* action, const std::string& name,
                   const std::string& help, int (*work)(const FileOptions&),
                   const std::shared_ptr<FileOptions>& options) {
  CLI::App* command = parent.add_subcommand(name, help);
  command->add_option("BUNDLE", options->file, "the bundle")->required();
  add_json_option(*command, &options->json);
  command->callback([=] { *action = [options, work] { return work(*options); }; });
  return command;
}

}  // namespace

void add_bundle_command(CLI::App& app, Action* action) {
  CLI::App* command =
      app.add_subcommand("bundle", "Make and read files with the kernels of a model");
  command->require_subcommand(1);
  command->footer("Example:\n  heddle bundle list model.hdl");
  add_create(*command, action);
  const auto options = [] { return std::make_shared<FileOptions>(); };
  add_part(*command, action, "list", "List the kernels and tuned tables", list, options())
      ->footer("Example:\n  heddle bundle list model.hdl");
  add_part(*command, action, "verify", "Read every kernel and check it; exit code 1 on damage",
           verify, options())
      ->footer("Example:\n  heddle bundle verify model.hdl");
  const auto extracted = options();
  CLI::App* part = add_part(*command, action, "extract", "Add the kernels to a cache folder",
                            extract, extracted);
  part->add_option("-o,--output", extracted->output, "the folder")->type_name("DIR")->required();
  part->add_option("--tables", extracted->tables,
                   "a folder for the bundle's tuned tables, each as GPU.json")
      ->type_name("DIR");
  part->footer("Example:\n  heddle bundle extract model.hdl -o cache");
}

}  // namespace heddle
