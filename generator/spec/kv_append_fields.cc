// The table of kv_append.
#include "generator/spec/kv_fields.h"

namespace heddle {
namespace {

constexpr std::int64_t kLargestBase = std::int64_t{1} << 40;
// Of the numbers of scaled rotations.
constexpr double kLeastRopeFactor = 1e-3;
constexpr double kLargestRopeFactor = 1e6;

constexpr auto kAppendShape =
    std::to_array<Field>({shape_field("the sizes of one token's K, and of its V"),
                          kv_heads_field(slot<&KvAppendSpec::shape, &KvShape::kv_heads>()),
                          head_dim_field(slot<&KvAppendSpec::shape, &KvShape::head_dim>())});

constexpr auto kRopeFields = std::to_array<Field>(
    {{.pointer = "/rope",
      .kind = FieldKind::kObject,
      .doc = "rotary position embeddings of K and Q"},
     {.pointer = "/rope/pairing",
      .kind = FieldKind::kWord,
      .required = true,
      .words = kRopePairingWords,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::pairing>(),
      .doc = "what is turned together: neox: elements i and i + dim / 2; gptj: 2i and 2i + 1"},
     {.pointer = "/rope/dim",
      .min = 16,
      .max = kLargestHead,
      .multiple = 16,
      .also = kNoneGiven,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::dim>(),
      .doc = "elements that are turned, the first ones of a head; 0: all"},
     {.pointer = "/rope/source",
      .kind = FieldKind::kWord,
      .words = kRopeSourceWords,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::source>(),
      .doc = "of the angles: base: position / base^(2i / dim); table: given with each launch"},
     {.pointer = "/rope/base",
      .min = 2,
      .max = kLargestBase,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::base>(),
      .doc = "rope_theta of the model"}});

// A number of the scaling, which some types have.
template <auto kNumber>
constexpr Field scaling_number(std::string_view pointer, double least, std::string_view doc) {
  return {.pointer = pointer,
          .kind = FieldKind::kNumber,
          .least = least,
          .most = kLargestRopeFactor,
          .slot = slot<&KvAppendSpec::rope, &RopeSpec::scaling, kNumber>(),
          .doc = doc};
}

constexpr auto kScalingFields = std::to_array<Field>(
    {{.pointer = "/rope/scaling",
      .kind = FieldKind::kObject,
      .doc = "how angles change for longer sequences than those of the training"},
     {.pointer = "/rope/scaling/type",
      .kind = FieldKind::kWord,
      .required = true,
      .words = kRopeScalingWords,
      .silent_default = true,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::scaling, &RopeScaling::type>(),
      .doc = "rope_type of the model; none: they do not"},
     scaling_number<&RopeScaling::factor>(
         "/rope/scaling/factor", 1,
         "of every type: angles are divided by it, with llama3 and yarn those of slow pairs only"),
     {.pointer = "/rope/scaling/original_max_position_embeddings",
      .min = 1,
      .max = kLongestSequence,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::scaling,
                   &RopeScaling::original_max_position_embeddings>(),
      .doc = "llama3, yarn: positions of the training"},
     scaling_number<&RopeScaling::low_freq_factor>(
         "/rope/scaling/low_freq_factor", kLeastRopeFactor,
         "llama3: pairs with fewer turns in the original positions are divided"),
     scaling_number<&RopeScaling::high_freq_factor>(
         "/rope/scaling/high_freq_factor", kLeastRopeFactor,
         "llama3: pairs with more turns in the original positions stay as they are"),
     scaling_number<&RopeScaling::beta_fast>(
         "/rope/scaling/beta_fast", kLeastRopeFactor,
         "yarn: pairs with more turns in the original positions stay as they are; 32 where absent"),
     scaling_number<&RopeScaling::beta_slow>(
         "/rope/scaling/beta_slow", kLeastRopeFactor,
         "yarn: pairs with fewer turns in the original positions are divided; 1 where absent"),
     scaling_number<&RopeScaling::attention_factor>(
         "/rope/scaling/attention_factor", kLeastRopeFactor,
         "yarn: cosines and sines are multiplied by it; 0.1 * ln(factor) + 1 where absent"),
     {.pointer = "/rope/scaling/truncate",
      .kind = FieldKind::kBool,
      .silent_default = true,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::scaling, &RopeScaling::truncate>(),
      .doc = "yarn: the first and the last pair of the ramp are rounded outwards"}});

constexpr auto kQueryFields = std::to_array<Field>(
    {{.pointer = "/query",
      .kind = FieldKind::kObject,
      .doc = "Q of the new tokens comes, too, and is written for decode_attention"},
     {.pointer = "/query/heads",
      .required = true,
      .min = 1,
      .max = kMostHeads,
      .also = kNoneGiven,
      .silent_default = true,
      .slot = slot<&KvAppendSpec::query, &KvQuery::heads>(),
      .doc = "heads of Q, a multiple of those of K and V; 0: there is no Q"},
     {.pointer = "/norm",
      .kind = FieldKind::kObject,
      .doc = "an RMSNorm of each head of K, and of Q, before it is rotated"},
     {.pointer = "/norm/epsilon",
      .kind = FieldKind::kNumber,
      .required = true,
      .least = 1e-12,
      .most = 1,
      .slot = slot<&KvAppendSpec::norm, &HeadNorm::epsilon>(),
      .doc = "added to the mean square of a head"},
     {.pointer = "/norm/weight_offset",
      .min = 0,
      .max = 1,
      .silent_default = true,
      .slot = slot<&KvAppendSpec::norm, &HeadNorm::weight_offset>(),
      .doc = "added to each weight: 1 where a checkpoint stores weights less one, as Gemma's do"}});

constexpr auto kAppendFields = join_fields(
    header_fields<Op::kKvAppend>("the operation: K and V of new tokens into the cache"),
    kAppendShape, activation_fields<&KvAppendSpec::activation>("type of the new K and V, and of Q"),
    kv_fields<&KvAppendSpec::kv>(), kRopeFields, kScalingFields, kQueryFields);

}  // namespace

const FieldTable& kv_append_fields() {
  static const KvAppendSpec defaults;
  static const FieldTable table{Op::kKvAppend, kAppendFields, &defaults};
  return table;
}

}  // namespace heddle
