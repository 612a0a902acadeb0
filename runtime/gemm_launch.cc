#include "runtime/gemm_launch.h"

#include <fmt/core.h>

#include <string>

#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::uintptr_t kAlignment = 16;

[[noreturn]] void refuse(const char* code, std::string message) {
  throw Error(ErrorCategory::kUsage, code, std::move(message));
}

void check_aligned(const void* pointer, const char* name) {
  if (reinterpret_cast<std::uintptr_t>(pointer) % kAlignment == 0) return;
  refuse("launch.misaligned",
         fmt::format("{} = {} is not aligned to {} bytes", name, pointer, kAlignment));
}

void check_required(const void* pointer, const char* name) {
  if (pointer == nullptr) refuse("launch.missing", fmt::format("{} is null", name));
  check_aligned(pointer, name);
}

// A pointer that the spec must have asked for: silently ignoring one would give wrong results.
void check_epilogue(const void* pointer, bool wanted, const char* name) {
  if (wanted) return check_required(pointer, name);
  if (pointer == nullptr) return;
  refuse("launch.unexpected", fmt::format("{} is given, but the kernel's spec has none", name));
}

void check_workspace(std::size_t needed, const GemmArgs& args) {
  if (needed == 0) return;
  check_required(args.workspace, "workspace");
  if (args.workspace_bytes >= needed) return;
  refuse("launch.workspace", fmt::format("workspace has {} bytes; M = {} needs {}",
                                         args.workspace_bytes, args.m, needed));
}

unsigned int tiles(std::int64_t size, int tile) noexcept {
  return static_cast<unsigned int>((size + tile - 1) / tile);
}

}  // namespace

void validate(const Plan& plan, std::size_t workspace_bytes, const GemmArgs& args) {
  const GemmSpec& spec = plan.spec.gemm();
  if (args.m < spec.shape.m_min || args.m > spec.shape.m_max) {
    refuse("launch.m", fmt::format("M = {} is outside the spec's range [{}, {}]", args.m,
                                   spec.shape.m_min, spec.shape.m_max));
  }
  check_required(args.x, "x");
  check_required(args.weights, "weights");
  check_required(args.y, "y");
  check_epilogue(args.bias, spec.epilogue.bias, "bias");
  check_epilogue(args.residual, spec.epilogue.residual, "residual");
  check_workspace(workspace_bytes, args);
}

LaunchGrid launch_grid(const GemmVariant& variant, std::int64_t m, std::int64_t n) noexcept {
  return {tiles(m, variant.tile_m), tiles(n, variant.tile_n),
          static_cast<unsigned int>(variant.split_k)};
}

}  // namespace heddle
