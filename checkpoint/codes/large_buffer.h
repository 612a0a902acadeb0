// LargeBuffer: uninitialised memory for one tensor of a layer.
#ifndef HEDDLE_CHECKPOINT_CODES_LARGE_BUFFER_H_
#define HEDDLE_CHECKPOINT_CODES_LARGE_BUFFER_H_

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace heddle {

struct FreeMemory {
  void operator()(void* memory) const noexcept { std::free(memory); }
};
// Not a vector: filling a hundred megabytes with zeros before reading them takes its time.
template <class T>
using LargeBuffer = std::unique_ptr<T[], FreeMemory>;

// In large pages where the system has them: reading a matrix by columns touches a page for each of
// its rows. Throws std::bad_alloc.
void* allocate_large(std::size_t bytes);

// `count` elements, uninitialised.
template <class T>
LargeBuffer<T> make_large_buffer(std::size_t count) {
  return LargeBuffer<T>(static_cast<T*>(allocate_large(count * sizeof(T))));
}

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_CODES_LARGE_BUFFER_H_
