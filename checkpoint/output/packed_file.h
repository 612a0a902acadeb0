// A file that `heddle repack` wrote, read again.
#ifndef HEDDLE_CHECKPOINT_OUTPUT_PACKED_FILE_H_
#define HEDDLE_CHECKPOINT_OUTPUT_PACKED_FILE_H_

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/packed_checkpoint.h"

namespace heddle {

bool is_packed(const Checkpoint& checkpoint);

// What is made of the file. Launches need its own rank, and an engine that rotates where it has to;
// specs are those of the file whatever its rank is.
enum class PackedUse { kLaunches, kSpecs };

// The layers and tensors of the file, with the same names, specs and bytes that the checkpoint has
// which was packed. No config is read: the file's metadata says it all. `options` and `request` may
// ask for nothing that the file is not. The checkpoint must outlive what is made of it. Throws
// - Error(kFile, "checkpoint.packed") for files that are not as heddle repack wrote them, with the
//   name of the layer or tensor: one that is missing, foreign, or of another size;
// - Error(kUnsupported, "checkpoint.packed_version") for a file of another version, and
//   "checkpoint.packed_arch" for layers of 8-bit activations that `request.arch` does not take;
// - Error(kUsage, "checkpoint.packed_options") for options that are not the file's.
// Precondition: is_packed().
PackedCheckpoint read_packed_checkpoint(const Checkpoint& checkpoint, const PackOptions& options,
                                        const ConfigRequest& request, PackedUse use);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_OUTPUT_PACKED_FILE_H_
