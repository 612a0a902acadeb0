#include "host_array.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "device_array.h"
#include "errors.h"

namespace heddle::python {
namespace {

using ReadOnly = nb::ndarray<nb::ro, nb::device::cpu>;

template <class Array>
std::vector<std::int64_t> shape_of(const Array& array) {
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < array.ndim(); ++i) {
    shape.push_back(static_cast<std::int64_t>(array.shape(i)));
  }
  return shape;
}

template <class Array>
bool is_dense(const Array& array) {
  std::int64_t stride = 1;
  for (std::size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) != 1 && array.stride(i) != stride) return false;
    stride *= static_cast<std::int64_t>(array.shape(i));
  }
  return true;
}

[[noreturn]] void refuse_object(nb::handle value, const char* name, const char* allowed) {
  refuse("weights.argument",
         std::string(name) + " is a " + nb::cast<std::string>(value.type().attr("__name__")), {},
         allowed);
}

void refuse_strides(const char* name) {
  refuse("weights.layout", std::string(name) + " is not contiguous");
}

nb::dlpack::dtype numpy_dtype(Element element) {
  const auto dtype = [](DtypeCode code, std::uint8_t bits) {
    return nb::dlpack::dtype{static_cast<std::uint8_t>(code), bits, 1};
  };
  switch (element) {
    case Element::kFp16:
      return dtype(DtypeCode::Float, 16);
    case Element::kBf16:
      return dtype(DtypeCode::UInt, 16);
    case Element::kFp32:
      return dtype(DtypeCode::Float, 32);
    default:
      return dtype(DtypeCode::UInt, 8);
  }
}

nb::object owned(std::unique_ptr<std::vector<std::uint8_t>> bytes, nb::dlpack::dtype dtype,
                 const std::vector<std::size_t>& shape) {
  std::uint8_t* data = bytes->data();
  const nb::capsule owner(bytes.release(), [](void* held) noexcept {
    delete static_cast<std::vector<std::uint8_t>*>(held);
  });
  return nb::cast(nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, nullptr, dtype));
}

}  // namespace

std::vector<std::uint8_t> host_bytes(nb::handle value, const char* name, Element element,
                                     const std::vector<std::int64_t>& shape) {
  ReadOnly array;
  if (!nb::try_cast(value, array)) refuse_object(value, name, "an array in the host's memory");
  if (!is_element(element, array.dtype())) {
    refuse("weights.dtype", std::string(name) + " has elements of another type",
           name_of(array.dtype()), allowed_text(element));
  }
  if (shape_of(array) != shape) {
    refuse("weights.shape", std::string(name) + " has another shape", shape_text(shape_of(array)),
           shape_text(shape));
  }
  if (!is_dense(array)) refuse_strides(name);
  std::vector<std::uint8_t> bytes(array.nbytes());
  if (!bytes.empty()) std::memcpy(bytes.data(), array.data(), bytes.size());
  return bytes;
}

bool has_elements(nb::handle value, Element element) {
  ReadOnly array;
  return nb::try_cast(value, array) && is_element(element, array.dtype());
}

HostMemory writable_memory(nb::handle value, const char* name) {
  HostMemory memory;
  nb::ndarray<nb::device::cpu> array;
  if (!nb::try_cast(value, array)) {
    refuse_object(value, name, "an array in the host's memory that may be written");
  }
  if (!is_dense(array)) refuse_strides(name);
  memory.data = array.data();
  memory.bytes = array.nbytes();
  memory.array = nb::ndarray<>(array);
  return memory;
}

HostView readable_memory(nb::handle value, const char* name) {
  HostView memory;
  ReadOnly array;
  if (!nb::try_cast(value, array)) refuse_object(value, name, "an array in the host's memory");
  if (!is_dense(array)) refuse_strides(name);
  memory.data = array.data();
  memory.bytes = array.nbytes();
  memory.array = nb::ndarray<nb::ro>(array);
  return memory;
}

nb::object numpy_array(std::vector<std::uint8_t> bytes, Element element,
                       const std::vector<std::size_t>& shape) {
  return owned(std::make_unique<std::vector<std::uint8_t>>(std::move(bytes)), numpy_dtype(element),
               shape);
}

nb::object new_numpy_bytes(std::size_t bytes, std::uint8_t** data) {
  auto memory = std::make_unique<std::vector<std::uint8_t>>(bytes);
  *data = memory->data();
  return owned(std::move(memory), numpy_dtype(Element::kByte), {bytes});
}

}  // namespace heddle::python
