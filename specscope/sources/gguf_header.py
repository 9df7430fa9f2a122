"""The header of a GGUF file: what the model says of itself, without its weights and its vocabulary.

Layout: ggml/src/gguf.cpp and gguf-py/gguf/constants.py of llama.cpp b11434. Key names: src/llama-arch.cpp.
Reads go through a buffer instead of a memory map: a file that shrinks under a map kills the process.
"""

from __future__ import annotations

import os
import re
import struct
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import msgspec

from specscope.sources.procfs import inside

if TYPE_CHECKING:
    from pathlib import Path

    from specscope.events import Json

# Tensor types by number: enum ggml_type of ggml/include/ggml.h. The gaps are types that were removed.
_TYPE_NAMES = """
F32 F16 Q4_0 Q4_1 Q4_2 Q4_3 Q5_0 Q5_1 Q8_0 Q8_1 Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K IQ2_XXS IQ2_XS IQ3_XXS IQ1_S
IQ4_NL IQ3_S IQ2_S IQ4_XS I8 I16 I32 I64 F64 IQ1_M BF16 Q4_0_4_4 Q4_0_4_8 Q4_0_8_8 TQ1_0 TQ2_0 IQ4_NL_4_4
IQ4_NL_4_8 IQ4_NL_8_8 MXFP4 NVFP4 Q1_0 Q2_0
"""
TENSOR_TYPES = dict(enumerate(_TYPE_NAMES.split()))
# Value types by number (enum gguf_type), as struct formats: 8 is a string, 9 an array.
_CODES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_SCALARS = {kind: struct.Struct("<" + code) for kind, code in _CODES.items()}
_STRING, _ARRAY = 8, 9
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_MAX_DIMS = 4  # GGML_MAX_DIMS

_WINDOW_BYTES = 1 << 20
# A 262K vocabulary with its merges makes a header of about 20 MiB. What claims to be far longer is damaged, and
# the limit keeps weights from being walked as if they were strings.
_MAX_HEADER_BYTES = 128 << 20
_MAX_TEXT_BYTES = 256 << 10  # longer strings are skipped: the longest chat templates have tens of KiB
_MAX_KEPT_ITEMS = 512  # per-layer arrays are kept, vocabularies are not
_MIN_KEY_BYTES, _MIN_TENSOR_BYTES = 13, 24  # the least a key and a tensor info can take

_SPLIT_NAME = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")  # llama_split_path() of src/llama.cpp


class GgufError(ValueError):
    """The file is no GGUF, is damaged, or is of a kind that is not read. Its text says which."""


class GgufTensor(NamedTuple):
    """One tensor info. ``shape`` has the fastest dimension first, ``offset_bytes`` counts from the data section."""

    name: str
    shape: tuple[int, ...]
    type: str
    offset_bytes: int


class GgufHeader(msgspec.Struct, frozen=True):
    """What a GGUF file says before its weights begin.

    ``metadata`` holds scalars and arrays of up to 512 items, ``array_lengths`` the item count of every array.
    ``tensors`` and ``file_bytes`` cover all splits; ``file_bytes`` is None when a split cannot be read.
    """

    version: int
    metadata: dict[str, Json]
    array_lengths: dict[str, int]
    tensors: list[GgufTensor]
    file_bytes: int | None


class _Reader:
    """A file read forwards through a window, with every length checked before it is believed."""

    def __init__(self, file: BinaryIO, file_bytes: int) -> None:
        self._file = file
        self._end = min(file_bytes, _MAX_HEADER_BYTES)
        self._cut = "the file ends" if file_bytes <= _MAX_HEADER_BYTES else "128 MiB of header end"
        self._window = b""
        self._start = 0  # where the window begins in the file
        self._at = 0  # the position inside the window

    @property
    def remaining(self) -> int:
        """Bytes between the position and the end of what a header may take."""
        return self._end - self._start - self._at

    def expect(self, n_bytes: int, what: str) -> None:
        """Check that ``n_bytes`` follow.

        Raises:
            GgufError: they do not.
        """
        if n_bytes > self.remaining:
            raise GgufError(f"{what} needs {n_bytes} bytes, but {self._cut} {max(self.remaining, 0)} bytes on")

    def _fill(self, n_bytes: int) -> None:
        """Have ``n_bytes`` in the window from the position on."""
        if len(self._window) - self._at >= n_bytes:
            return
        self._start += self._at
        self._at = 0
        self._file.seek(self._start)
        self._window = self._file.read(max(n_bytes, _WINDOW_BYTES))
        if len(self._window) < n_bytes:
            raise GgufError("the file shrank while it was read")

    def skip(self, n_bytes: int, what: str) -> None:
        self.expect(n_bytes, what)
        self._at += n_bytes

    def scalar(self, form: struct.Struct, what: str) -> Json:
        self.expect(form.size, what)
        self._fill(form.size)
        (value,) = form.unpack_from(self._window, self._at)
        self._at += form.size
        return value

    def text(self, what: str) -> str | None:
        """A string, or None where it is too long to keep."""
        n_bytes: int = self.scalar(_U64, what)
        self.expect(n_bytes, what)
        if n_bytes > _MAX_TEXT_BYTES:
            self._at += n_bytes
            return None
        self._fill(n_bytes)
        raw = self._window[self._at : self._at + n_bytes]
        self._at += n_bytes
        return raw.decode("utf-8", "replace")

    def skip_texts(self, count: int, what: str) -> None:
        """Skip ``count`` strings. The loop is bare because a vocabulary runs it half a million times."""
        length_at = _U64.unpack_from
        while count:
            self._fill(_U64.size)
            window, at, done = self._window, self._at, 0
            try:
                for done in range(count):  # noqa: B007 - read when the window ends
                    at += 8 + length_at(window, at)[0]
                count = 0
            except (struct.error, IndexError, OverflowError):  # the next length lies beyond the window
                count -= done
            self._at = at
            self.expect(_U64.size if count else 0, what)


def read_header(path: str, root: str = "/") -> GgufHeader:
    """Read the header of a GGUF file and of its further splits.

    Args:
        path: the file as the server names it; for a split model, the split that the server was given.
        root: where the server's root directory is seen from here (``/proc/PID/root`` for a container).

    Raises:
        GgufError: the file is not a little-endian GGUF v2 or v3, or it is damaged.
        OSError: the file cannot be opened or read.
    """
    first = _read_one(inside(root, path))
    count = first.metadata.get("split.count")
    if not isinstance(count, int) or count <= 1:
        return first
    tensors, file_bytes = list(first.tensors), first.file_bytes
    own = _SPLIT_NAME.search(path)
    if own is None or int(own[2]) != count:
        return msgspec.structs.replace(first, file_bytes=None)
    for number in range(1, count + 1):
        if number == int(own[1]):
            continue
        try:
            split = _read_one(inside(root, f"{path[: own.start()]}-{number:05d}-of-{count:05d}.gguf"))
        except (GgufError, OSError):
            return msgspec.structs.replace(first, tensors=tensors, file_bytes=None)
        tensors += split.tensors
        file_bytes = None if file_bytes is None or split.file_bytes is None else file_bytes + split.file_bytes
    return msgspec.structs.replace(first, tensors=tensors, file_bytes=file_bytes)


def _read_one(path: Path) -> GgufHeader:
    # A pipe or a device would block the open; only regular files hold models.
    if not path.is_file():
        raise GgufError("not a regular file" if path.exists() else "no such file")
    with path.open("rb", buffering=0) as file:
        file_bytes = os.fstat(file.fileno()).st_size
        reader = _Reader(file, file_bytes)
        version = _version(reader)
        n_tensors: int = reader.scalar(_U64, "the tensor count")
        n_keys: int = reader.scalar(_U64, "the key count")
        reader.expect(n_keys * _MIN_KEY_BYTES, f"a claim of {n_keys} keys")
        reader.expect(n_tensors * _MIN_TENSOR_BYTES, f"a claim of {n_tensors} tensors")
        metadata: dict[str, Json] = {}
        lengths: dict[str, int] = {}
        for _ in range(n_keys):
            _read_key(reader, metadata, lengths)
        tensors = [_read_tensor(reader) for _ in range(n_tensors)]
    return GgufHeader(version, metadata, lengths, tensors, file_bytes)


def _version(reader: _Reader) -> int:
    magic: int = reader.scalar(_U32, "the file mark")
    if magic != int.from_bytes(b"GGUF", "little"):
        raise GgufError("not a GGUF file: it does not begin with GGUF")
    version: int = reader.scalar(_U32, "the version")
    if version and not version & 0xFFFF:
        raise GgufError("a big-endian GGUF file: only little-endian ones are read")
    if version not in (2, 3):
        raise GgufError(f"GGUF version {version}: only versions 2 and 3 are read")
    return version


def _read_key(reader: _Reader, metadata: dict[str, Json], lengths: dict[str, int]) -> None:
    key = reader.text("a key")
    what = f"the value of {key}"
    kind: int = reader.scalar(_U32, what)
    value: Json = None
    if kind == _STRING:
        value = reader.text(what)
    elif kind == _ARRAY:
        item_kind: int = reader.scalar(_U32, what)
        count: int = reader.scalar(_U64, what)
        value = _read_array(reader, item_kind, count, f"an array of {count} items in {key}")
        if key is not None:
            lengths[key] = count
    elif kind in _SCALARS:
        value = reader.scalar(_SCALARS[kind], what)
    else:
        raise GgufError(f"{what} has the unknown type {kind}")
    if key is not None and value is not None:
        metadata[key] = value


def _read_array(reader: _Reader, kind: int, count: int, what: str) -> list[Json] | None:
    """The items of a small array; None for one that was skipped."""
    if kind == _STRING:
        reader.expect(count * _U64.size, what)
        if count <= _MAX_KEPT_ITEMS:
            return [reader.text(what) for _ in range(count)]
        reader.skip_texts(count, what)
        return None
    if kind not in _SCALARS:
        raise GgufError(f"{what} has the unknown type {kind}")
    form = _SCALARS[kind]
    reader.expect(count * form.size, what)
    if count <= _MAX_KEPT_ITEMS:
        return [reader.scalar(form, what) for _ in range(count)]
    reader.skip(count * form.size, what)
    return None


def _read_tensor(reader: _Reader) -> GgufTensor:
    name = reader.text("a tensor name") or ""
    what = f"tensor {name}"
    n_dims: int = reader.scalar(_U32, what)
    if n_dims > _MAX_DIMS:
        raise GgufError(f"{what} has {n_dims} dimensions, at most {_MAX_DIMS} exist")
    shape = tuple(int(reader.scalar(_U64, what)) for _ in range(n_dims))
    kind: int = reader.scalar(_U32, what)
    return GgufTensor(name, shape, TENSOR_TYPES.get(kind, f"type {kind}"), reader.scalar(_U64, what))
