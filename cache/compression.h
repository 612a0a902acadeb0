// Zstandard frames, one for each part of a file: a part is stored compressed where that is smaller,
// else as it is.
//
// A file says of each part how long it is (`length`) and how many bytes it takes (`stored`). Equal
// numbers mean that the part is stored as it is; a smaller `stored` means one zstd frame, whose
// header repeats `length`.
#ifndef HEDDLE_CACHE_COMPRESSION_H_
#define HEDDLE_CACHE_COMPRESSION_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "cache/bytes.h"

namespace heddle {

// The longest part. The largest known is a cubin of 0.5 MB; the limit keeps a file that lies about
// its lengths from becoming an allocation.
inline constexpr std::uint64_t kMaxPartBytes = std::uint64_t{64} << 20;

// How a part is compressed; all read the same.
enum class Packing {
  kCubin,  // quick to decompress, because every hit waits for it: long matches, literals as they
           // are
  kText,   // small: 5 ms for the text of a kernel, which takes 300 ms and more to compile
  kBlock,  // as kText, and finds what kernels share across a block of 16 MiB
};

// The bytes to store: the frame, or `part` itself where that is no longer. The same zstd gives the
// same bytes for the same part. Throws std::bad_alloc only.
Bytes pack_part(ByteView part, Packing packing);

// Whether stored bytes can be a part of this length, from the lengths and the frame's header alone.
// Damage inside of the frame shows in unpack_part() only.
bool is_part(ByteView stored, std::uint64_t length);

// Writes the part to `out`, which has room for its length. False, with anything in `out`, for bytes
// that are no such part. Any thread may call it; each keeps a decompressor of its own.
bool unpack_part(ByteView stored, std::uint64_t length, std::uint8_t* out);

// What unpack_part() gives, as a text; empty where the bytes are no such part.
std::string unpack_text(ByteView stored, std::uint64_t length);

}  // namespace heddle

#endif  // HEDDLE_CACHE_COMPRESSION_H_
