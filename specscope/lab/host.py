"""A llama-server in a child process: ``python -m specscope.lab.host`` with llama-server's own flags.

It runs the server that the ``xllamacpp`` wheel carries, so whoever reads this process's command line,
environment, log or endpoints finds what llama-server would show. It ends on SIGTERM and SIGINT, and with its
parent.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from specscope.lab.errors import DemoMissingError
from specscope.lab.flags import parse_flags
from specscope.lab.tether import die_with_parent

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

EXIT_GRACE_S = 1
"""How long the server may take to end on request before the process ends without it."""

# Where each flag goes in xllamacpp's CommonParams.
_FIELDS = {
    "model": "model.path",
    "port": "port",
    "api_key": "api_keys",
    "metrics": "endpoint_metrics",
    "props": "endpoint_props",
    "slots": "endpoint_slots",
    "ctx_size": "n_ctx",
    "batch_size": "n_batch",
    "ubatch_size": "n_ubatch",
    "parallel": "n_parallel",
    "cache_ram": "cache_ram_mib",
    "kv_unified": "kv_unified",
    "swa_full": "swa_full",
    "context_shift": "ctx_shift",
    "ctx_checkpoints": "n_ctx_checkpoints",
    "no_repack": "no_extra_bufts",
    "threads": "cpuparams.n_threads",
    "threads_batch": "cpuparams_batch.n_threads",
    "gpu_layers": "n_gpu_layers",
    "verbosity": "verbosity",
    "seed": "sampling.seed",
    "temp": "sampling.temp",
    "top_k": "sampling.top_k",
    "top_p": "sampling.top_p",
    "min_p": "sampling.min_p",
    "backend_sampling": "sampling.backend_sampling",
    "sleep_idle_seconds": "sleep_idle_seconds",
    "spec_draft_model": "speculative.draft.mparams.path",
    "spec_draft_n_max": "speculative.draft.n_max",
    "spec_draft_n_min": "speculative.draft.n_min",
    "spec_draft_p_min": "speculative.draft.p_min",
    "spec_draft_p_split": "speculative.draft.p_split",
    "spec_draft_backend_sampling": "speculative.draft.backend_sampling",
    "spec_synth_rates": "speculative.synth_rates",
    "spec_synth_len": "speculative.synth_len",
    "spec_ngram_mod_n_min": "speculative.ngram_mod.n_min",
    "spec_ngram_mod_n_max": "speculative.ngram_mod.n_max",
    "spec_ngram_mod_n_match": "speculative.ngram_mod.n_match",
}
_FIELDS.update(
    (f"spec_ngram_{kind}_{size}", f"speculative.ngram_{kind}.{size}")
    for kind in ("simple", "map_k", "map_k4v")
    for size in ("size_n", "size_m", "min_hits")
)

# Where each flag goes that names a type of the cache.
_CACHE_TYPES = {
    "cache_type_k": "cache_type_k",
    "cache_type_v": "cache_type_v",
    "spec_draft_type_k": "speculative.draft.cache_type_k",
    "spec_draft_type_v": "speculative.draft.cache_type_v",
}

# Bits of common_params_sampling_config: the sampling parameters set by hand, which outrank the model's own.
_SET_BY_HAND = {"top_k": 1 << 1, "top_p": 1 << 2, "min_p": 1 << 3, "temp": 1 << 6}

_FLASH_ATTENTION = {"on": "LLAMA_FLASH_ATTN_TYPE_ENABLED", "off": "LLAMA_FLASH_ATTN_TYPE_DISABLED"}

_AUTO_SLOTS = 4  # what the server makes of -np -1


def main(argv: Sequence[str]) -> int:
    """Serves until a signal comes.

    Returns:
        0 after a signal, 1 when the server could not start; why is on stderr.
    """
    die_with_parent()
    flags = parse_flags(argv, os.environ)
    try:
        import xllamacpp  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs] - of the demo extra, 50 MB
    except ImportError as error:
        sys.stderr.write(f"error: {DemoMissingError(error.name or 'xllamacpp')}\n")
        return 1
    module: Any = xllamacpp
    if flags.log_file:
        _log_to(module, flags.log_file)
    try:
        server = module.Server(_params(module, flags))
    except (RuntimeError, ValueError, TypeError, OverflowError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    _wait_for_signal()
    del server
    return 0


def _params(module: Any, flags: Namespace) -> Any:  # noqa: ANN401 - xllamacpp has no types
    """Returns CommonParams with every flag that was given."""
    params = module.CommonParams()
    for name, path in _FIELDS.items():
        _set(params, path, getattr(flags, name))
    for name, path in _CACHE_TYPES.items():
        kind = getattr(flags, name)
        _set(params, path, module.ggml_type[f"GGML_TYPE_{kind.upper()}"] if kind else None)
    if flags.flash_attn in _FLASH_ATTENTION:
        params.flash_attn_type = module.llama_flash_attn_type[_FLASH_ATTENTION[flags.flash_attn]]
    if flags.host:
        params.hostnames = [flags.host]
    if flags.alias:
        params.model_alias = {flags.alias}
    if flags.parallel < 0:
        params.n_parallel, params.kv_unified = _AUTO_SLOTS, True
    params.warmup = not flags.no_warmup
    for name, bit in _SET_BY_HAND.items():
        if getattr(flags, name) is not None:
            params.sampling.user_sampling_config |= bit
    params.speculative.draft.probabilistic = flags.spec_draft_sampling == "probabilistic"
    # As in the server, types are added to the initial "none".
    params.speculative.types = [
        *params.speculative.types,
        *(_spec_type(module, name) for name in flags.spec_type),
    ]
    return params


def _set(params: Any, path: str, value: object) -> None:  # noqa: ANN401 - xllamacpp has no types
    """Sets an attribute of an attribute of ``params``, unless the flag was left out."""
    if value is None:
        return
    *owners, attribute = path.split(".")
    for step in owners:
        params = getattr(params, step)
    setattr(params, attribute, value)


def _spec_type(module: Any, name: str) -> object:  # noqa: ANN401 - xllamacpp has no types
    return module.common_speculative_type[f"COMMON_SPECULATIVE_TYPE_{name.upper().replace('-', '_')}"]


def _log_to(module: Any, path: str) -> None:  # noqa: ANN401 - xllamacpp has no types
    """Makes the server log to a file as well. xllamacpp has no parameter for it, but exports the function."""
    library = ctypes.CDLL(module.xllamacpp.__file__)
    library._Z15common_log_mainv.restype = ctypes.c_void_p  # noqa: SLF001 - the mangled C++ name
    log = ctypes.c_void_p(library._Z15common_log_mainv())  # noqa: SLF001 - as above
    library._Z19common_log_set_fileP10common_logPKc(log, os.fsencode(path))  # noqa: SLF001 - as above


def _wait_for_signal() -> None:
    """Returns on SIGTERM or SIGINT, with an alarm set that ends the process if the server does not end."""
    stop = threading.Event()

    def told(_number: int, _frame: object) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, told)
    while not stop.wait(timeout=0.2):
        """A signal that lands on one of the server's threads does not wake this one: look again."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(EXIT_GRACE_S)


if __name__ == "__main__":
    # Until the server is up there is nothing to end in order: the default action ends the process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
