// The operations of a plan while it is derived: registers, and bits brought to their places.
#ifndef HEDDLE_GENERATOR_DECODE_REGISTERS_H_
#define HEDDLE_GENERATOR_DECODE_REGISTERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generator/decode/decode_plan.h"

namespace heddle {

// immLut of a function of three inputs is its value on these columns of the truth table.
inline constexpr std::uint8_t kLutA = 0xF0, kLutB = 0xCC, kLutC = 0xAA;
// a where b has ones, c where it has zeros.
inline constexpr std::uint8_t kLutChoose = (kLutA & kLutB) | (kLutC & ~kLutB);

// Bit `from` of a source becomes bit `to` of the result.
struct BitMove {
  int source = 0;
  int from = 0;
  int to = 0;
};

// A register to be made: the moved bits over the constant, every other bit the constant's.
struct Placement {
  std::vector<BitMove> moves;
  std::uint32_t constant = 0;
  bool flip = false;  // XOR the moved bits onto the constant: ones of the constant flip them
};

class Registers {
 public:
  explicit Registers(int words);

  // How many operations place() would add, the shifts included that nobody has made yet.
  int cost(const Placement& placement) const;
  // By the cheaper of two routes: shifts and one LOP3 for each distance, or one PRMT that gathers
  // bytes and one LOP3 (none, if whole bytes are wanted). Equal costs: the first.
  // `shift_why` explains the shifts; empty: which bits go where.
  int place(const Placement& placement, const std::string& why, const std::string& shift_why = {});

  // The moved bits in their places. What lies at the others is left to whoever takes bits out of
  // the result, so that it is one operation less than place().
  int merge(const Placement& placement, const std::string& why);

  // Adds the operation with a fresh destination, which it returns.
  int emit(DecodeOp op);
  // Makes a register a source of moves, beside the words.
  int add_source(int reg);
  int source_register(int source) const { return sources_[source]; }

  const std::vector<DecodeOp>& ops() const { return ops_; }

 private:
  struct Group {
    int source;
    int shift;  // down; up if negative
    std::uint32_t mask;
  };
  struct Gather {
    int source[2];
    int shift[2];
    int sources = 0;
    std::uint32_t selector = 0;
    std::uint32_t mask = 0;
    bool whole_bytes = false;  // no LOP3 needed
  };

  static std::vector<Group> groups_of(const Placement& placement);
  std::optional<Gather> gather_of(const Placement& placement) const;
  int groups_cost(const std::vector<Group>& groups) const;
  int gather_cost(const Gather& gather) const;
  bool has_shift(int source, int shift) const;
  int shifted(int source, int shift, std::uint32_t mask);
  int place_groups(const std::vector<Group>& groups, const Placement& placement,
                   const std::string& why);
  int place_gather(const Gather& gather, const Placement& placement, const std::string& why);

  std::vector<DecodeOp> ops_;
  std::string shift_why_;
  std::vector<int> sources_;                    // source -> register
  std::map<std::pair<int, int>, int> shifted_;  // (source, shift) -> register
  int next_register_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_REGISTERS_H_
