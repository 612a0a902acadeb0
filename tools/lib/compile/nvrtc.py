"""NVRTC by its C interface: what compiling a text costs, up to PTX and up to machine code."""

import ctypes
import dataclasses
import time

# What runtime/compile/nvrtc.cc passes, but for the architecture.
OPTIONS = ("--std=c++17", "--modify-stack-limit=false", "--ptxas-options=-v", "--no-cache")


class CompileError(Exception):
    """The compiler's log."""


@dataclasses.dataclass
class Compiled:
    ms: float  # of processor time
    ptx: str


class Nvrtc:
    def __init__(self, library):
        self._library = ctypes.CDLL(str(library))
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = (major.value, minor.value)
        self._options = OPTIONS if self.version >= (12, 9) else OPTIONS[:-1]

    def compile(self, text, arch, to_ptx_alone=False):
        """`arch`: "sm_90a". Up to PTX alone, ptxas is left out."""
        program = ctypes.c_void_p()
        self._library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0,
                                         None, None)
        name = arch.replace("sm_", "compute_") if to_ptx_alone else arch
        options = [f"--gpu-architecture={name}".encode(), *(one.encode() for one in self._options)]
        begin = time.process_time()
        result = self._library.nvrtcCompileProgram(
            program, len(options), (ctypes.c_char_p * len(options))(*options))
        ms = 1000 * (time.process_time() - begin)
        try:
            if result != 0:
                raise CompileError(self._text(program, "ProgramLog"))
            return Compiled(ms, self._text(program, "PTX"))
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _text(self, program, what):
        size = ctypes.c_size_t()
        getattr(self._library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(self._library, f"nvrtcGet{what}")(program, buffer)
        return buffer.value.decode()


def statements(ptx):
    """How many statements a PTX text has: instructions, and directives that end with ';'."""
    return sum(line.rstrip().endswith(";") for line in ptx.splitlines())
