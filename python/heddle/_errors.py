"""The exceptions of Heddle: one base class, and a subclass for each kind of failure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong. All fields but ``message`` may be empty."""

    pointer: str
    """JSON pointer (RFC 6901) into the spec, "" for the whole document."""
    message: str
    """A sentence without the pointer."""
    value: str = ""
    """The offending value as JSON text."""
    allowed: str = ""
    """What would be accepted."""
    hint: str = ""
    """A near miss: 'did you mean "group_size"?'."""


class Error(Exception):
    """Every failure that Heddle reports. ``str(error)`` has a line for each problem."""

    category: str = "internal"

    def __init__(
        self, message: str, code: str = "", problems: tuple[Problem, ...] = (), log: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        """A stable identifier: "spec.unknown_field", "plan.unsupported", "launch.shape" ..."""
        self.problems = problems
        self.log = log
        """Of CompileError the compiler's log and the source with line numbers, else empty."""

    @property
    def pointer(self) -> str:
        """The JSON pointer of the first problem, "" where it has none."""
        return self.problems[0].pointer if self.problems else ""

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.code, self.problems, self.log)


class SpecError(Error, ValueError):
    """A spec, a model's config or a tuned table is not well formed."""

    category = "spec"


class UnsupportedError(Error):
    """Well formed, but this spec on this target cannot be served; nothing was compiled."""

    category = "unsupported"


class UsageError(Error, ValueError):
    """A function was called with arguments that break its contract."""

    category = "usage"


class FileError(Error):
    """A file that was named cannot be read or written."""

    category = "file"


class CompileError(Error):
    """NVRTC refused the source; ``log`` holds its whole output."""

    category = "compile"


class DriverError(Error):
    """A call of the CUDA driver failed, or libcuda or libnvrtc cannot be loaded."""

    category = "driver"


class CancelledError(Error):
    """A callback asked to stop."""

    category = "cancelled"


class MissingError(Error):
    """A kernel is not at hand and may not be made here: strict mode, stream capture."""

    category = "missing"


class InternalError(Error):
    """A bug in Heddle."""

    category = "internal"
