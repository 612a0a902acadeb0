#include "cache/compression.h"

// For ZSTD_c_literalCompressionMode; the library is linked statically, so its version is this one.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <new>

namespace heddle {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// A call fails for lack of memory only: the room is enough and every parameter in range.
std::size_t checked(std::size_t result) {
  if (ZSTD_isError(result) != 0) throw std::bad_alloc();
  return result;
}

// A new decompressor takes longer to make than a cubin to decompress.
ZSTD_DCtx* decompressor() {
  static thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  return context.get();
}

}  // namespace

Bytes pack_part(ByteView part, Packing packing) {
  const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (context == nullptr) throw std::bad_alloc();
  const auto set = [&](ZSTD_cParameter parameter, int value) {
    checked(ZSTD_CCtx_setParameter(context.get(), parameter, value));
  };
  constexpr int kLevel = 9;
  constexpr int kBundleWindowLog = 24;  // a block of 16 MiB
  set(ZSTD_c_compressionLevel, kLevel);
  if (packing == Packing::kCubin) {
    set(ZSTD_c_minMatch, ZSTD_MINMATCH_MAX);
    set(ZSTD_c_literalCompressionMode, ZSTD_ps_disable);
  }
  if (packing == Packing::kBlock) {
    set(ZSTD_c_enableLongDistanceMatching, 1);
    set(ZSTD_c_windowLog, kBundleWindowLog);
  }
  Bytes frame(ZSTD_compressBound(part.size()));
  frame.resize(
      checked(ZSTD_compress2(context.get(), frame.data(), frame.size(), part.data(), part.size())));
  if (frame.size() >= part.size()) frame.assign(part.begin(), part.end());
  return frame;
}

bool is_part(ByteView stored, std::uint64_t length) {
  if (length > kMaxPartBytes || stored.size() > length) return false;
  if (stored.size() == length) return true;
  return ZSTD_getFrameContentSize(stored.data(), stored.size()) == length &&
         ZSTD_findFrameCompressedSize(stored.data(), stored.size()) == stored.size();
}

bool unpack_part(ByteView stored, std::uint64_t length, std::uint8_t* out) {
  if (!is_part(stored, length)) return false;
  if (stored.size() == length) {
    std::ranges::copy(stored, out);
    return true;
  }
  ZSTD_DCtx* const context = decompressor();
  return context != nullptr &&
         ZSTD_decompressDCtx(context, out, length, stored.data(), stored.size()) == length;
}

std::string unpack_text(ByteView stored, std::uint64_t length) {
  if (!is_part(stored, length)) return {};
  std::string text(length, '\0');
  if (!unpack_part(stored, length, reinterpret_cast<std::uint8_t*>(text.data()))) text.clear();
  return text;
}

}  // namespace heddle
