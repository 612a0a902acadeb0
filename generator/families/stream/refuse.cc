#include "generator/families/stream/refuse.h"

#include <fmt/format.h>

#include "generator/families/stream/candidates.h"
#include "generator/families/stream/shape.h"
#include "generator/families/tile_fields.h"
#include "generator/spec/byte_meaning.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

std::vector<Problem> refuse_long_rows(const Family& family, const GemmRequest& gemm,
                                      const MRange& m) {
  const GemmShape& shape = gemm.spec.shape;
  const bool has_path = gemm.spec.path != Path::kAuto;
  std::int64_t most = m.max - 1;  // tokens that a stream serves
  while (most > 0 && stream_candidates(family, gemm, {most, most}).empty()) --most;
  const std::string fewer = most < shape.m_min ? "" : fmt::format(", or M up to {}", most);
  Reasons reasons;
  reasons.unless(
      false, "/shape/k",
      fmt::format("with M = {} such long rows of X do not fit into the {} bytes of shared memory "
                  "of a thread block",
                  m.max, gemm.target.shared_per_block),
      shape.k, fmt::format("shorter rows{}{}", fewer, has_path ? ", or another path" : ""));
  return reasons.take();
}

}  // namespace

std::vector<Problem> stream_exclusions(const GemmSpec& spec, const Target& target,
                                       const MRange& m) {
  Reasons reasons;
  reasons.unless(
      has_bulk_copies(target), "", "it needs bulk copies, which GPUs have from sm_90 on",
      [&] { return fmt::format("sm_{}", target.arch()); }, "sm_90 and up");
  refuse_found_scales(spec, reasons);
  const bool has_bytes = spec.has_byte_activations();
  if (spec.path != Path::kAuto && spec.path != Path::kHopper) {
    refuse_path(spec, "the spec asks for another path", "\"hopper\", \"auto\"", reasons);
  } else if (spec.path == Path::kAuto && sets_any(spec.tile) && !has_bytes) {
    refuse_path(spec, "the spec sets a tile without the path hopper", "\"hopper\"", reasons);
  }
  reasons.unless(!spec.tile.warps_n, "/tile/warps_n", "the spec's tile has warps along N",
                 spec.tile.warps_n.value_or(0), "no such field");
  reasons.unless(spec.weight.zero_point != ZeroPoint::kFloat, "/weight/zero_point",
                 "it has no float zero points", "\"float\"", "\"none\", \"int\"");
  reasons.unless(!has_bytes || decodes_to_bytes(spec), "/weight/bits",
                 "its tokens of 8 bits meet weights of 4", spec.weight.bits, 4);
  static_assert(kMostStreamTokens == 16, "the next line says so");
  reasons.unless(m.max <= kMostStreamTokens, "/shape/m/1", "it serves up to 16 tokens",
                 spec.shape.m_max, "at most 16");
  return reasons.take();
}

std::vector<Problem> stream_refusals(const Family& family, const GemmRequest& gemm,
                                     const MRange& m) {
  const GemmSpec& spec = gemm.spec;
  // A spec of 16 bits that a stream serves with its fewest tokens may have other kernels for more.
  if (!spec.has_byte_activations() && m.min > spec.shape.m_min) return {};
  if (!sets_any(spec.tile)) return refuse_long_rows(family, gemm, m);
  Reasons reasons;
  reasons.unless(false, "/tile", fmt::format("no stream of M = {} has this tile", m.max), "",
                 "no tile, or one of streams that fits into the shared memory");
  return reasons.take();
}

}  // namespace heddle
