"""Arrays that say they are in device memory, at addresses that nobody reads."""

import ctypes

FLOAT, BFLOAT, INT, UINT, FP8_E4M3 = 2, 4, 0, 1, 10
TYPES = {
    "float16": (FLOAT, 16), "float32": (FLOAT, 32), "bfloat16": (BFLOAT, 16), "int32": (INT, 32),
    "int64": (INT, 64), "uint8": (UINT, 8), "int8": (INT, 8), "uint16": (UINT, 16),
    "uint32": (UINT, 32),
    "float8_e4m3fn": (FP8_E4M3, 8),
}
CUDA, CPU = 2, 1


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor),
    ]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def dense(shape):
    strides, stride = [], 1
    for size in reversed(shape):
        strides.insert(0, stride)
        stride *= size
    return strides


class DlpackArray:
    """An array with DLPack. `versioned`: as newer producers make it, else as older ones."""

    def __init__(self, shape, dtype="float16", *, pointer=0x10000, device=0, device_type=CUDA,
                 strides=None, offset=0, versioned=False, read_only=False):
        self.shape, self.dtype, self.pointer = tuple(shape), dtype, pointer
        self.streams = []
        self._versioned = versioned
        code, bits = TYPES[dtype]
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        self._strides = strides and (ctypes.c_int64 * len(shape))(*strides)
        tensor = Tensor(pointer, device_type, device, len(shape), code, bits, 1, self._shape,
                        self._strides, offset)
        if versioned:
            self._managed = ManagedVersioned(1, 0, None, None, int(read_only), tensor)
        else:
            self._managed = Managed(tensor, None, None)
        self._name = b"dltensor_versioned" if versioned else b"dltensor"

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        return new_capsule(ctypes.addressof(self._managed), self._name, None)

    def __dlpack_device__(self):
        raise AssertionError("the capsule says it")


class InterfaceArray:
    """An array with __cuda_array_interface__ alone."""

    def __init__(self, shape, typestr="<f2", *, pointer=0x10000, strides=None, read_only=False):
        self.__cuda_array_interface__ = {
            "shape": tuple(shape), "typestr": typestr, "data": (pointer, read_only),
            "strides": strides, "version": 3,
        }
