#include "checkpoint/output/packed_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "checkpoint/codes/half_convert.h"
#include "checkpoint/output/packed_contents.h"
#include "generator/model/byte_activations.h"
#include "generator/spec/document.h"
#include "generator/spec/error_place.h"
#include "generator/target/capabilities.h"
#include "heddle/error.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

bool has_layout(const SafetensorsFile& file) {
  return file.header().metadata.count(kLayoutKey) != 0;
}

// The whole number that the text is; -1 for other texts.
int whole_number(std::string_view text) {
  int value = -1;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? value : -1;
}

// Whether each run of `columns` numbers has those from 0 on, each once.
bool are_permutations(const std::vector<std::uint8_t>& bytes, std::size_t columns) {
  std::vector<bool> seen;
  for (std::size_t i = 0; i < bytes.size() / sizeof(std::int32_t); ++i) {
    if (i % columns == 0) seen.assign(columns, false);
    std::int32_t column = 0;
    std::memcpy(&column, bytes.data() + i * sizeof column, sizeof column);
    if (column < 0 || static_cast<std::size_t>(column) >= seen.size()) return false;
    if (seen[static_cast<std::size_t>(column)]) return false;
    seen[static_cast<std::size_t>(column)] = true;
  }
  return true;
}

class PackedFileReader {
 public:
  PackedFileReader(const Checkpoint& checkpoint, const SafetensorsFile& file)
      : checkpoint_(checkpoint), metadata_(file.header().metadata), path_(file.path()) {
    const int layout = whole_number(metadata_.at(kLayoutKey));
    if (layout < 1) refuse(fmt::format("its metadata has no number as {}", kLayoutKey));
    if (layout != kLayoutVersion) {
      refuse_version(fmt::format("its {} is {}, not {}", kLayoutKey, layout, kLayoutVersion));
    }
    const auto contents = metadata_.find(kContentsKey);
    if (contents == metadata_.end()) {
      refuse_version(fmt::format("its metadata has no {}", kContentsKey));
    }
    contents_ = read_contents(contents->second, path_);
  }

  void check_options(const PackOptions& options, const ConfigRequest& request, PackedUse use) const;
  PackedCheckpoint read(int arch);
  TensorParallel parallel() const { return ranks<TensorParallel>(kRankKey); }
  ExpertParallel expert_parallel() const { return ranks<ExpertParallel>(kExpertRankKey); }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorCategory::kFile, "checkpoint.packed", fmt::format("{}: {}", path_, why));
  }
  [[noreturn]] void refuse_version(const std::string& why) const {
    throw Error(ErrorCategory::kUnsupported, "checkpoint.packed_version",
                fmt::format("{}: {}: it was packed by another version of heddle repack; pack the "
                            "checkpoint again",
                            path_, why));
  }
  [[noreturn]] void refuse_option(const std::string& option, const std::string& what) const {
    throw Error(
        ErrorCategory::kUsage, "checkpoint.packed_options",
        fmt::format("{} {}: leave {} away, or pack the checkpoint again", path_, what, option));
  }
  // "1/4" of the metadata.
  template <class Ranks>
  Ranks ranks(const char* key) const;
  template <class Ranks>
  void check_rank(const Ranks& own, const Ranks& asked, bool any, const char* options) const;
  Spec spec_of(const std::string& layer) const;
  // A tensor of the layer, which no other may have.
  MadeTensor take(const std::string& name);
  MadeTensor take(const std::string& name, TensorType type, const std::vector<std::int64_t>& shape);
  MadeTensor take_floats(const std::string& name, std::int64_t elements);
  MadeTensor take_weights(const std::string& name, std::size_t bytes, std::int64_t* matrices);
  MadeTensor take_scale(const std::string& name);
  CheckpointExperts read_experts(const std::string& name, const PackedExpertsContents& contents,
                                 const std::vector<PackedLayerTensors>& layers) const;
  PackedLayerTensors read_layer(const std::string& name, const PackedLayerContents& contents);
  void check_arch(const Spec& spec, const std::string& layer, int arch) const;
  void check_keys() const;
  void check_unserved() const;
  void check_all_taken() const;

  const Checkpoint& checkpoint_;
  const std::map<std::string, std::string>& metadata_;
  const std::string& path_;
  PackedContents contents_;
  std::set<std::string> taken_;
};

template <class Ranks>
Ranks PackedFileReader::ranks(const char* key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) return {};
  const std::string_view text = found->second;
  const std::size_t slash = std::min(text.find('/'), text.size() - 1);
  const Ranks ranks = {whole_number(text.substr(0, slash)), whole_number(text.substr(slash + 1))};
  if (ranks.rank < 0 || ranks.rank >= ranks.size) {
    refuse(fmt::format("{} of its metadata is no rank: \"{}\"", key, excerpt(text)));
  }
  return ranks;
}

template <class Ranks>
void PackedFileReader::check_rank(const Ranks& own, const Ranks& asked, bool any,
                                  const char* options) const {
  if ((any && asked.size == 1) || (own.rank == asked.rank && own.size == asked.size)) return;
  throw Error(ErrorCategory::kUsage, "checkpoint.packed_options",
              fmt::format("{} is what rank {} of {} has, and rank {} of {} is asked for "
                          "(CheckpointOptions::{})",
                          path_, own.rank, own.size, asked.rank, asked.size, options));
}

void PackedFileReader::check_options(const PackOptions& options, const ConfigRequest& request,
                                     PackedUse use) const {
  if (!options.choice.keep.empty() || !options.choice.skip.empty()) {
    refuse_option("--keep and --skip (choice)", "is packed, and its tensors are chosen already");
  }
  if (!options.fuse && contents_.fused) {
    refuse_option("--no-fuse (fuse)", "was packed with fused layers");
  }
  if (options.gated && !contents_.gated) refuse_option("--gated", "was packed without --gated");
  if (options.dense && !contents_.dense) refuse_option("--dense", "was packed without --dense");
  const auto head = metadata_.find(kHeadKey);
  if (options.lm_head_bits != 0 &&
      (head == metadata_.end() || head->second != std::to_string(options.lm_head_bits))) {
    refuse_option(fmt::format("--lm-head {} (lm_head_bits)", options.lm_head_bits),
                  head == metadata_.end() ? "was packed without --lm-head"
                                          : "was packed with --lm-head " + excerpt(head->second));
  }
  if (request.activation_bits == 16) {
    for (const auto& [layer, own] : contents_.layers) {
      if (!spec_of(layer).gemm().has_byte_activations()) continue;
      refuse_option(
          "--activations 16 (activation_bits)",
          fmt::format("has the layer \"{}\" packed for activations of 8 bits", excerpt(layer)));
    }
  }
  const bool any = use == PackedUse::kSpecs;
  check_rank(parallel(), options.parallel, any, "parallel, --tp");
  check_rank(expert_parallel(), options.expert_parallel, any, "expert_parallel, --ep");
  if (use == PackedUse::kLaunches && contents_.rotates && !request.engine_rotates) {
    throw Error(
        ErrorCategory::kUsage, "checkpoint.packed_options",
        fmt::format("{} is of a model that rotates activations at run time, which no kernel "
                    "of Heddle does: an engine that does it says so (engine_rotates)",
                    path_));
  }
}

Spec PackedFileReader::spec_of(const std::string& layer) const {
  const auto found = metadata_.find(layer + kPackedSuffix);
  if (found == metadata_.end()) {
    refuse(fmt::format("its metadata has no spec of the layer \"{}\"", excerpt(layer)));
  }
  try {
    const Spec spec = Spec::parse(found->second);
    if (const auto* gemm = spec.get_if<GemmSpec>()) return Spec::from_gemm(*gemm, label_of(layer));
  } catch (const Error& error) {
    std::string why;
    for (const std::string& line : problem_lines(error, ""))
      why += (why.empty() ? "" : "; ") + line;
    refuse(
        fmt::format("the spec of the layer \"{}\" in its metadata is none that this library "
                    "knows: {}",
                    excerpt(layer), why));
  }
  refuse(fmt::format("the spec of the layer \"{}\" in its metadata is of no gemm", excerpt(layer)));
}

MadeTensor PackedFileReader::take(const std::string& name) {
  if (checkpoint_.find(name) == nullptr) {
    refuse(fmt::format("the tensor \"{}\" is missing", excerpt(name)));
  }
  if (!taken_.insert(name).second) {
    refuse(fmt::format("the tensor \"{}\" has two places in it", excerpt(name)));
  }
  return copied_tensor(checkpoint_.at(name));
}

MadeTensor PackedFileReader::take(const std::string& name, TensorType type,
                                  const std::vector<std::int64_t>& shape) {
  MadeTensor made = take(name);
  if (made.info.type != type || made.info.shape != shape) {
    refuse(fmt::format("the tensor \"{}\" is {}; by the layer's spec it is {}", excerpt(name),
                       describe(made.info.type, made.info.shape), describe(type, shape)));
  }
  return made;
}

MadeTensor PackedFileReader::take_floats(const std::string& name, std::int64_t elements) {
  MadeTensor made = take(name);
  const auto bytes = static_cast<std::uint64_t>(elements * bytes_of(made.info.type));
  if (!is_float(made.info.type) || made.info.bytes != bytes) {
    refuse(fmt::format("the tensor \"{}\" is {}; by the layer's spec it has {} floats",
                       excerpt(name), describe(made.info.type, made.info.shape), elements));
  }
  return made;
}

// [bytes], or [matrices, bytes] of experts.
MadeTensor PackedFileReader::take_weights(const std::string& name, std::size_t bytes,
                                          std::int64_t* matrices) {
  MadeTensor made = take(name);
  const std::vector<std::int64_t>& shape = made.info.shape;
  const bool fits = made.info.type == TensorType::kU8 && !shape.empty() && shape.size() <= 2 &&
                    shape.back() == static_cast<std::int64_t>(bytes) && shape.front() > 0;
  if (!fits) {
    refuse(fmt::format("the tensor \"{}\" is {}; by the layer's spec it is U8 [{}]", excerpt(name),
                       describe(made.info.type, shape), bytes));
  }
  *matrices = shape.size() == 2 ? shape.front() : 1;
  return made;
}

MadeTensor PackedFileReader::take_scale(const std::string& name) {
  MadeTensor made = take(name, TensorType::kF32, {1});
  float scale = 0;
  std::memcpy(&scale, checkpoint_.read(name).data(), sizeof scale);
  // As repack takes them from a checkpoint.
  if (!(scale >= 0x1p-126F && scale < 0x1p126F)) {
    refuse(fmt::format("the tensor \"{}\" is {}, and a scale is from 2^-126 to below 2^126",
                       excerpt(name), scale));
  }
  return made;
}

PackedLayerTensors PackedFileReader::read_layer(const std::string& name,
                                                const PackedLayerContents& contents) {
  PackedLayer layer;
  layer.group.name = name;
  layer.spec = spec_of(name);
  const GemmSpec& gemm = layer.spec.gemm();
  std::int64_t rows = 0;
  for (const CheckpointPart& part : contents.parts) {
    if (part.rows < 1 || part.rows > gemm.shape.n - rows) {
      refuse(fmt::format(
          "the part \"{}\" of the layer \"{}\" has {} rows; of the {} of its spec {} "
          "are left",
          excerpt(part.name), excerpt(name), part.rows, gemm.shape.n, gemm.shape.n - rows));
    }
    layer.group.parts.push_back({part.name});
    layer.heights.push_back(part.rows);
    rows += part.rows;
  }
  if (rows != gemm.shape.n) {
    refuse(fmt::format("the parts of the layer \"{}\" do not have the {} rows of its spec",
                       excerpt(name), gemm.shape.n));
  }
  MadeTensor weights =
      take_weights(name + kPackedSuffix, weight_layout(gemm).total_bytes, &layer.matrices);
  std::optional<MadeTensor> permutation;
  std::optional<MadeTensor> bias;
  std::optional<MadeTensor> pre_scale;
  std::optional<MadeTensor> input_scale;
  if (gemm.act_order) {
    std::vector<std::int64_t> shape = {gemm.shape.k};
    if (layer.matrices != 1) shape.insert(shape.begin(), layer.matrices);
    permutation = take(name + kPermutationSuffix, TensorType::kI32, shape);
    // Kernels read X at these places.
    if (!are_permutations(checkpoint_.read(permutation->info.name),
                          static_cast<std::size_t>(gemm.shape.k))) {
      refuse(fmt::format("the tensor \"{}\" is no order of {} columns",
                         excerpt(permutation->info.name), gemm.shape.k));
    }
  }
  if (gemm.epilogue.bias != !contents.bias.empty() ||
      gemm.pre_scale != !contents.pre_scale.empty()) {
    refuse(fmt::format("its metadata names other vectors of the layer \"{}\" than its spec has",
                       excerpt(name)));
  }
  if (gemm.epilogue.bias) bias = take_floats(contents.bias, layer.matrices * gemm.shape.n);
  if (gemm.pre_scale) pre_scale = take_floats(contents.pre_scale, gemm.shape.k);
  if (gemm.activation_scale.granularity == RowGranularity::kTensor) {
    input_scale = take_scale(name + ".input_scale");
  }
  return {std::move(layer), std::move(weights),   std::move(permutation),
          std::move(bias),  std::move(pre_scale), std::move(input_scale)};
}

CheckpointExperts PackedFileReader::read_experts(
    const std::string& name, const PackedExpertsContents& contents,
    const std::vector<PackedLayerTensors>& layers) const {
  const auto refuse_experts = [&](const std::string& why) {
    refuse(fmt::format("the experts \"{}\" in its metadata {}", excerpt(name), why));
  };
  std::optional<Spec> spec;
  std::optional<Spec> routed;
  try {
    spec = Spec::parse(contents.spec);
    if (!contents.routed.empty()) routed = Spec::parse(contents.routed);
  } catch (const Error&) {
    refuse_experts("have a spec that this library does not know");
  }
  const auto* const moe = spec->get_if<MoeSpec>();
  if (moe == nullptr) refuse_experts("have the spec of another operation");
  const auto [rank, size] = expert_parallel();
  if (moe->local_experts() * size != moe->shape.experts ||
      moe->shape.first_expert != rank * moe->local_experts()) {
    refuse_experts(fmt::format("are {} of {} from {} on, and not those of rank {} of {} ({})",
                               moe->local_experts(), moe->shape.experts, moe->shape.first_expert,
                               rank, size, kExpertRankKey));
  }
  const MoeGemms gemms = moe_gemms(*moe);
  const auto expect_product = [&](const std::string& layer, const GemmSpec& gemm) {
    const auto found = std::find_if(layers.begin(), layers.end(), [&](const auto& other) {
      return other.layer.group.name == layer;
    });
    const bool fits = found != layers.end() && found->layer.matrices == moe->local_experts() &&
                      found->layer.spec.canonical_json() == Spec::from_gemm(gemm).canonical_json();
    if (!fits) refuse_experts(fmt::format("are not those of its layer \"{}\"", excerpt(layer)));
    const TensorType wanted =
        moe->activation == DType::kBf16 ? TensorType::kBf16 : TensorType::kF16;
    if (!found->bias || found->bias->info.type == wanted) return;
    refuse_experts(fmt::format("take biases of {}, but the tensor \"{}\" is {}", to_string(wanted),
                               excerpt(found->bias->info.name),
                               describe(found->bias->info.type, found->bias->info.shape)));
  };
  expect_product(contents.gate_up, gemms.gate_up);
  expect_product(contents.down, gemms.down);
  if (routed) {
    const auto* const by_logits = routed->get_if<MoeSpec>();
    MoeSpec by_ids = by_logits == nullptr ? MoeSpec() : *by_logits;
    const bool chooses = by_ids.router.chooses();
    by_ids.router = moe->router;
    if (!chooses || Spec::from_moe(by_ids).canonical_json() != spec->canonical_json()) {
      refuse_experts("have another spec for logits than for ids");
    }
    routed = Spec::from_moe(*by_logits, "experts");
  }
  return {name, Spec::from_moe(*moe, "experts"), contents.gate_up, contents.down, routed};
}

void PackedFileReader::check_arch(const Spec& spec, const std::string& layer, int arch) const {
  if (arch == 0 || !spec.gemm().has_byte_activations()) return;
  if (takes_bytes(target_of_arch(arch), spec.gemm())) return;
  throw Error(ErrorCategory::kUnsupported, "checkpoint.packed_arch",
              fmt::format("{}: the layer \"{}\" is packed for activations of 8 bits, which models "
                          "do not take on sm_{}: pack the checkpoint again with --target or "
                          "--activations 16",
                          path_, excerpt(layer), arch));
}

// Specs of layers that the contents do not have.
void PackedFileReader::check_keys() const {
  const std::string_view suffix = kPackedSuffix;
  for (const auto& [key, value] : metadata_) {
    if (!key.ends_with(suffix)) continue;
    if (contents_.layers.count(key.substr(0, key.size() - suffix.size())) != 0) continue;
    refuse(
        fmt::format("its metadata has the spec of \"{}\", which is no layer of it", excerpt(key)));
  }
}

void PackedFileReader::check_unserved() const {
  for (const UnservedLayer& layer : contents_.unserved) {
    for (const std::string& tensor : layer.tensors) {
      if (checkpoint_.find(tensor) != nullptr) continue;
      refuse(fmt::format("the tensor \"{}\" of the layer \"{}\" is missing", excerpt(tensor),
                         excerpt(layer.name)));
    }
  }
}

void PackedFileReader::check_all_taken() const {
  for (const auto& [name, entry] : checkpoint_.tensors()) {
    if (taken_.count(name) != 0) continue;
    refuse(fmt::format("the tensor \"{}\" of {} is none that heddle repack wrote into {}",
                       excerpt(name), entry.file->path(), path_));
  }
}

PackedCheckpoint PackedFileReader::read(int arch) {
  check_keys();
  PackedCheckpoint packed;
  for (const auto& [name, layer] : contents_.layers) {
    packed.layers.push_back(read_layer(name, layer));
    check_arch(packed.layers.back().layer.spec, name, arch);
  }
  std::set<std::string> products;
  for (const auto& [name, experts] : contents_.experts) {
    for (const std::string& layer : {experts.gate_up, experts.down}) {
      if (products.insert(layer).second) continue;
      refuse(
          fmt::format("the experts \"{}\" in its metadata have the layer \"{}\", which is another "
                      "product of experts, too",
                      excerpt(name), excerpt(layer)));
    }
    packed.experts.push_back(read_experts(name, experts, packed.layers));
  }
  std::sort(contents_.copied.begin(), contents_.copied.end());
  for (const std::string& name : contents_.copied) packed.others.push_back(take(name));
  check_unserved();
  check_all_taken();
  packed.unserved = std::move(contents_.unserved);
  if (contents_.rotates) packed.notes.emplace_back("the engine has to rotate activations");
  packed.kept = contents_.kept;
  packed.dense = contents_.dense;
  packed.rotates = contents_.rotates;
  return packed;
}

}  // namespace

bool is_packed(const Checkpoint& checkpoint) {
  const auto& files = checkpoint.files();
  return std::any_of(files.begin(), files.end(),
                     [](const auto& file) { return has_layout(*file); });
}

PackedCheckpoint read_packed_checkpoint(const Checkpoint& checkpoint, const PackOptions& options,
                                        const ConfigRequest& request, PackedUse use) {
  const auto& files = checkpoint.files();
  const auto packed =
      std::find_if(files.begin(), files.end(), [](const auto& file) { return has_layout(*file); });
  // Two ranks in one folder, for one. Tensors of other files are foreign ones.
  for (const auto& other : files) {
    if (other == *packed || !has_layout(*other)) continue;
    throw Error(ErrorCategory::kFile, "checkpoint.packed",
                fmt::format("{} and {} are both packed: give one of them", (*packed)->path(),
                            other->path()));
  }
  PackedFileReader reader(checkpoint, **packed);
  reader.check_options(options, request, use);
  PackedCheckpoint made = reader.read(request.arch);
  const TensorParallel rank = reader.parallel();
  if (use == PackedUse::kSpecs && rank.size > 1) {
    made.notes.push_back(
        fmt::format("the file has what rank {} of {} has of each matrix", rank.rank, rank.size));
  }
  const ExpertParallel experts = reader.expert_parallel();
  if (use == PackedUse::kSpecs && experts.size > 1) {
    made.notes.push_back(
        fmt::format("the file has the experts of rank {} of {}", experts.rank, experts.size));
  }
  return made;
}

}  // namespace heddle
