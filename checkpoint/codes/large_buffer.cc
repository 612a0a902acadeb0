#include "checkpoint/codes/large_buffer.h"

#include <sys/mman.h>

#include <new>

namespace heddle {

void* allocate_large(std::size_t bytes) {
  constexpr std::size_t kLargePage = std::size_t{2} << 20;
  const std::size_t rounded = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  if (rounded < bytes) throw std::bad_alloc();
  // Small tensors need no large page, and would waste most of it.
  void* memory = bytes < kLargePage ? std::malloc(bytes == 0 ? 1 : bytes)
                                    : std::aligned_alloc(kLargePage, rounded);
  if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (bytes >= kLargePage) ::madvise(memory, rounded, MADV_HUGEPAGE);  // only advice: may fail
#endif
  return memory;
}

}  // namespace heddle
