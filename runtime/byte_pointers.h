#ifndef HEDDLE_RUNTIME_BYTE_POINTERS_H_
#define HEDDLE_RUNTIME_BYTE_POINTERS_H_

namespace heddle {

// The callers' pointers as the parameters of kernels have them.
inline unsigned char* bytes(void* pointer) noexcept { return static_cast<unsigned char*>(pointer); }
inline const unsigned char* bytes(const void* pointer) noexcept {
  return static_cast<const unsigned char*>(pointer);
}

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_BYTE_POINTERS_H_
