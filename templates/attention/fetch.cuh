// Tiles of K and V on their way into a warp's ring.
//
// Nothing outside of the cache is read: a page that is none of it, and tokens past the end of a
// sequence, become zeros.
#pragma once

#include "attention/channel.cuh"
#include "attention/work.cuh"

namespace heddle {

// One lane's copies of K or of V: codes in chunks of 16 bytes, and their scales.
template <class Config, class Tensor>
struct KvTensorFetch {
  using S = AttentionShape<Config>;
  static constexpr bool kOnePage = S::kOnePage;
  // Rows that the warp copies at once, if it copies whole rows.
  static constexpr bool kWholeRows = Tensor::kSwizzled && Tensor::kChunks <= 32;
  static constexpr int kRows = kWholeRows ? 32 / Tensor::kChunks : 0;
  // Whether these rows lie in one page, as those of a tile might not.
  static constexpr bool kRunsOfRows =
      !kOnePage && kWholeRows && Config::value.pages.page_size % (kWholeRows ? kRows : 1) == 0;
  static constexpr int kStepBytes = Tensor::kTokenStep * Tensor::kRowBytes;

  // From the first page on: the lane's first chunk and its entry, if a tile begins with the page;
  // else those of its first token. Offsets and no pointers: those of K and V are mostly the same.
  const u8* codes;
  const u8* entries;
  u32 place;  // of that chunk in a tile
  int lane;

  __device__ __forceinline__ KvTensorFetch(int lane) : lane(lane) {
    place = Tensor::place(first_row(), first_chunk());
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
        const u32 at = (place ^ 16 * Tensor::swizzle(i * kRows)) + i * kRows * Tensor::kStride * 16;
        copy_async_16(to + at, valid ? from + i * kRows * kStepBytes : codes, valid);
      } else {
        const int of = (32 * i + lane) / Tensor::kChunks;
        const int chunk = (32 * i + lane) % Tensor::kChunks;
        const bool valid = kWhole || of < left;
        copy_async_16(to + Tensor::place(of, chunk),
                      valid ? from + of * kStepBytes + 16 * chunk : codes, valid);
      }
    }
    if constexpr (Tensor::kStoredScales)
      copy_entry(all_entries, entries_to, Tensor::entry_offset(page, 0, row, page_tokens),
                 kWhole ? S::kTile : left);
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
  static __device__ __forceinline__ void warm(const u8* all_codes, const u8* all_entries, u32 page,
                                              int head, int row, int page_tokens) {
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
      constexpr bool kDivides = S::kTile % Config::value.pages.page_size == 0;
      if (!kDivides || i * kRows % Config::value.pages.page_size == 0) {
        of_page = broadcast(page, i * kRows);
        const int of_row = kDivides ? 0 : static_cast<int>(broadcast(row, i * kRows));
        from = codes + Tensor::code_offset(of_page, 0, of_row, page_tokens);
      }
      const int in_page = kDivides ? i * kRows % Config::value.pages.page_size : 0;
      const bool valid = i * kRows + first_row() < left && of_page < pages;
      const u32 at = (place ^ 16 * Tensor::swizzle(i * kRows)) + i * kRows * Tensor::kStride * 16;
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
      copy_async_16(to + Tensor::place(of, chunk), valid ? from : codes, valid);
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
    if (Tensor::kPairs && lane >= S::kTile / 2) return;
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

// A warp's walk over its tiles of the segments of its block: the pages that they lie in, and the
// copies of both K and V.
template <class Config>
struct KvFetch {
  using S = AttentionShape<Config>;
  using Key = typename S::Key;
  using Val = typename S::Val;
  using KeyFetch = KvTensorFetch<Config, Key>;
  using ValueFetch = KvTensorFetch<Config, Val>;
  static constexpr bool kOnePage = S::kOnePage;
  // Whether the first tiles have a loop of their own. Two row tiles leave no registers for it.
  static constexpr bool kLoopOfFirst = Config::value.pages.paged && kOnePage && S::kRowTiles == 1;

  const AttentionParameters& arguments;
  const AttentionWork<Config>& work;
  u32 ring;
  int warp;
  int lane;
  KeyFetch keys;
  ValueFetch values;
  Segment segment;
  int length;  // of the sequence
  int tile;    // next to fetch; the end of the block's work when nothing is left
  // If a tile lies in one page: lane i has that of the warp's i-th tile from some tile on, of which
  // the next one to fetch is number `ahead`. Else of the lane's token.
  u32 page = 0;
  int ahead;

  __device__ __forceinline__ KvFetch(const AttentionParameters& arguments,
                                     const AttentionWork<Config>& work, u32 ring, int warp,
                                     int lane)
      : arguments(arguments),
        work(work),
        ring(ring),
        warp(warp),
        lane(lane),
        keys(lane),
        values(lane) {}

  __device__ __forceinline__ void begin(const Segment& first) {
    segment = first;
    begin_segment();
    find();
  }
  // The pages that begin() has found, and what they are by now.
  __device__ __forceinline__ u32 pages_found() const {
    return Config::value.pages.paged ? page : 0;
  }
  __device__ __forceinline__ u32 pages_now() const {
    return Config::value.pages.paged && tile < work.end ? load_pages() : pages_found();
  }

  // Takes the page for what it is by now: nothing later waits for its load.
  __device__ __forceinline__ void settle() {
    if constexpr (kLoopOfFirst) page = shuffle(page, lane);
  }

  // Starts the copies of the first tiles, as many as a ring has ahead. A loop that loads pages, as
  // fetch() does, would wait for all that is on its way before it: lengths, pages and Q.
  __device__ __forceinline__ void fetch_first() {
    int stage = 0;
    if constexpr (kLoopOfFirst) {
#pragma unroll 1
      for (; stage < Config::value.stages - 1 && tile < segment.end; ++stage) {
        copy_tile(stage);
        copy_async_commit();
        tile += work.warps();
        ++ahead;
      }
      if (tile >= segment.end) find();
    }
#pragma unroll 1
    for (; stage < Config::value.stages - 1; ++stage) fetch(stage);
  }

  // Starts the copies of the next tile, if there is one, and closes their group.
  __device__ __forceinline__ void fetch(int stage) {
    if (tile < work.end) {
      copy_tile(stage);
      tile += work.warps();
      find();
    }
    copy_async_commit();
  }

  // Prefetches the first tiles of the segment that begin() was called with into the L2 cache.
  __device__ __forceinline__ void warm() const {
    const int count =
        AttentionTeam<Config::value.most_team>::blocks() > 2 ? kWarmTilesOfTeam : kWarmTiles;
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const int next = tile + i * work.warps();
      if (next >= segment.end) break;
      const int mine = work.token_of(next - segment.item, length) + lane;
      u32 of = segment.sequence;
      if constexpr (Config::value.pages.paged)
        of = kOnePage ? broadcast(page, i) : mine < length ? load_page(mine) : 0xffffffffu;
      const int row = Config::value.pages.paged ? mine % Config::value.pages.page_size : mine;
      if (mine < length && of < static_cast<u32>(arguments.pages)) {
        const int head = segment.head / S::kRowParts;
        KeyFetch::warm(arguments.k, arguments.k_scales, of, head, row, page_tokens());
        ValueFetch::warm(arguments.v, arguments.v_scales, of, head, row, page_tokens());
      }
    }
  }

 private:
  // More would come at the cost of the kernel before, which the SMs that a few teams leave idle do
  // not make good.
  static constexpr int kWarmTiles = 2;
  static constexpr int kWarmTilesOfTeam = 1;

  // The segment that the tile is in, and its page.
  __device__ __forceinline__ void find() {
    while (tile >= segment.end) {
      if (segment.end == work.end) {
        tile = work.end;
        return;
      }
      work.next(segment);
      begin_segment();
    }
    if (kOnePage && ++ahead < 32) return;
    ahead = 0;
    if constexpr (Config::value.pages.paged) page = load_pages();
  }
  // Each lane's page: of one of the warp's tiles from this one on, or of a token of the tile.
  __device__ __forceinline__ u32 load_pages() const {
    if constexpr (kOnePage) {
      const int mine = tile + lane * work.warps();
      return mine < segment.end ? load_page(work.token_of(mine - segment.item, length))
                                : 0xffffffffu;
    } else {
      const int mine = first_token() + lane;
      return mine < length ? load_page(mine) : 0xffffffffu;
    }
  }
  // The page of a token. It is not read from the L1 cache: warm() may have read it before it was
  // written.
  __device__ __forceinline__ u32 load_page(int of) const {
    const int* pages =
        arguments.block_table + static_cast<i64>(segment.sequence) * arguments.table_width;
    return load_global_4_l2(pages + static_cast<u32>(of) / Config::value.pages.page_size);
  }
  // The tile's first token.
  __device__ __forceinline__ int first_token() const {
    return work.token_of(tile - segment.item, length);
  }
  __device__ __forceinline__ u32 page_of_tile() const {
    return Config::value.pages.paged ? broadcast(page, ahead) : segment.sequence;
  }
  __device__ __forceinline__ void begin_segment() {
    tile = segment.begin + work.of_team(warp);
    ahead = 31;
    length = work.length(segment.sequence);
    const int head = segment.head / S::kRowParts;
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
      if (left >= S::kTile && is_page) {
        copy<true>(to, of, token, left);
      } else {
        copy<false>(to, of, token, is_page ? left : 0);
      }
    } else {
      const int row = static_cast<u32>(token + lane) % Config::value.pages.page_size;
      keys.gather(arguments.k, arguments.k_scales, to, to + S::kKeyEntriesOffset, page, row, left,
                  page_tokens(), arguments.pages);
      values.gather(arguments.v, arguments.v_scales, to + S::kValueOffset,
                    to + S::kValueEntriesOffset, page, row, left, page_tokens(), arguments.pages);
    }
  }

  __device__ __forceinline__ int page_tokens() const {
    return Config::value.pages.paged ? Config::value.pages.page_size : arguments.capacity;
  }
  template <bool kWhole>
  __device__ __forceinline__ void copy(u32 to, u32 of, int token, int left) const {
    // Unsigned: a division with a sign takes more instructions.
    const int row =
        Config::value.pages.paged ? static_cast<u32>(token) % Config::value.pages.page_size : token;
    if (Key::kScalesQuery && token >= Key::window_begin(length)) {
      warm_residual_tile<Config>(arguments, segment, token, left, lane);
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
