// PackedContents: what `heddle repack` notes of a file in its metadata, so that the file can be
// read without the model's config.
#ifndef HEDDLE_CHECKPOINT_OUTPUT_PACKED_CONTENTS_H_
#define HEDDLE_CHECKPOINT_OUTPUT_PACKED_CONTENTS_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/checkpoint.h"

namespace heddle {

// Keys of the metadata. A layer's spec stands under the name of its tensor.
inline constexpr const char* kLayoutKey = "heddle.layout";
inline constexpr const char* kContentsKey = "heddle.contents";
inline constexpr const char* kRankKey = "heddle.tp";
inline constexpr const char* kExpertRankKey = "heddle.ep";
inline constexpr const char* kHeadKey = "heddle.lm_head";
// How the tensors of a layer end.
inline constexpr const char* kPackedSuffix = ".heddle";
inline constexpr const char* kPermutationSuffix = ".heddle_perm";

struct PackedLayerContents {
  std::vector<CheckpointPart> parts;  // one at least
  // Tensors that keep the checkpoint's names; empty where the layer has none.
  std::string bias;
  std::string pre_scale;
};

// The experts of a decoder layer: two of the layers.
struct PackedExpertsContents {
  std::string spec;  // of a moe: JSON
  std::string gate_up;
  std::string down;
  std::string routed{};  // CheckpointExperts::routed: JSON; empty: none
};

struct PackedContents {
  // How the file was packed, as in CheckpointOptions.
  bool fused = true;
  bool gated = false;
  bool dense = false;
  bool rotates = false;  // the engine has to rotate activations
  std::map<std::string, PackedLayerContents> layers;
  std::map<std::string, PackedExpertsContents> experts;
  std::vector<UnservedLayer> unserved;
  std::vector<std::string> copied;  // tensors that are no part of `layers`
  std::size_t kept = 0;             // quantised layers that were left as they were on request
};

// One JSON object.
std::string contents_text(const PackedContents& contents);
// Throws Error(kFile, "checkpoint.packed") for a text that is none, Error(kUnsupported,
// "checkpoint.packed_version") for one of a later version. Messages begin with `file`.
PackedContents read_contents(std::string_view text, const std::string& file);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_OUTPUT_PACKED_CONTENTS_H_
