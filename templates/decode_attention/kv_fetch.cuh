// Tiles of K and V on their way into a warp's ring.
//
// Nothing outside of the cache is read: a page that is none of it, and tokens past the end of a
// sequence, become zeros.
#pragma once

#include "decode_attention/kv_tensor_fetch.cuh"
#include "decode_attention/residual_window.cuh"

namespace heddle {

template <class Config>
struct KvFetch {
  using S = AttentionShape<Config>;
  using Key = typename S::Key;
  using Val = typename S::Val;
  using KeyFetch = KvTensorFetch<Config, Key>;
  using ValueFetch = KvTensorFetch<Config, Val>;
  static constexpr bool kOnePage = S::kOnePage;
  // Whether the first tiles have a loop of their own. Two row tiles leave no registers for it.
  static constexpr bool kLoopOfFirst = Config::value.paged && kOnePage && S::kRowTiles == 1;

  const DecodeAttentionParameters& arguments;
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

  __device__ __forceinline__ KvFetch(const DecodeAttentionParameters& arguments,
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
  __device__ __forceinline__ u32 pages_found() const { return Config::value.paged ? page : 0; }
  __device__ __forceinline__ u32 pages_now() const {
    return Config::value.paged && tile < work.end ? load_pages() : pages_found();
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

  // Asks for the first tiles of the segment that begin() was called with in the L2 cache.
  __device__ __forceinline__ void warm() const {
    const int count = AttentionTeam<Config>::blocks() > 2 ? kWarmTilesOfTeam : kWarmTiles;
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const int next = tile + i * work.warps();
      if (next >= segment.end) break;
      const int mine = work.token_of(next - segment.item, length) + lane;
      u32 of = segment.sequence;
      if constexpr (Config::value.paged)
        of = kOnePage ? broadcast(page, i) : mine < length ? load_page(mine) : 0xffffffffu;
      const int row = Config::value.paged ? mine % Config::value.page_size : mine;
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
    if constexpr (Config::value.paged) page = load_pages();
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
    return load_global_4_l2(pages + static_cast<u32>(of) / Config::value.page_size);
  }
  // The tile's first token.
  __device__ __forceinline__ int first_token() const {
    return work.token_of(tile - segment.item, length);
  }
  __device__ __forceinline__ u32 page_of_tile() const {
    return Config::value.paged ? broadcast(page, ahead) : segment.sequence;
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
      const int row = static_cast<u32>(token + lane) % Config::value.page_size;
      keys.gather(arguments.k, arguments.k_scales, to, to + S::kKeyEntriesOffset, page, row, left,
                  page_tokens(), arguments.pages);
      values.gather(arguments.v, arguments.v_scales, to + S::kValueOffset,
                    to + S::kValueEntriesOffset, page, row, left, page_tokens(), arguments.pages);
    }
  }

  __device__ __forceinline__ int page_tokens() const {
    return Config::value.paged ? Config::value.page_size : arguments.capacity;
  }
  template <bool kWhole>
  __device__ __forceinline__ void copy(u32 to, u32 of, int token, int left) const {
    // Without a sign, which the division would cost instructions for.
    const int row = Config::value.paged ? static_cast<u32>(token) % Config::value.page_size : token;
    if (Key::kPerChannel && token >= Key::window_begin(length)) {
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
