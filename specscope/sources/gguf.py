"""What the model files in use say of themselves: architecture, vocabulary, block size, recommended sampling."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

from specscope.events import ModelRead, SourceAttached, SourceLost
from specscope.sources.gguf_header import GgufError, GgufHeader, GgufTensor, read_header
from specscope.sources.gguf_weights import weigh
from specscope.sources.procfs import seen_from_here

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from specscope.events import Json
    from specscope.flags import ServerFlags
    from specscope.sources.source import Clock, Emit

__all__ = [
    "GgufError",
    "GgufFile",
    "GgufHeader",
    "GgufSource",
    "GgufTensor",
    "Role",
    "files_in_use",
    "model_read",
    "read_header",
]

Role: TypeAlias = Literal["target", "drafter", "projector"]

_HPARAM_CHARS = 64  # longer strings are prose
_MOST_BASES = 8  # merges have a few
_PERMISSION_HINT = "run as the server's user or as root to read its model files"


def model_read(header: GgufHeader, role: Role, path: str, at: float, target: str = "t0") -> ModelRead:
    """The fact that a header states.

    ``block_size`` is the key that the drafter code reads (common/speculative.cpp), ``n_vocab`` the vocabulary
    size or, without it, the number of tokens. Tensor counts and bytes are left out when a split could not be read;
    of a projector, whose blocks are not llama.cpp's, bytes are not told.

    Args:
        header: what was read.
        role: what the server uses the file for.
        path: the file as the server names it.
        at: when it was read, in seconds since the epoch.
        target: the watched server.
    """
    keys = header.metadata
    arch = _text(keys.get("general.architecture"))
    own = f"{arch}."
    blocks = [f"{own}block_size", "dflash.block_size", f"{own}dflash.block_size", "dspark.block_size"]
    whole = header.file_bytes is not None
    n_layer = _whole(keys.get(f"{own}block_count"))
    weights = weigh(header, arch, n_layer) if role != "projector" else None
    n_vocab = _whole(keys.get(f"{own}vocab_size"))
    head = any(tensor.name == "markov_w1.weight" for tensor in header.tensors)
    return ModelRead(
        at=at,
        target=target,
        role=role,
        path=path,
        arch=arch,
        name=_text(keys.get("general.name")),
        file_bytes=header.file_bytes,
        n_vocab=header.array_lengths.get("tokenizer.ggml.tokens") if n_vocab is None else n_vocab,
        n_embd=_whole(keys.get(f"{own}embedding_length")),
        n_layer=n_layer,
        n_ctx_train=_whole(keys.get(f"{own}context_length")),
        block_size=next((size for key in blocks if (size := _whole(keys.get(key))) is not None), None),
        nextn_layers=_nextn_layers(header, own),
        tensor_types=dict(Counter(tensor.type for tensor in header.tensors)) if whole else {},
        sampling={
            key.removeprefix("general.sampling."): value
            for key, value in keys.items()
            if key.startswith("general.sampling.")
        },
        base_models=_base_models(keys),
        has_markov_head=head if head or whole else None,
        hparams={
            key.removeprefix(own): value for key, value in keys.items() if key.startswith(own) and _is_kept(value)
        },
        input_bytes=None if weights is None else weights.input_bytes,
        embedding_bytes=None if weights is None else weights.embedding_bytes,
        output_bytes=None if weights is None else weights.output_bytes,
        tied=None if weights is None else weights.tied,
        layer_bytes=[] if weights is None else weights.layers,
        layer_expert_bytes=[] if weights is None else weights.experts,
        tokenizer=_text(keys.get("tokenizer.ggml.model")),
        bos=_whole(keys.get("tokenizer.ggml.bos_token_id")),
        eos=_whole(keys.get("tokenizer.ggml.eos_token_id")),
        add_bos=_flag(keys.get("tokenizer.ggml.add_bos_token")),
        add_eos=_flag(keys.get("tokenizer.ggml.add_eos_token")),
    )


def _base_models(keys: Mapping[str, Json]) -> list[str]:
    """The models that this one was made from: the addresses of their repositories, else their names."""
    found: list[str] = []
    for number in range(_MOST_BASES):
        key = f"general.base_model.{number}."
        told = _text(keys.get(f"{key}repo_url")) or _text(keys.get(f"{key}name"))
        found += [told] if told else []
    return found


def _is_kept(value: Json) -> bool:
    """Whether a key of the architecture is worth keeping: numbers, flags, names, and per-layer lists of numbers."""
    if isinstance(value, str):
        return len(value) <= _HPARAM_CHARS
    return not (isinstance(value, list) and any(isinstance(item, str) for item in cast("list[Json]", value)))


def _nextn_layers(header: GgufHeader, own: str) -> int | None:
    """How many multi-token prediction layers the file can run.

    The key alone proves nothing: many files were made with the key and without the tensors. So a file whose
    tensors were all read and that has none of them has 0.
    """
    named = {name.partition("nextn.")[0] for name, *_ in header.tensors if "nextn." in name}
    if not named and header.file_bytes is not None:
        return 0
    said = _whole(header.metadata.get(f"{own}nextn_predict_layers"))
    return said if said is not None else len(named) or None


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _flag(value: Json) -> bool | None:
    return value if isinstance(value, bool) else None


def _whole(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class GgufFile(NamedTuple):
    """A file to read: what it is used for, its path as the server names it, and the server's root directory."""

    role: Role
    path: str
    root: str = "/"


def files_in_use(pid: int, flags: ServerFlags) -> list[GgufFile]:
    """The model files that a server was told to use, as they can be read from here.

    A model fetched by repository name is not among them: only the server knows its path (/props ``model_path``).
    """
    told: list[tuple[Role, str | None]] = [
        ("target", flags.model),
        ("drafter", flags.draft_model),
        ("projector", flags.mmproj),
    ]
    files: list[GgufFile] = []
    for role, path in told:
        if path:
            root, absolute = seen_from_here(pid, path)
            files.append(GgufFile(role, absolute, root))
    return files


class GgufSource:
    """Reads the headers of the files in use, once: they do not change under a running server."""

    name = "gguf"

    def __init__(self, files: Sequence[GgufFile], clock: Clock, target: str = "t0") -> None:
        self._files = files
        self._clock = clock
        self._target = target

    async def run(self, emit: Emit) -> None:
        """Emit one ``ModelRead`` for each readable file and one ``SourceLost`` for each other."""
        read: list[str] = []
        for role, path, root in self._files:
            try:
                header = await asyncio.to_thread(read_header, path, root)
            except (GgufError, OSError) as error:
                reason = f"{role} {path}: {getattr(error, 'strerror', None) or error}"
                hint = _PERMISSION_HINT if isinstance(error, PermissionError) else ""
                emit(SourceLost(at=self._clock.now(), target=self._target, source=self.name, reason=reason, hint=hint))
                continue
            emit(model_read(header, role, path, self._clock.now(), self._target))
            read.append(role)
        if read:
            detail = ", ".join(read)
            emit(
                SourceAttached(at=self._clock.now(), target=self._target, source=self.name, tier="none", detail=detail)
            )
