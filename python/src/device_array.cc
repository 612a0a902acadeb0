#include "device_array.h"

#include <nanobind/stl/string.h>

#include <limits>
#include <utility>

#include "bindings.h"
#include "element.h"
#include "errors.h"

namespace heddle::python {
namespace {

constexpr int kDlCuda = 2;  // DLDeviceType
constexpr int kDlCudaManaged = 13;
constexpr std::uint64_t kDlReadOnly = 1;  // DLPACK_FLAG_BITMASK_READ_ONLY

// The two structs that capsules of DLPack hold.
struct ManagedTensor {
  nb::dlpack::dltensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};
struct ManagedTensorVersioned {
  std::uint32_t major;
  std::uint32_t minor;
  void* context;
  void (*deleter)(ManagedTensorVersioned*);
  std::uint64_t flags;
  nb::dlpack::dltensor tensor;
};

// Python has pointers as integers.
// NOLINTNEXTLINE(performance-no-int-to-ptr)
void* to_pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

// Sets the shape and the bytes of an array whose dtype is set. What it says of itself is looked at
// before anything is computed from it.
void set_shape(std::vector<std::int64_t> shape, const char* name, DeviceArray* array) {
  std::int64_t bytes = bytes_of(array->dtype);
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) {
      refuse("launch.shape", std::string(name) + " has a shape that no memory has",
             shape_text(shape));
    }
  }
  array->shape = std::move(shape);
  array->bytes = static_cast<std::size_t>(bytes);
}

void check_device_type(const nb::dlpack::dltensor& tensor, const char* name) {
  const int type = tensor.device.device_type;
  if (type == kDlCuda || type == kDlCudaManaged) return;
  refuse("launch.device", std::string(name) + " is not in the memory of a CUDA device",
         "DLPack device type " + std::to_string(type));
}

void take_tensor(const nb::dlpack::dltensor& tensor, const char* name, DeviceArray* array) {
  check_device_type(tensor, name);
  array->data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  array->dtype = tensor.dtype;
  array->device = tensor.device.device_id;
  set_shape({tensor.shape, tensor.shape + tensor.ndim}, name, array);
  if (tensor.strides == nullptr) {
    array->strides = dense_strides(array->shape);
  } else {
    array->strides.assign(tensor.strides, tensor.strides + tensor.ndim);
  }
}

// What an array on the host raises when it is asked for a stream does not say what is wrong.
void refuse_host_array(nb::handle value, const char* name) {
  const nb::object device = nb::getattr(value, "__dlpack_device__", nb::none());
  if (device.is_none()) return;
  nb::dlpack::dltensor tensor;
  tensor.device.device_type = nb::cast<int>(device()[0]);
  check_device_type(tensor, name);
}

// The stream -1 asks the producer to wait for nothing. The capsule is kept, not consumed: when it
// goes, it gives the memory back.
DeviceArray from_dlpack(nb::handle value, const char* name) {
  DeviceArray array;
  try {
    array.owner = value.attr("__dlpack__")(nb::arg("stream") = -1);
  } catch (const nb::python_error&) {
    refuse_host_array(value, name);
    throw;
  }
  PyObject* capsule = array.owner.ptr();
  if (PyCapsule_IsValid(capsule, "dltensor_versioned") != 0) {
    const auto* managed = static_cast<const ManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    if (managed->major != 1) {
      refuse("launch.argument", std::string(name) + " has a version of DLPack that is not known: " +
                                    std::to_string(managed->major));
    }
    array.read_only = (managed->flags & kDlReadOnly) != 0;
    take_tensor(managed->tensor, name, &array);
  } else if (PyCapsule_IsValid(capsule, "dltensor") != 0) {
    take_tensor(
        static_cast<const ManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"))->tensor, name,
        &array);
  } else {
    refuse("launch.argument", std::string(name) + ": its __dlpack__() returns no DLPack capsule");
  }
  return array;
}

DeviceArray from_interface(nb::handle value, nb::handle interface, const char* name) {
  DeviceArray array;
  array.owner = nb::borrow(value);
  const nb::dict fields = nb::cast<nb::dict>(interface);
  for (const char* field : {"shape", "typestr", "data"}) {
    if (fields.contains(field)) continue;
    refuse("launch.argument", std::string(name) + ": its __cuda_array_interface__ has no " + field);
  }
  const nb::object data = fields["data"];
  array.data = to_pointer(nb::cast<std::uintptr_t>(data[0]));
  array.read_only = nb::cast<bool>(data[1]);
  array.dtype = dtype_of_typestr(nb::cast<std::string>(fields["typestr"]), name);
  std::vector<std::int64_t> shape;
  for (nb::handle size : fields["shape"]) shape.push_back(nb::cast<std::int64_t>(size));
  set_shape(std::move(shape), name, &array);
  if (!fields.contains("strides") || fields["strides"].is_none()) {
    array.strides = dense_strides(array.shape);
  } else {
    for (nb::handle stride : fields["strides"]) {
      const auto bytes = nb::cast<std::int64_t>(stride);
      if (bytes % bytes_of(array.dtype) != 0) {
        refuse("launch.layout", std::string(name) + " has strides of no whole elements");
      }
      array.strides.push_back(bytes / bytes_of(array.dtype));
    }
    if (array.strides.size() != array.shape.size()) {
      refuse("launch.layout", std::string(name) + " has not a stride for each dimension");
    }
  }
  return array;
}

}  // namespace

bool DeviceArray::is_dense() const {
  const std::vector<std::int64_t> dense = dense_strides(shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != dense[i]) return false;
  }
  return true;
}

DeviceArray device_array(nb::handle value, const char* name) {
  if (const DeviceMemory* memory = nullptr;
      nb::try_cast(value, memory, false) && memory != nullptr) {
    DeviceArray array;
    array.raw = true;
    array.data = to_pointer(memory->pointer);
    array.bytes = memory->bytes;
    array.device = memory->device;
    array.owner = nb::borrow(value);
    return array;
  }
  if (nb::hasattr(value, "__dlpack__")) return from_dlpack(value, name);
  const nb::object interface = nb::getattr(value, "__cuda_array_interface__", nb::none());
  if (!interface.is_none()) return from_interface(value, interface, name);
  refuse("launch.argument",
         std::string(name) + " is a " + nb::cast<std::string>(value.type().attr("__name__")), {},
         "an object with __dlpack__ or __cuda_array_interface__, or a heddle.DeviceMemory");
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

void bind_memory(nb::module_& m) {
  nb::class_<DeviceMemory>(m, "DeviceMemory", nb::dynamic_attr(),
                           "A raw device pointer and how many bytes lie behind it, for memory that "
                           "no array stands for. Its type and shape cannot be checked, so launches "
                           "that take their M or a stride from an array want those beside it.")
      .def(
          "__init__",
          [](DeviceMemory* self, std::uintptr_t pointer, std::size_t bytes, int device,
             nb::handle) {
            new (self) DeviceMemory{pointer, bytes, device};
          },
          nb::arg("pointer"), nb::arg("bytes"), nb::arg("device") = DeviceMemory::kUnknownDevice,
          nb::arg("owner") = nb::none(), nb::keep_alive<1, 5>(),
          nb::sig("def __init__(self, pointer: int, bytes: int, device: int = -1, owner: object = "
                  "None) -> None"),
          "`device` is an ordinal, or -1: not known, not checked. `owner` is kept alive.")
      .def_ro("pointer", &DeviceMemory::pointer)
      .def_ro("bytes", &DeviceMemory::bytes)
      .def_ro("device", &DeviceMemory::device)
      .def("__repr__", [](const DeviceMemory& self) {
        return nb::str("DeviceMemory(pointer={:#x}, bytes={}, device={})")
            .format(self.pointer, self.bytes, self.device);
      });
}

}  // namespace heddle::python
