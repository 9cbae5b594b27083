"""What the library's errors are in Python."""

import re

_FLAG = re.compile(r"(?<![\w/.-])--([a-z][a-z0-9-]*)")


def in_python(words: str) -> str:
    """What the library says, with the program's flags by the names that arguments have here: data_shards for --data-shards."""
    return _FLAG.sub(lambda flag: flag[1].replace("-", "_"), words)


class Error(Exception):
    """Base of this package's errors; `code` is the library's name for what is wrong, such as "DATA"."""

    code = ""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class InputError(Error, ValueError):
    """The call or the data is wrong; the message says where, and what was expected."""


class IoError(Error, OSError):
    """The operating system refused a file, a port or a limit."""


class MissingError(IoError, FileNotFoundError):
    """A file or directory is not there."""


class DeadlineError(Error, TimeoutError):
    """A deadline passed; the message names who was waited for."""


class JobError(Error, RuntimeError):
    """A node is gone, a value is not finite, a model is damaged, or a job has ended."""


for _error in (Error, InputError, IoError, MissingError, DeadlineError, JobError):
    _error.__module__ = "thalweg"  # Tracebacks say what users import.

_OF_CODE = {"USAGE": InputError, "CONFIG": InputError, "DATA": InputError, "IO": IoError,
            "TIMEOUT": DeadlineError}


def of_code(code: str, message: str) -> Error:
    return _OF_CODE.get(code, JobError)(in_python(message), code)
