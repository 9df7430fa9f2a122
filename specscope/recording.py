"""Facts on disk: JSON lines (gzip when the name ends in .gz), one fact a line after a header line.

A recording survives a crash of the recorder: what was written is flushed at least once a second, and a reader
takes everything up to the break. Unknown kinds of facts, from a newer specscope, are skipped and counted.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self

import msgspec

from specscope.events import Event

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path
    from types import TracebackType

FORMAT_VERSION: Final = 1
GZIP_WBITS: Final = 31
CHUNK: Final = 1 << 18
PIECE: Final = 16
FLUSH_EVERY_S: Final = 1.0
ENDLESS: Final = re.compile(rb"\d{309}")
"""In a line that is no fact: arithmetic fails on whole numbers beyond the largest floating one, of 309 digits."""


class RecordingError(ValueError):
    """A file that cannot be read as a recording, or that must not be overwritten; the message names it."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line, with every field. ``specscope`` is the format's version, ``tool_version`` the program's."""

    specscope: int = FORMAT_VERSION
    tool_version: str = ""
    started: float = 0.0
    note: str = ""


class Recorder:
    """Writes facts to a new file.

    Args:
        path: created; an existing file is never overwritten.
        tool_version: for the header.
        started: seconds since the epoch, for the header.

    Raises:
        RecordingError: the file exists or cannot be created.
    """

    def __init__(self, path: Path, *, tool_version: str, started: float) -> None:
        try:
            self._file: BinaryIO = path.open("xb", buffering=0)
        except FileExistsError as error:
            raise RecordingError(f"{path} exists: a recording is never overwritten") from error
        except OSError as error:
            raise RecordingError(f"{path}: {error.strerror or error}") from error
        self._gzip = zlib.compressobj(6, zlib.DEFLATED, GZIP_WBITS) if path.suffix == ".gz" else None
        self._encoder = msgspec.json.Encoder()
        self._lines: list[bytes] = []
        self._flushed_at = started
        self.facts = 0
        self._lines.append(
            self._encoder.encode(Header(specscope=FORMAT_VERSION, tool_version=tool_version, started=started))
        )
        self.flush()

    def write(self, event: Event) -> None:
        """Add one fact; it is on disk within a second of later facts' time.

        Raises:
            OSError: the disk is full or gone.
        """
        self._lines.append(self._encoder.encode(event))
        self.facts += 1
        if event.at - self._flushed_at >= FLUSH_EVERY_S or event.at < self._flushed_at:
            self.flush()
            self._flushed_at = event.at

    def flush(self) -> None:
        """Put everything so far on disk."""
        if not self._lines:
            return
        data = b"\n".join(self._lines) + b"\n"
        self._lines.clear()
        if self._gzip is not None:
            data = self._gzip.compress(data) + self._gzip.flush(zlib.Z_SYNC_FLUSH)
        self._put(data)

    def close(self) -> None:
        """Flush and end the file."""
        if self._file.closed:
            return
        self.flush()
        if self._gzip is not None:
            self._put(self._gzip.flush(zlib.Z_FINISH))
        self._file.close()

    def _put(self, data: bytes) -> None:
        """Write all of it: on a disk that fills up an unbuffered write takes a part and says so, the next one fails."""
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) :]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(eq=False)
class Recording:
    """Reads a recording, once, from its beginning.

    Attributes:
        header: its first line.
        skipped: lines that were no facts this version knows; ``broken``: it ends in mid-line or mid-block.
    """

    path: Path
    header: Header = field(init=False)
    skipped: int = 0
    broken: bool = False

    def __post_init__(self) -> None:
        lines = self._lines()
        first = next(lines, b"")
        try:
            self.header = msgspec.json.decode(first, type=Header)
            known: Any = msgspec.json.decode(first)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RecordingError(f"{self.path} is not a recording of specscope: {error}") from error
        finally:
            lines.close()
        if not isinstance(known, dict) or "specscope" not in known:
            raise RecordingError(f"{self.path} is not a recording of specscope: its first line is no header")
        if self.header.specscope > FORMAT_VERSION:
            raise RecordingError(
                f"{self.path} has format {self.header.specscope}; this specscope reads {FORMAT_VERSION}"
            )

    def events(self) -> Iterator[Event]:
        """The facts in order.

        Raises:
            RecordingError: the file cannot be read any more.
        """
        decode = msgspec.json.Decoder(Event).decode
        self.skipped, self.broken = 0, False
        lines = self._lines()
        next(lines, None)
        for line in lines:
            try:
                event = decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                self.skipped += bool(line.strip())
                continue
            if ENDLESS.search(line):
                self.skipped += 1
                continue
            yield event

    def _lines(self) -> Generator[bytes]:
        """Whole lines; a last one without its newline is what a crash left, and is dropped."""
        rest = b""
        for block in self._blocks():
            lines = (rest + block).split(b"\n")
            rest = lines.pop()
            yield from lines
        if rest:
            self.broken = True

    def _blocks(self) -> Iterator[bytes]:
        try:
            with self.path.open("rb") as file:
                head = file.read(2)
                file.seek(0)
                if head == b"\x1f\x8b":
                    yield from self._inflate(file)
                else:
                    while block := file.read(CHUNK):
                        yield block
        except OSError as error:
            raise RecordingError(f"{self.path}: {error.strerror or error}") from error

    def _inflate(self, file: BinaryIO) -> Iterator[bytes]:
        """Decompress as far as it goes, one gzip member after another."""
        inflate = zlib.decompressobj(GZIP_WBITS)
        whole = True
        while data := file.read(CHUNK):
            while data:
                before = inflate.copy()
                try:
                    yield inflate.decompress(data)
                except zlib.error:
                    self.broken = True
                    yield from _up_to_the_error(before, data)
                    return
                data, whole = inflate.unused_data, inflate.eof
                if whole:
                    inflate = zlib.decompressobj(GZIP_WBITS)
        self.broken = self.broken or not whole


def _up_to_the_error(inflate: Any, data: bytes) -> Iterator[bytes]:  # noqa: ANN401  zlib does not name the type
    """What compressed data still gives when some of it is damaged: zlib gives nothing of a piece with an error."""
    for at in range(0, len(data), PIECE):
        try:
            yield inflate.decompress(data[at : at + PIECE])
        except zlib.error:
            return
