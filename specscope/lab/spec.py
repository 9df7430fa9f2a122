"""What server to run, said once: methods, widths, oracle rates, and the llama-server flags that follow."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from specscope.lab.errors import SpecError
from specscope.lab.flags import SPEC_TYPES
from specscope.lab.models import ModelSpec
from specscope.lab.shapes import HEADS, WIDEST

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from specscope.lab.shapes import Family, Size

LAB_RATES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.02)
"""Per-position acceptance of a good drafter on an easy text: 6.12 tokens per drafting cycle at full width."""

_FAMILIES: dict[str, Family] = {
    "draft-simple": "draft",
    "draft-eagle3": "eagle3",
    "draft-mtp": "mtp",
    "draft-dflash": "dflash",
    "draft-dspark": "dspark",
}
_VARIANTS: dict[str, tuple[str, Family]] = {"dflash2": ("draft-dflash", "dflash2"), "mtp3": ("draft-mtp", "mtp3")}
_NGRAM_CACHE_WIDTH = 8  # fixed in the server


@dataclass(frozen=True)
class NgramSizes:
    """Sizes of the n-gram methods, in tokens: how many must match, and how many are then drafted.

    The server's defaults (12 and 48, 24 and 64) want long texts that repeat word for word.
    """

    match: int = 3
    draft: int = 12


@dataclass(frozen=True, kw_only=True)
class ServerSpec:
    """A llama-server of the lab.

    Attributes:
        types: Speculative methods by the server's names or without ``draft-``; empty for none. ``dflash2`` is
            draft-dflash with a drafter of that kind, ``mtp3`` draft-mtp with three heads instead of one.
        n_max: Draft width asked for; None leaves the server's default of 3.
        rates: Synthetic acceptance probability of each position, which never rise. As many count as the
            width in force: more are cut, missing ones are zero. None verifies for real.
        port: None or 0 takes a free one.
        trace: ``LLAMA_TRACE=1``, so that the log has a line for every cycle.
        sampling: The server's sampling defaults by flag name (``temp``, ``top_k``, ``top_p``, ``min_p``).
        model_sampling: ``general.sampling.*`` keys of the target, such as ``min_p``.
        target: Family of the target model: ``target`` (llama; with draft-mtp one that has prediction layers) or
            ``mamba`` (recurrent).
        threads: Of the server's arithmetic. Left out, one for ``quick`` and ``wordy`` (whose steps are so short that a
            second thread mostly waits for the first) and the server's own choice for ``paying``.
        ctx: Context of all slots together, in tokens.
        cache_type_k: Type that keys are stored in, ``cache_type_v`` values, by the server's names (``q8_0``); None
            leaves f16. The drafter's are ``draft_cache_type_k`` and ``draft_cache_type_v``.
        kv_unified: All slots share one cache.
        binary: A llama-server to run instead of the lab's own host.
        extra: More flags, put last.
        env: More environment variables.
    """

    types: tuple[str, ...] = ("dflash",)
    n_max: int | None = None
    rates: tuple[float, ...] | None = None
    size: Size = "quick"
    target: Family = "target"
    port: int | None = None
    host: str = "127.0.0.1"
    slots: int = 1
    threads: int | None = None
    ctx: int = 4096
    cache_type_k: str | None = None
    cache_type_v: str | None = None
    draft_cache_type_k: str | None = None
    draft_cache_type_v: str | None = None
    kv_unified: bool = False
    trace: bool = True
    metrics: bool = True
    slots_endpoint: bool = True
    api_key: str | None = None
    draft_backend_sampling: bool = True
    probabilistic: bool = False
    ngram: NgramSizes = NgramSizes()
    sampling: Mapping[str, float] = field(default_factory=dict[str, float])
    model_sampling: Mapping[str, float] = field(default_factory=dict[str, float])
    verbosity: int | None = None
    binary: Path | None = None
    extra: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        for check in (self._check_types, self._check_rates):
            check()

    @property
    def server_types(self) -> tuple[str, ...]:
        """The methods by the server's own names, ``none`` left out."""
        return tuple(name for name in map(_server_type, self.types) if name != "none")

    @property
    def target_model(self) -> ModelSpec:
        """The target."""
        predicting: list[Family] = [family for family in self._families if family in HEADS]
        return ModelSpec(predicting[0] if predicting else self.target, self.size, self.model_sampling)

    @property
    def draft_model(self) -> ModelSpec | None:
        """The drafter, if a method wants one."""
        families: list[Family] = [family for family in self._families if family not in HEADS]
        return ModelSpec(families[0], self.size) if families else None

    @property
    def width(self) -> int:
        """The widest draft the server can make after its clamping; it wants as many rates."""
        return max(self.drafter_width, self.table_width)

    @property
    def drafter_width(self) -> int:
        """The widest draft of a drafter after the server's clamping (``n_max``); 0: none drafts."""
        asked = 3 if self.n_max is None else self.n_max
        return max((min(asked, WIDEST.get(family, asked)) for family in self._families), default=0)

    @property
    def table_width(self) -> int:
        """The widest draft of an n-gram method, which does not follow ``n_max``; 0: none drafts."""
        tables = [name for name in self.server_types if name not in _FAMILIES]
        return max((_NGRAM_CACHE_WIDTH if name == "ngram-cache" else self.ngram.draft for name in tables), default=0)

    @property
    def _families(self) -> list[Family]:
        """The models that draft, one for each method that wants one."""
        families: dict[Family, None] = {}
        for name in self.types:
            family = _VARIANTS[name][1] if name in _VARIANTS else _FAMILIES.get(_server_type(name))
            if family is not None:
                families[family] = None
        return list(families)

    @property
    def rates_in_force(self) -> tuple[float, ...]:
        """One rate for each position up to the width; empty when drafts are verified for real."""
        if self.rates is None:
            return ()
        return (self.rates + (0.0,) * self.width)[: self.width]

    def argv(self, target: Path, drafter: Path | None, port: int) -> list[str]:
        """Returns llama-server's flags for this server, the program's name left out."""
        flags = ["-m", str(target), "--host", self.host, "--port", str(port)]
        flags += ["-c", str(self.ctx), "-np", str(self.slots)]
        threads = 1 if self.threads is None and self.size in ("quick", "wordy") else self.threads
        flags += ["-t", str(threads)] if threads is not None else []
        # The server keeps up to 8 GiB of finished prompts by default, which a test machine does not have to spare.
        flags += ["--cache-ram", "64"]
        flags += self._cache()
        flags += ["--metrics"] if self.metrics else []
        flags += [] if self.slots_endpoint else ["--no-slots"]
        flags += ["--api-key", self.api_key] if self.api_key else []
        flags += ["-lv", str(self.verbosity)] if self.verbosity is not None else []
        for name, value in self.sampling.items():
            flags += [f"--{name.replace('_', '-')}", f"{value:g}"]
        return [*flags, *self._speculation(drafter), *self.extra]

    def _cache(self) -> list[str]:
        types = {
            "--cache-type-k": self.cache_type_k,
            "--cache-type-v": self.cache_type_v,
            "--spec-draft-type-k": self.draft_cache_type_k,
            "--spec-draft-type-v": self.draft_cache_type_v,
        }
        flags = [word for name, kind in types.items() if kind is not None for word in (name, kind)]
        return [*flags, "--kv-unified"] if self.kv_unified else flags

    def _speculation(self, drafter: Path | None) -> list[str]:
        types = self.server_types
        flags = ["-md", str(drafter)] if drafter else []
        flags += ["--spec-type", ",".join(types)] if types else []
        flags += ["--spec-draft-n-max", str(self.n_max)] if self.n_max is not None else []
        flags += [] if self.draft_backend_sampling else ["--no-spec-draft-backend-sampling"]
        flags += ["--spec-draft-sampling", "probabilistic"] if self.probabilistic else []
        flags += ["--spec-synth-rates", ",".join(f"{rate:g}" for rate in self.rates_in_force)] if self.rates else []
        match, draft = str(self.ngram.match), str(self.ngram.draft)
        for name in types:
            if name in {"ngram-simple", "ngram-map-k", "ngram-map-k4v"}:
                flags += [f"--spec-{name}-size-n", match, f"--spec-{name}-size-m", draft]
            elif name == "ngram-mod":
                flags += ["--spec-ngram-mod-n-match", match]
                flags += ["--spec-ngram-mod-n-min", "1", "--spec-ngram-mod-n-max", draft]
        return flags

    def _check_types(self) -> None:
        for name in self.server_types:
            if name not in SPEC_TYPES:
                known = ", ".join((*SPEC_TYPES, *_VARIANTS))
                raise SpecError(f"unknown method {name.removeprefix('draft-')}: choose from {known}")
        if len(self._families) > 1:
            raise SpecError(f"one draft model at a time: {', '.join(self.types)} need two")
        if self.target != "target" and "draft-mtp" in self.server_types:
            raise SpecError(f"draft-mtp needs a target with prediction layers, and {self.target} has none")
        if self.n_max is not None and self.n_max < 0:
            raise SpecError(f"a draft width cannot be negative: {self.n_max}")

    def _check_rates(self) -> None:
        if self.rates is None:
            return
        if not self.width:
            raise SpecError("rates need a method that drafts")
        if not self.rates or not all(0 <= rate <= 1 for rate in self.rates):
            raise SpecError(f"rates are probabilities from 0 to 1: {self.rates}")
        if any(later > earlier for earlier, later in pairwise(self.rates)):
            raise SpecError(f"rates cannot rise from one position to the next: {self.rates}")


def _server_type(name: str) -> str:
    """A method by the server's own name."""
    if name in _VARIANTS:
        return _VARIANTS[name][0]
    return name if name in SPEC_TYPES else f"draft-{name}"
