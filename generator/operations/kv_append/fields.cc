// The table of kv_append.
#include "generator/operations/kv_append/kv_append.h"
#include "generator/spec/kv_fields.h"

namespace heddle {
namespace {

constexpr Op kOp = Op::kKvAppend;

constexpr std::int64_t kLargestBase = std::int64_t{1} << 40;
// Range of the numbers in rope.scaling.
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
      .doc = "elements that are rotated together; neox: i and i + dim/2; gptj: 2i and 2i + 1"},
     {.pointer = "/rope/dim",
      .min = 16,
      .max = kLargestHead,
      .multiple = 16,
      .also = kNoneGiven,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::dim>(),
      .doc = "leading elements of a head that are rotated; 0: all"},
     {.pointer = "/rope/source",
      .kind = FieldKind::kWord,
      .words = kRopeSourceWords,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::source>(),
      .doc = "angles; base: position / base^(2i/dim); table: an argument of the launch"},
     {.pointer = "/rope/base",
      .min = 2,
      .max = kLargestBase,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::base>(),
      .doc = "the model's rope_theta"}});

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
      .doc = "how angles change for sequences longer than in training"},
     {.pointer = "/rope/scaling/type",
      .kind = FieldKind::kWord,
      .required = true,
      .words = kRopeScalingWords,
      .silent_default = true,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::scaling, &RopeScaling::type>(),
      .doc = "the model's rope_type"},
     scaling_number<&RopeScaling::factor>(
         "/rope/scaling/factor", 1, "divides the angles; llama3, yarn: those of slow pairs only"),
     {.pointer = "/rope/scaling/original_max_position_embeddings",
      .min = 1,
      .max = kLongestSequence,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::scaling,
                   &RopeScaling::original_max_position_embeddings>(),
      .doc = "llama3, yarn: positions in training"},
     scaling_number<&RopeScaling::low_freq_factor>(
         "/rope/scaling/low_freq_factor", kLeastRopeFactor,
         "llama3: pairs with fewer rotations in training are divided"),
     scaling_number<&RopeScaling::high_freq_factor>(
         "/rope/scaling/high_freq_factor", kLeastRopeFactor,
         "llama3: pairs with more rotations keep their angle"),
     scaling_number<&RopeScaling::beta_fast>(
         "/rope/scaling/beta_fast", kLeastRopeFactor,
         "yarn: pairs with more rotations keep their angle; absent: 32"),
     scaling_number<&RopeScaling::beta_slow>(
         "/rope/scaling/beta_slow", kLeastRopeFactor,
         "yarn: pairs with fewer rotations are divided; absent: 1"),
     scaling_number<&RopeScaling::attention_factor>(
         "/rope/scaling/attention_factor", kLeastRopeFactor,
         "yarn: multiplies cosines and sines; absent: 0.1 * ln(factor) + 1"),
     {.pointer = "/rope/scaling/truncate",
      .kind = FieldKind::kBool,
      .silent_default = true,
      .slot = slot<&KvAppendSpec::rope, &RopeSpec::scaling, &RopeScaling::truncate>(),
      .doc = "yarn: the ends of the ramp are rounded outwards"}});

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
      .doc = "heads of Q, a multiple of kv_heads; 0: no Q"},
     {.pointer = "/norm",
      .kind = FieldKind::kObject,
      .doc = "an RMSNorm of each head of K, and of Q, before it is rotated"},
     {.pointer = "/norm/epsilon",
      .kind = FieldKind::kNumber,
      .required = true,
      .least = 1e-12,
      .most = 1,
      .slot = slot<&KvAppendSpec::norm, &HeadNorm::epsilon>(),
      .doc = "added to the mean square"},
     {.pointer = "/norm/weight_offset",
      .min = 0,
      .max = 1,
      .silent_default = true,
      .slot = slot<&KvAppendSpec::norm, &HeadNorm::weight_offset>(),
      .doc = "added to each weight; 1 for Gemma"}});

constexpr auto kAppendFields = join_fields(
    header_fields<kOp>(
        "writes K and V of new tokens into the cache; rotates and normalises Q and K"),
    kAppendShape, activation_fields<&KvAppendSpec::activation>("type of the new K and V and of Q"),
    kv_fields<&KvAppendSpec::kv>(), kRopeFields, kScalingFields, kQueryFields);

}  // namespace

const FieldTable& kv_append_fields() {
  static const KvAppendSpec defaults;
  static const FieldTable table{kOp, kAppendFields, &defaults};
  return table;
}

}  // namespace heddle
