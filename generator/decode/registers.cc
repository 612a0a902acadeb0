#include "generator/decode/registers.h"

#include <fmt/format.h>

#include <bit>

namespace heddle {
namespace {

std::string bits_text(std::uint32_t mask) {
  const int low = std::countr_zero(mask);
  const int high = 31 - std::countl_zero(mask);
  return low == high ? fmt::format("bit {}", low) : fmt::format("bits {}..{}", low, high);
}

// What a shift is for: the bits of each half, where both halves have the same and none crosses.
std::string shift_text(int shift, std::uint32_t mask) {
  const std::uint32_t half = mask & 0xffff;
  const bool one_run = half != 0 && std::has_single_bit((half >> std::countr_zero(half)) + 1);
  const int from = std::countr_zero(half) + shift;
  if (mask == (half << 16 | half) && one_run && from >= 0 &&
      31 - std::countl_zero(half) + shift < 16) {
    return fmt::format("{} of each half to bit {}",
                       bits_text(shift > 0 ? half << shift : half >> -shift),
                       std::countr_zero(half));
  }
  return fmt::format("{} by {}, for the bits 0x{:08x}", shift > 0 ? "down" : "up",
                     shift > 0 ? shift : -shift, mask);
}

std::uint32_t byte_mask(std::uint32_t mask) {
  std::uint32_t bytes = 0;
  for (int i = 0; i < 4; ++i) {
    if ((mask >> 8 * i & 0xff) != 0) bytes |= 0xffu << 8 * i;
  }
  return bytes;
}

}  // namespace

Registers::Registers(int words) : next_register_(words) {
  for (int i = 0; i < words; ++i) sources_.push_back(i);
}

int Registers::emit(DecodeOp op) {
  op.dst = next_register_++;
  ops_.push_back(std::move(op));
  return next_register_ - 1;
}

int Registers::add_source(int reg) {
  sources_.push_back(reg);
  return static_cast<int>(sources_.size()) - 1;
}

int Registers::cost(const Placement& placement) const {
  const int groups = groups_cost(groups_of(placement));
  const auto gather = gather_of(placement);
  return gather ? std::min(groups, gather_cost(*gather)) : groups;
}

int Registers::place(const Placement& placement, const std::string& why,
                     const std::string& shift_why) {
  shift_why_ = shift_why;
  const std::vector<Group> groups = groups_of(placement);
  const auto gather = gather_of(placement);
  return gather && gather_cost(*gather) < groups_cost(groups)
             ? place_gather(*gather, placement, why)
             : place_groups(groups, placement, why);
}

std::vector<Registers::Group> Registers::groups_of(const Placement& placement) {
  std::vector<Group> groups;
  for (const BitMove& move : placement.moves) {
    const std::uint32_t bit = 1u << move.to;
    bool found = false;
    for (Group& group : groups) {
      if (group.source != move.source || group.shift != move.from - move.to) continue;
      group.mask |= bit;
      found = true;
      break;
    }
    if (!found) groups.push_back({move.source, move.from - move.to, bit});
  }
  return groups;
}

int Registers::groups_cost(const std::vector<Group>& groups) const {
  int cost = static_cast<int>(groups.size());
  for (const Group& group : groups) cost += has_shift(group.source, group.shift) ? 0 : 1;
  return cost;
}

// Each byte of the result must come from one byte of at most two registers, each of which is a
// source or a source shifted down by less than a byte.
std::optional<Registers::Gather> Registers::gather_of(const Placement& placement) const {
  Gather gather;
  int selected[4] = {-1, -1, -1, -1};
  for (const BitMove& move : placement.moves) {
    const int distance = move.from - move.to;
    const int shift = (distance % 8 + 8) % 8;
    const int byte = (move.from - shift) / 8;
    if (move.from < shift) return std::nullopt;
    int which = 0;
    while (which < gather.sources &&
           (gather.source[which] != move.source || gather.shift[which] != shift)) {
      ++which;
    }
    if (which == 2) return std::nullopt;
    if (which == gather.sources) {
      gather.source[which] = move.source;
      gather.shift[which] = shift;
      ++gather.sources;
    }
    int& selection = selected[move.to / 8];
    if (selection >= 0 && selection != 4 * which + byte) return std::nullopt;
    selection = 4 * which + byte;
    gather.mask |= 1u << move.to;
  }
  const std::uint32_t bytes = byte_mask(gather.mask);
  gather.whole_bytes =
      bytes == gather.mask && gather.sources == 1 && (placement.constant & bytes) == 0;
  for (int i = 0; i < 4; ++i) {
    // With a constant in the second register's place, byte i of it is byte 4 + i.
    const int other = gather.whole_bytes ? 4 + i : 0;
    gather.selector |= static_cast<std::uint32_t>(selected[i] < 0 ? other : selected[i]) << 4 * i;
  }
  return gather;
}

int Registers::gather_cost(const Gather& gather) const {
  int cost = gather.whole_bytes ? 1 : 2;
  for (int i = 0; i < gather.sources; ++i) {
    cost += has_shift(gather.source[i], gather.shift[i]) ? 0 : 1;
  }
  return cost;
}

bool Registers::has_shift(int source, int shift) const {
  return shift == 0 || shifted_.count({source, shift}) != 0;
}

int Registers::shifted(int source, int shift, std::uint32_t mask) {
  if (shift == 0) return sources_[source];
  const auto found = shifted_.find({source, shift});
  if (found != shifted_.end()) return found->second;
  DecodeOp op;
  op.opcode = shift > 0 ? DecodeOpcode::kShr : DecodeOpcode::kShl;
  op.a = sources_[source];
  op.imm = static_cast<std::uint32_t>(shift > 0 ? shift : -shift);
  op.why = shift_why_.empty() ? shift_text(shift, mask) : shift_why_;
  return shifted_[{source, shift}] = emit(op);
}

int Registers::place_groups(const std::vector<Group>& groups, const Placement& placement,
                            const std::string& why) {
  int result = -1;
  for (const Group& group : groups) {
    DecodeOp op;
    op.opcode = DecodeOpcode::kLop3;
    op.a = shifted(group.source, group.shift, group.mask);
    op.b = result;
    op.imm = group.mask;
    op.imm2 = result < 0 ? placement.constant : 0;
    const int masked = kLutA & kLutB;
    const bool plain = result < 0 && placement.constant == 0;
    op.lut = static_cast<std::uint8_t>(plain            ? masked
                                       : placement.flip ? masked ^ kLutC
                                                        : masked | kLutC);
    op.why = result < 0 ? why : fmt::format("and the bits 0x{:08x}", group.mask);
    result = emit(op);
  }
  return result;
}

int Registers::merge(const Placement& placement, const std::string& why) {
  shift_why_.clear();
  int result = -1;
  for (const Group& group : groups_of(placement)) {
    const int moved = shifted(group.source, group.shift, group.mask);
    if (result < 0) {
      result = moved;
      continue;
    }
    DecodeOp op;
    op.opcode = DecodeOpcode::kLop3;
    op.a = moved;
    op.b = result;
    op.imm = group.mask;
    op.lut = kLutChoose;
    op.why = why;
    result = emit(op);
  }
  return result;
}

int Registers::place_gather(const Gather& gather, const Placement& placement,
                            const std::string& why) {
  DecodeOp gathered;
  gathered.opcode = DecodeOpcode::kPrmt;
  gathered.a = shifted(gather.source[0], gather.shift[0], gather.mask);
  gathered.imm = gather.selector;
  if (gather.sources == 2) {
    gathered.b = shifted(gather.source[1], gather.shift[1], gather.mask);
  }
  if (gather.whole_bytes) {
    gathered.imm2 = placement.constant;
    gathered.why = why;
    return emit(gathered);
  }
  gathered.why = fmt::format("gathers the bytes that hold the bits 0x{:08x}", gather.mask);
  DecodeOp op;
  op.opcode = DecodeOpcode::kLop3;
  op.a = emit(gathered);
  op.imm = gather.mask;
  op.imm2 = placement.constant;
  const int masked = kLutA & kLutB;
  op.lut = static_cast<std::uint8_t>(placement.constant == 0 ? masked
                                     : placement.flip        ? masked ^ kLutC
                                                             : masked | kLutC);
  op.why = why;
  return emit(op);
}

}  // namespace heddle
