// What a thread block computes next: a tile of the output, over all of K or a part of it.
//
// A schedule is a policy that a family takes as an alias of its Config (`using Schedule = ...`). It
// is made where the kernel begins and asked
//
//   bool next(Piece& piece);  // false at the end of the block's work
//
// until that is false. Every warp that asks has a copy of its own: copies give the same pieces in
// the same order, as long as they are asked equally often. A kernel whose blocks have one piece
// each asks once.
//
// A policy may offer more than next() where its kernels gain by it, and says so in its header: the
// members of a block's only piece (one_piece.cuh), or the number of pieces and each of them by its
// number, for a kernel that counts them anyway or fetches ahead (strided_rows.cuh).
//
// A schedule may hold state, and its constructor may take what the launch tells the kernel: the
// number of tokens, of shared tiles, or a pointer to device memory. So one whose groups of tokens
// only the device knows, such as those of experts (listed_tiles.cuh), reads their counts there; it
// must not before wait_for_predecessor(). What only its kernels look at it adds in a piece of its
// own, which derives from Piece.
//
// The sizes of tiles come from a Shape, which the family gives as the schedule's parameter; each
// schedule names the members that it needs. Sums of blocks that share a tile are the family's
// matter: it adds them in the order of K, never in that of the blocks' arrival.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

// Units [begin, end) of a tile's K; a unit is what the family loads at a time.
struct Piece {
  // Whether each piece says how many tokens its tile has. If not, a tile has all tokens that there
  // are for it up to m.
  static constexpr bool kTellsTokens = false;

  int row_tile;     // the tile's first; the schedule says of how many rows one is
  int first_token;  // of the tile
  // The tile's number among those whose K several blocks share; -1 for a tile of one block where
  // the schedule has both.
  int shared_tile;
  int begin, end;
};

// Behind the last token that a piece's tile may have, of a launch with m tokens: a policy whose
// pieces have fewer has an overload for them.
__device__ __forceinline__ int end_token(const Piece& /*piece*/, int m) { return m; }

}  // namespace heddle
