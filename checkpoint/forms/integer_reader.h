// IntegerReader: what the readers of all integer formats share.
#ifndef HEDDLE_CHECKPOINT_FORMS_INTEGER_READER_H_
#define HEDDLE_CHECKPOINT_FORMS_INTEGER_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/forms/integer_tensors.h"
#include "checkpoint/forms/quantized_rows.h"
#include "generator/model/scheme.h"

namespace heddle {

// One layer of a checkpoint. The references must outlive the reading.
struct LayerSource {
  const Checkpoint& checkpoint;
  const std::string& name;
  const Scheme& scheme;
  Load load;
};

// All throw Error(kUnsupported, "checkpoint.layer") for tensors that contradict each other or the
// config, and for a form that cannot be read.
IntegerTensors read_awq_layer(const LayerSource& source);
IntegerTensors read_gptq_layer(const LayerSource& source);
IntegerTensors read_awq_gemv_layer(const LayerSource& source);
IntegerTensors read_compressed_layer(const LayerSource& source);
IntegerTensors read_quark_layer(const LayerSource& source);

// A format's reader fills layer_ in read_tensors(). Tensors are named by what follows the layer's
// name: ".qweight". Every fault names the layer. Used once, by one thread.
class IntegerReader {
 public:
  explicit IntegerReader(const LayerSource& source)
      : checkpoint_(source.checkpoint), scheme_(source.scheme), load_(source.load) {
    layer_.name = source.name;
  }
  virtual ~IntegerReader() = default;
  IntegerReader(const IntegerReader&) = delete;
  IntegerReader& operator=(const IntegerReader&) = delete;

  IntegerTensors read();

 protected:
  static constexpr std::int64_t kLargestSide = std::int64_t{1} << 24;

  // In this order: the codes' width, order and shape; the scales, which give the groups; zero
  // points and the index of groups.
  virtual void read_tensors() = 0;

  [[noreturn]] void contradiction(const std::string& why) const;

  std::string full(const char* suffix) const { return layer_.name + suffix; }
  const TensorInfo& tensor(const char* suffix) const;
  // A tensor of two sides.
  const TensorInfo& matrix(const char* suffix, TensorType type = TensorType::kI32) const;
  void expect_shape(const char* suffix, const std::vector<std::int64_t>& want) const;

  std::vector<std::uint32_t> read_words(const char* suffix) const;
  void read_codes(const char* suffix);
  void set_bits(int bits);

  // [G, N] and [N, G] in the checkpoint, [N, G] here; or one for all, which each row then has.
  void read_scales_by_group(const char* suffix);
  void read_scales_by_row(const char* suffix);
  // Whether it is a scale or zero point of the whole tensor, as the config says.
  bool is_one_for_all(const TensorInfo& tensor) const;
  // For formats whose scales do not tell the number of groups.
  void set_groups(std::int64_t groups);
  const TensorInfo& scale_tensor(const char* suffix);
  void read_group_index(const char* suffix);  // [K], may be missing where the columns are in order

  // 2^(bits-1), the zero point of symmetric codes.
  unsigned fixed_zero() const { return 1U << (layer_.codes.bits - 1); }
  // Whether the layer has a tensor of zero points. Without one all of them are the fixed one, and
  // the config must say symmetric.
  bool has_zeros(const char* suffix);
  // The config says symmetric: all zero points must be the fixed one.
  void check_symmetric() const;
  // The zero points of group g: a stream along N that starts `group_step` words after that of the
  // group before, its words `word_step` apart. `bias` is added to what is stored.
  void unpack_zeros(const std::vector<std::uint32_t>& words, std::int64_t group_step,
                    std::int64_t word_step, unsigned bias);

  const Checkpoint& checkpoint_;
  const Scheme& scheme_;
  const Load load_;
  IntegerTensors layer_;

 private:
  void read_scale_of_tensor(const TensorInfo& scale);
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FORMS_INTEGER_READER_H_
