"""Writes GGUF files of random weights: deterministic, in one pass, atomically.

A tensor's weights follow from its name, shape and scale alone, so models that have a tensor in common share its
weights: that is how a draft model becomes the first layers of its target.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

from specscope.lab.errors import DemoMissingError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Floats = NDArray[np.float32]

WeightType: TypeAlias = Literal["q4_0", "f32"]

Q4_0_BLOCK = 32  # weights per block: one float16 scale, then 16 bytes of two weights each
LEVELS = 15  # a random weight is one of these, spaced evenly around zero
_ZERO_LEVEL = 8  # as Q4_0 stores a weight of zero
LEVEL_RMS = (sum(level * level for level in range(-7, 8)) / LEVELS) ** 0.5


class _Writer(Protocol):
    """The part of ``gguf.GGUFWriter`` used here (the package has no types of its own)."""

    def add_uint32(self, key: str, val: int) -> None: ...
    def add_int32(self, key: str, val: int) -> None: ...
    def add_float32(self, key: str, val: float) -> None: ...
    def add_bool(self, key: str, val: bool) -> None: ...
    def add_string(self, key: str, val: str) -> None: ...
    def add_array(self, key: str, val: Sequence[Any]) -> None: ...
    def add_tensor(self, name: str, tensor: NDArray[Any], *, raw_dtype: object = None) -> None: ...
    def write_header_to_file(self) -> None: ...
    def write_kv_data_to_file(self) -> None: ...
    def write_tensors_to_file(self) -> None: ...
    def close(self) -> None: ...


class GgufFile:
    """A GGUF file under construction: add keys and tensors, then write it.

    Raises:
        DemoMissingError: ``gguf`` or ``numpy`` is not installed.
    """

    def __init__(self, path: Path, arch: str, weights: WeightType) -> None:
        try:
            import gguf  # noqa: PLC0415 - of the demo extra, and needed only to build
            import numpy as np  # noqa: PLC0415 - as gguf
        except ImportError as error:
            raise DemoMissingError(error.name or "gguf") from error
        self._np = np
        self._q4_0 = gguf.GGMLQuantizationType.Q4_0
        self._writer = cast("_Writer", gguf.GGUFWriter(path, arch))
        self.arch = arch
        self._weights = weights

    def put(self, key: str, value: float | str | Sequence[Any]) -> None:
        """Adds a key. ``{arch}`` in it becomes the architecture's name; integers are written as 32 bits."""
        key = key.format(arch=self.arch)
        match value:
            case bool():
                self._writer.add_bool(key, value)
            case int():
                (self._writer.add_uint32 if value >= 0 else self._writer.add_int32)(key, value)
            case float():
                self._writer.add_float32(key, value)
            case str():
                self._writer.add_string(key, value)
            case _:
                self._writer.add_array(key, list(value))

    def put_all(self, keys: Mapping[str, float | str | Sequence[Any]]) -> None:
        """Adds several keys, in order."""
        for key, value in keys.items():
            self.put(key, value)

    def put_random(
        self,
        name: str,
        rows: int,
        cols: int,
        rms: float,
        *,
        zero_rows: Sequence[int] = (),
    ) -> None:
        """Adds a matrix of random weights, of the file's weight type.

        Args:
            name: The tensor's name.
            rows: Outputs of the matrix.
            cols: Inputs of the matrix, a multiple of 32.
            rms: Root mean square of the weights, which are uniform over 15 levels around zero.
            zero_rows: Rows whose weights are all zero.
        """
        np = self._np
        rng = np.random.Generator(np.random.PCG64(zlib.crc32(f"{name}:{rows}x{cols}".encode())))
        levels = rng.integers(1, 1 + LEVELS, (rows, cols), dtype=np.uint8)
        for row in zero_rows:
            levels[row] = _ZERO_LEVEL
        self._put_levels(name, levels, rms / LEVEL_RMS)

    def put_identity(self, name: str, rows: int, cols: int) -> None:
        """Adds a matrix, of the file's weight type, that hands on the first ``rows`` of its ``cols`` inputs."""
        np = self._np
        self._put_levels(name, np.eye(rows, cols, dtype=np.uint8) + np.uint8(_ZERO_LEVEL), 1.0)

    def _put_levels(self, name: str, levels: Bytes, step: float) -> None:
        np = self._np
        if self._weights == "q4_0":
            self._writer.add_tensor(name, self._packed(levels, step), raw_dtype=self._q4_0)
        else:
            values: Floats = (levels.astype(np.float32) - np.float32(_ZERO_LEVEL)) * np.float32(step)
            self._writer.add_tensor(name, values)

    def _packed(self, levels: Bytes, step: float) -> Bytes:
        """Returns levels in Q4_0: for each 32 a float16 scale, then 16 bytes of two levels each."""
        np = self._np
        rows, cols = levels.shape
        halves = levels.reshape(rows, cols // Q4_0_BLOCK, 2, Q4_0_BLOCK // 2)
        scale = np.frombuffer(np.float16(step).tobytes(), np.uint8)
        scales = np.broadcast_to(scale, (rows, cols // Q4_0_BLOCK, 2))
        pairs = halves[:, :, 0] | np.left_shift(halves[:, :, 1], 4, dtype=np.uint8)
        return np.concatenate((scales, pairs), axis=2).reshape(rows, -1)

    def put_normal(self, name: str, rows: int, cols: int, rms: float) -> None:
        """Adds a float32 matrix of normally distributed weights, for shapes that Q4_0 cannot hold."""
        np = self._np
        rng = np.random.Generator(np.random.PCG64(zlib.crc32(f"{name}:{rows}x{cols}".encode())))
        self._writer.add_tensor(name, rng.normal(0.0, rms, (rows, cols)).astype(np.float32))

    def put_constant(self, name: str, shape: tuple[int, ...], value: float) -> None:
        """Adds a float32 tensor with ``value`` everywhere."""
        self._writer.add_tensor(name, self._np.full(shape, value, self._np.float32))

    def put_rows(self, name: str, rows: int, values: Sequence[float]) -> None:
        """Adds a float32 matrix whose ``rows`` rows all are ``values``."""
        array: Floats = self._np.tile(self._np.asarray(values, self._np.float32), (rows, 1))
        self._writer.add_tensor(name, array)

    def write(self) -> None:
        """Writes everything added so far and closes the file."""
        self._writer.write_header_to_file()
        self._writer.write_kv_data_to_file()
        self._writer.write_tensors_to_file()
        self._writer.close()


@contextmanager
def written_atomically(path: Path) -> Generator[Path]:
    """Yields a temporary path beside ``path``, which becomes ``path`` if the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=".part", dir=path.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        part.replace(path)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()
