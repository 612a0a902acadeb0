// What `heddle build` is given: a model's folder, its config.json, one spec, or a list of specs.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_MODEL_INPUT_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_MODEL_INPUT_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/model.h"
#include "heddle/model_size.h"
#include "tools/heddle/shared/pack_options.h"

namespace heddle {

// A folder with tensors is read as a checkpoint, from the headers of its files; so are a
// safetensors file and an index. A folder without is read as the config.json in it. For a list or a
// single spec, layers is 0 and model_type is empty. Throws what Spec::parse, model_from_config and
// model_of_checkpoint throw, with the place of each problem.
Model read_model(const std::string& argument, const PackCommandOptions& options = {});

// With the activations that kernels of this architecture take.
inline Model read_model(const std::string& argument, int arch) {
  PackCommandOptions options;
  options.request.arch = arch;
  return read_model(argument, options);
}

// As above, with the operations on the cache of a model's config; `kv` as for kv_block(). The
// config need not be quantised then. Throws Error(kUsage, "tool.kv_needs_config") for specs.
Model read_model(const std::string& argument, const std::string& kv,
                 const PackCommandOptions& options);

// Whether the argument is a folder, a safetensors file or an index that read_model() would read as
// a checkpoint. Throws what read_model() throws of a place where no model is.
bool has_tensors(const std::string& argument);

// The bytes of every tensor that `heddle repack` writes with these options, or that a packed file
// has. Throws what read_model() throws. Precondition: has_tensors().
std::vector<ModelWeightSize> sizes_of_tensors(const std::string& argument,
                                              const PackCommandOptions& options);

// Moves the kernels of Model::rows behind the others, whose numbers its layers have.
inline void take_rows(Model* model) {
  for (ModelKernel& rows : model->rows) model->kernels.push_back(std::move(rows));
  model->rows.clear();
}

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_MODEL_INPUT_H_
