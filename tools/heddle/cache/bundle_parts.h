// The parts of `heddle bundle`, each of which returns an exit code or throws Error.
#ifndef HEDDLE_TOOLS_HEDDLE_CACHE_BUNDLE_PARTS_H_
#define HEDDLE_TOOLS_HEDDLE_CACHE_BUNDLE_PARTS_H_

#include <string>
#include <vector>

#include "heddle/bundle.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/pack_options.h"

namespace heddle {

struct BundleCreateOptions {
  std::vector<std::string> specs;
  std::string kv;
  PackCommandOptions pack;
  std::vector<std::string> targets;
  std::string output;
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

// Tells what was written to `output`; `unused`, if not null, is a part of the JSON report.
void print_written(const std::string& output, const BundleReport& written,
                   const std::vector<std::string>* unused, bool json);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_CACHE_BUNDLE_PARTS_H_
