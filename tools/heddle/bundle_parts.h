// The parts of `heddle bundle`, each of which returns an exit code or throws Error.
#ifndef HEDDLE_TOOLS_HEDDLE_BUNDLE_PARTS_H_
#define HEDDLE_TOOLS_HEDDLE_BUNDLE_PARTS_H_

#include <string>
#include <vector>

#include "cache/bundle.h"
#include "heddle/tuned.h"
#include "tools/heddle/options.h"
#include "tools/heddle/pack_options.h"

namespace heddle {

struct BundleCreateOptions {
  std::vector<std::string> specs;
  std::string kv;
  PackCommandOptions pack;
  std::vector<std::string> targets;
  std::string output;
  std::string tuned;
  CompileOptions compile;
  bool no_source = false;
  bool json = false;
};

struct BundleFileOptions {
  std::string file;
  std::string output;  // of extract, as the next
  std::string tables;
  bool json = false;
};

struct BundleMergeOptions {
  std::vector<std::string> files;
  std::string output;
  bool json = false;
};

int create_bundle(const BundleCreateOptions& options);
int list_bundle(const BundleFileOptions& options);
int verify_bundle(const BundleFileOptions& options);
int extract_bundle(const BundleFileOptions& options);
int merge_bundles(const BundleMergeOptions& options);

// Throws Error(kUsage) for a name that does not end in .hdl.
void check_bundle_name(const std::string& name);
// Throws Error(kFile) for a file that is no bundle or not to be trusted.
void check_readable(Bundle* bundle, const std::string& file);
// Writes a bundle and tells what is in it. Throws Error(kFile).
void write_bundle(const std::string& output, std::vector<BundleEntry> entries,
                  const TunedTables& tables, BundleTexts texts,
                  const std::vector<std::string>* unused, bool json);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_BUNDLE_PARTS_H_
