// One lane's copies of K or of V into a warp's ring: codes in chunks of 16 bytes, and their scales.
#pragma once

#include "decode_attention/attention_work.cuh"

namespace heddle {

template <class Config, class Tensor>
struct KvTensorFetch {
  using S = AttentionShape<Config>;
  static constexpr bool kOnePage = S::kOnePage;
  // Rows that the warp copies at once, if it copies whole rows.
  static constexpr bool kWholeRows = Tensor::kSwizzled && Tensor::kChunks <= 32;
  static constexpr int kRows = kWholeRows ? 32 / Tensor::kChunks : 0;
  // Whether these rows lie in one page, as those of a tile might not.
  static constexpr bool kRunsOfRows =
      !kOnePage && kWholeRows && Config::value.page_size % (kWholeRows ? kRows : 1) == 0;
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

  // Asks for a token's codes and entry in the L2 cache.
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
    return Tensor::kPerChannel ? 0 : Tensor::kPairs ? 2 * lane % 32 : lane;
  }

  // Copies a tile that lies in several pages: runs of rows, each in one page.
  __device__ __forceinline__ void gather_runs(u32 to, u32 page, int row, int left, int page_tokens,
                                              u32 pages) const {
    u32 of_page = 0;
    const u8* from = nullptr;
#pragma unroll
    for (int i = 0; i < Tensor::kChunks; ++i) {
      // Pages that divide a tile begin at the same rows of each.
      constexpr bool kDivides = S::kTile % Config::value.page_size == 0;
      if (!kDivides || i * kRows % Config::value.page_size == 0) {
        of_page = broadcast(page, i * kRows);
        const int of_row = kDivides ? 0 : static_cast<int>(broadcast(row, i * kRows));
        from = codes + Tensor::code_offset(of_page, 0, of_row, page_tokens);
      }
      const int in_page = kDivides ? i * kRows % Config::value.page_size : 0;
      const bool valid = i * kRows + first_row() < left && of_page < pages;
      const u32 at = (place ^ 16 * Tensor::swizzle(i * kRows)) + i * kRows * Tensor::kStride * 16;
      copy_async_16(to + at, valid ? from + in_page * kStepBytes : codes, valid);
    }
  }
  // The same row by row.
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
    if constexpr (Tensor::kPerChannel) {
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

}  // namespace heddle
