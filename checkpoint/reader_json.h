// All that a reader tells of its checkpoint, as JSON.
#ifndef HEDDLE_CHECKPOINT_READER_JSON_H_
#define HEDDLE_CHECKPOINT_READER_JSON_H_

#include <string>

#include "heddle/checkpoint.h"

namespace heddle {

// {"layers": [...], "tensors": [...], "unserved": [...], "notes": [...]}: the members of the
// reader's structs by their names; of a layer tensors that it does not have are left out.
std::string checkpoint_to_json(const CheckpointReader& reader);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_READER_JSON_H_
