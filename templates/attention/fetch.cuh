// Copies KV tiles by cp.async into a warp's ring of stages.
//
// Nothing outside of the cache is read: a page number that the cache does not have, and tokens past
// the end of a sequence, become zeros.
#pragma once

#include "attention/channel.cuh"
#include "attention/scheduler.cuh"

namespace heddle {

// One lane's copies of K or of V: codes in chunks of 16 bytes, and their scales. Tensor: S::Key or
// S::Val. Reads the cache of S.
template <class S, class Tensor>
struct KvTensorFetch {
  static constexpr int kTile = kAttentionTile;
  static constexpr bool kOnePage = S::kOnePage;
  // Rows that the warp copies at once, if it copies whole rows.
  static constexpr bool kWholeRows = Tensor::kSwizzled && Tensor::kChunks <= 32;
  static constexpr int kRows = kWholeRows ? 32 / Tensor::kChunks : 0;
  // Whether these rows lie in one page, as those of a tile might not.
  static constexpr bool kRunsOfRows =
      !kOnePage && kWholeRows && S::kPageSize % (kWholeRows ? kRows : 1) == 0;
  static constexpr int kStepBytes = Tensor::kTokenStep * Tensor::kRowBytes;

  // In the first page: the lane's first chunk and its entry, if a tile begins with the page; else
  // those of its first token.
  const u8* codes;
  const u8* entries;
  u32 first_offset;  // of that chunk in a tile
  int lane;

  __device__ __forceinline__ KvTensorFetch(int lane) : lane(lane) {
    first_offset = Tensor::tile_offset(first_row(), first_chunk());
  }
  __device__ __forceinline__ void set_head(const u8* all_codes, const u8* all_entries, int head,
                                           int page_tokens) {
    codes = all_codes + 16 * first_chunk() +
            Tensor::code_offset(0, head, kOnePage || kRunsOfRows ? first_row() : 0, page_tokens);
    if constexpr (Tensor::kStoredScales)
      entries =
          all_entries + Tensor::entry_offset(0, head, kOnePage ? entry_row() : 0, page_tokens);
  }

  // A tile that lies in one page, of which `left` tokens are there. `row`: of the page.
  template <bool kWhole>
  __device__ __forceinline__ void copy(const u8* all_codes, const u8* all_entries, u32 to,
                                       u32 entries_to, u32 page, int row, int left,
                                       int page_tokens) const {
    const u8* from = codes + Tensor::code_offset(page, 0, row, page_tokens);
#pragma unroll
    for (int i = 0; i < Tensor::kChunks; ++i) {
      if constexpr (kWholeRows) {
        const bool valid = kWhole || i * kRows + first_row() < left;
        const u32 at =
            (first_offset ^ 16 * Tensor::swizzle(i * kRows)) + i * kRows * Tensor::kStride * 16;
        copy_async_16(to + at, valid ? from + i * kRows * kStepBytes : codes, valid);
      } else {
        const int of = (32 * i + lane) / Tensor::kChunks;
        const int chunk = (32 * i + lane) % Tensor::kChunks;
        const bool valid = kWhole || of < left;
        copy_async_16(to + Tensor::tile_offset(of, chunk),
                      valid ? from + of * kStepBytes + 16 * chunk : codes, valid);
      }
    }
    if constexpr (Tensor::kStoredScales)
      copy_entry(all_entries, entries_to, Tensor::entry_offset(page, 0, row, page_tokens),
                 kWhole ? kTile : left);
  }

  // A tile of several pages; `page` and `row`: of the lane's token.
  __device__ __forceinline__ void gather(const u8* all_codes, const u8* all_entries, u32 to,
                                         u32 entries_to, u32 page, int row, int left,
                                         int page_tokens, u32 pages) const {
    if constexpr (kRunsOfRows) {
      gather_runs(to, page, row, left, page_tokens, pages);
    } else {
      gather_rows(to, page, row, left, page_tokens, pages);
    }
    if constexpr (Tensor::kStoredScales) {
      const u32 of_page = broadcast(page, entry_row());
      const int of_row = static_cast<int>(broadcast(row, entry_row()));
      copy_entry(all_entries, entries_to, Tensor::entry_offset(of_page, 0, of_row, page_tokens),
                 of_page < pages ? left : 0);
    }
  }

  // Prefetches a token's codes and entry into the L2 cache.
  static __device__ __forceinline__ void prefetch(const u8* all_codes, const u8* all_entries,
                                                  u32 page, int head, int row, int page_tokens) {
    const u8* from = all_codes + Tensor::code_offset(page, head, row, page_tokens);
#pragma unroll
    for (int i = 0; i < Tensor::kRowBytes; i += 128) prefetch_l2(from + i);
    if constexpr (Tensor::kStoredScales)
      prefetch_l2(all_entries + Tensor::entry_offset(page, head, row, page_tokens));
  }

 private:
  __device__ __forceinline__ int first_row() const {
    return kWholeRows ? lane / Tensor::kChunks : 0;
  }
  __device__ __forceinline__ int first_chunk() const {
    return kWholeRows ? lane % Tensor::kChunks : 0;
  }
  // The row whose entry the lane copies; where entries are copied in pairs, half of the lanes copy
  // one pair each.
  __device__ __forceinline__ int entry_row() const {
    return Tensor::kScalesQuery ? 0 : Tensor::kPairs ? 2 * lane % 32 : lane;
  }

  // Copies a tile that lies in several pages: runs of rows, each in one page.
  __device__ __forceinline__ void gather_runs(u32 to, u32 page, int row, int left, int page_tokens,
                                              u32 pages) const {
    u32 of_page = 0;
    const u8* from = nullptr;
#pragma unroll
    for (int i = 0; i < Tensor::kChunks; ++i) {
      // Pages that divide a tile begin at the same rows of each.
      constexpr bool kDivides = kTile % S::kPageSize == 0;
      if (!kDivides || i * kRows % S::kPageSize == 0) {
        of_page = broadcast(page, i * kRows);
        const int of_row = kDivides ? 0 : static_cast<int>(broadcast(row, i * kRows));
        from = codes + Tensor::code_offset(of_page, 0, of_row, page_tokens);
      }
      const int in_page = kDivides ? i * kRows % S::kPageSize : 0;
      const bool valid = i * kRows + first_row() < left && of_page < pages;
      const u32 at =
          (first_offset ^ 16 * Tensor::swizzle(i * kRows)) + i * kRows * Tensor::kStride * 16;
      copy_async_16(to + at, valid ? from + in_page * kStepBytes : codes, valid);
    }
  }
  // Copies such a tile row by row.
  __device__ __forceinline__ void gather_rows(u32 to, u32 page, int row, int left, int page_tokens,
                                              u32 pages) const {
#pragma unroll
    for (int i = 0; i < Tensor::kChunks; ++i) {
      const int of = (32 * i + lane) / Tensor::kChunks;
      const int chunk = (32 * i + lane) % Tensor::kChunks;
      const u32 of_page = broadcast(page, of);
      const int of_row = static_cast<int>(broadcast(row, of));
      const bool valid = of < left && of_page < pages;
      const u8* from = codes + Tensor::code_offset(of_page, 0, of_row, page_tokens);
      if constexpr (!kWholeRows) from += 16 * chunk;
      copy_async_16(to + Tensor::tile_offset(of, chunk), valid ? from : codes, valid);
    }
  }

  // The entry at `offset` behind `entries`, unless the token is none of the `left` ones.
  __device__ __forceinline__ void copy_entry(const u8* all_entries, u32 to, i64 offset,
                                             int left) const {
    if constexpr (Tensor::kScalesQuery) {
      const u8* from = entries + (left > 0 ? offset : 0);
#pragma unroll
      for (int i = 0; i < Tensor::kEntryBytes; i += 512) {
        const int at = i + 16 * lane;
        if (at < Tensor::kEntryBytes) copy_async_16(to + at, from + at, left > 0);
      }
      return;
    }
    const int row = entry_row();
    const bool valid = row < left;
    if (Tensor::kPairs && lane >= kTile / 2) return;
    const u8* from = entries + (valid ? offset : 0);
    to += row * Tensor::kEntryStride;
    if constexpr (Tensor::kEntryBytes == 2) {
      // The word with the entry; of the entry alone where the word's other one is none.
      const int bytes = !valid ? 0 : Tensor::kPairs && row + 1 == left ? 2 : 4;
      copy_async_small<4>(to, Tensor::kPairs ? from : align_down_4(from), bytes);
    } else if constexpr (Tensor::kEntryBytes < 16) {
      static_assert(Tensor::kEntryBytes == 4 || Tensor::kEntryBytes == 8, "a power of two");
      copy_async_small<Tensor::kEntryBytes>(to, from, valid ? Tensor::kEntryBytes : 0);
    } else {
      static_assert(Tensor::kEntryBytes % 16 == 0, "whole copies");
#pragma unroll
      for (int i = 0; i < Tensor::kEntryBytes; i += 16) copy_async_16(to + i, from + i, valid);
    }
  }
};

// A warp's walk over its tiles of the cluster's splits: the pages that they lie in, and the copies
// of K and V. Reads every group of S.
template <class S>
struct KvFetch {
  using Key = typename S::Key;
  using Val = typename S::Val;
  using KeyFetch = KvTensorFetch<S, Key>;
  using ValueFetch = KvTensorFetch<S, Val>;
  static constexpr int kTile = kAttentionTile;
  static constexpr bool kOnePage = S::kOnePage;
  // Whether the first tiles have a loop of their own. Two row tiles leave no registers for it.
  static constexpr bool kLoopOfFirst = S::kPaged && kOnePage && S::kRowTiles == 1;

  const AttentionParameters& arguments;
  const AttentionScheduler<S>& scheduler;
  u32 ring;
  int warp;
  int lane;
  KeyFetch keys;
  ValueFetch values;
  KvSplit split;
  int length;  // of the sequence
  int tile;    // next to fetch; scheduler.end when nothing is left
  // If a tile lies in one page: lane i has that of the warp's i-th tile from some tile on, of which
  // the next one to fetch is number `ahead`. Else of the lane's token.
  u32 page = 0;
  int ahead;

  __device__ __forceinline__ KvFetch(const AttentionParameters& arguments,
                                     const AttentionScheduler<S>& scheduler, u32 ring, int warp,
                                     int lane)
      : arguments(arguments),
        scheduler(scheduler),
        ring(ring),
        warp(warp),
        lane(lane),
        keys(lane),
        values(lane) {}

  __device__ __forceinline__ void begin(const KvSplit& first) {
    split = first;
    begin_split();
    find();
  }
  // The pages that begin() has found, and what they are by now.
  __device__ __forceinline__ u32 pages_found() const { return S::kPaged ? page : 0; }
  __device__ __forceinline__ u32 pages_now() const {
    return S::kPaged && tile < scheduler.end ? load_pages() : pages_found();
  }

  // Takes the page for what it is by now: nothing later waits for its load.
  __device__ __forceinline__ void settle() {
    if constexpr (kLoopOfFirst) page = shuffle(page, lane);
  }

  // Starts the copies of the first stages - 1 tiles. A loop that loads pages, as fetch() does,
  // would wait for all earlier loads: lengths, pages and Q.
  __device__ __forceinline__ void fetch_first() {
    int stage = 0;
    if constexpr (kLoopOfFirst) {
#pragma unroll 1
      for (; stage < S::kStages - 1 && tile < split.end; ++stage) {
        copy_tile(stage);
        copy_async_commit();
        tile += scheduler.cluster_warps();
        ++ahead;
      }
      if (tile >= split.end) find();
    }
#pragma unroll 1
    for (; stage < S::kStages - 1; ++stage) fetch(stage);
  }

  // Starts the copies of the next tile, if there is one, and closes their group.
  __device__ __forceinline__ void fetch(int stage) {
    if (tile < scheduler.end) {
      copy_tile(stage);
      tile += scheduler.cluster_warps();
      find();
    }
    copy_async_commit();
  }

  // Prefetches the first tiles of the split that begin() was called with into the L2 cache.
  __device__ __forceinline__ void prefetch_first() const {
    const int count =
        AttentionCluster<S::kMostCluster>::blocks() > 2 ? kClusterPrefetchTiles : kPrefetchTiles;
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const int next = tile + i * scheduler.cluster_warps();
      if (next >= split.end) break;
      const int mine = scheduler.token_of(next - split.problem_begin, length) + lane;
      u32 of = split.sequence;
      if constexpr (S::kPaged)
        of = kOnePage ? broadcast(page, i) : mine < length ? load_page(mine) : 0xffffffffu;
      const int row = S::kPaged ? mine % S::kPageSize : mine;
      if (mine < length && of < static_cast<u32>(arguments.pages)) {
        const int head = S::kv_head(split.work_head);
        KeyFetch::prefetch(arguments.k, arguments.k_scales, of, head, row, page_tokens());
        ValueFetch::prefetch(arguments.v, arguments.v_scales, of, head, row, page_tokens());
      }
    }
  }

 private:
  // More would slow the previous kernel down. Clusters of more than two blocks leave SMs idle,
  // which makes up for less of that.
  static constexpr int kPrefetchTiles = 2;
  static constexpr int kClusterPrefetchTiles = 1;

  // The split that the tile is in, and its page.
  __device__ __forceinline__ void find() {
    while (tile >= split.end) {
      if (split.end == scheduler.end) {
        tile = scheduler.end;
        return;
      }
      scheduler.next(split);
      begin_split();
    }
    if (kOnePage && ++ahead < 32) return;
    ahead = 0;
    if constexpr (S::kPaged) page = load_pages();
  }
  // Each lane's page: of one of the warp's tiles from this one on, or of a token of the tile.
  __device__ __forceinline__ u32 load_pages() const {
    if constexpr (kOnePage) {
      const int mine = tile + lane * scheduler.cluster_warps();
      return mine < split.end ? load_page(scheduler.token_of(mine - split.problem_begin, length))
                              : 0xffffffffu;
    } else {
      const int mine = first_token() + lane;
      return mine < length ? load_page(mine) : 0xffffffffu;
    }
  }
  // The page of a token. Not from the L1 cache: prefetch_first() may have read it before it was
  // written.
  __device__ __forceinline__ u32 load_page(int of) const {
    const int* pages =
        arguments.block_table + static_cast<i64>(split.sequence) * arguments.table_width;
    return load_global_4_l2(pages + static_cast<u32>(of) / S::kPageSize);
  }
  // The tile's first token.
  __device__ __forceinline__ int first_token() const {
    return scheduler.token_of(tile - split.problem_begin, length);
  }
  __device__ __forceinline__ u32 page_of_tile() const {
    return S::kPaged ? broadcast(page, ahead) : split.sequence;
  }
  __device__ __forceinline__ void begin_split() {
    tile = split.begin + scheduler.cluster_warp(warp);
    ahead = 31;
    length = scheduler.length(split.sequence);
    const int head = S::kv_head(split.work_head);
    keys.set_head(arguments.k, arguments.k_scales, head, page_tokens());
    values.set_head(arguments.v, arguments.v_scales, head, page_tokens());
  }

  // The copies of the tile.
  __device__ __forceinline__ void copy_tile(int stage) const {
    const u32 to = ring + stage * S::kStageBytes;
    const int token = first_token();
    const int left = length - token;
    if constexpr (kOnePage) {
      const u32 of = page_of_tile();
      const bool is_page = of < static_cast<u32>(arguments.pages);
      if (left >= kTile && is_page) {
        copy<true>(to, of, token, left);
      } else {
        copy<false>(to, of, token, is_page ? left : 0);
      }
    } else {
      const int row = static_cast<u32>(token + lane) % S::kPageSize;
      keys.gather(arguments.k, arguments.k_scales, to, to + S::kKeyEntriesOffset, page, row, left,
                  page_tokens(), arguments.pages);
      values.gather(arguments.v, arguments.v_scales, to + S::kValueOffset,
                    to + S::kValueEntriesOffset, page, row, left, page_tokens(), arguments.pages);
    }
  }

  __device__ __forceinline__ int page_tokens() const {
    return S::kPaged ? S::kPageSize : arguments.capacity;
  }
  template <bool kWhole>
  __device__ __forceinline__ void copy(u32 to, u32 of, int token, int left) const {
    // Unsigned: a division with a sign takes more instructions.
    const int row = S::kPaged ? static_cast<u32>(token) % S::kPageSize : token;
    if (Key::kScalesQuery && token >= Key::residual_begin(length)) {
      prefetch_residual_tile<S>(arguments, split, token, left, lane);
      keys.template copy<false>(arguments.k, arguments.k_scales, to, to + S::kKeyEntriesOffset, of,
                                row, 0, page_tokens());
    } else {
      keys.template copy<kWhole>(arguments.k, arguments.k_scales, to, to + S::kKeyEntriesOffset, of,
                                 row, left, page_tokens());
    }
    values.template copy<kWhole>(arguments.v, arguments.v_scales, to + S::kValueOffset,
                                 to + S::kValueEntriesOffset, of, row, left, page_tokens());
  }
};

}  // namespace heddle
