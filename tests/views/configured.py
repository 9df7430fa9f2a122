"""Facts of servers whose settings come from many places, for the Config screen."""

from __future__ import annotations

import facts
from feeds import StillFeed

from specscope import events as ev
from specscope.catalogue import load_cards
from specscope.session.fold import Fold
from specscope.session.provenance.recommend import Advice
from specscope.settings import Profile

T0 = facts.T0
DEFAULTS = {
    "seed": 4_294_967_295,
    "temperature": 1.0,
    "dynatemp_range": 0.0,
    "dynatemp_exponent": 1.0,
    "top_k": 50,
    "top_p": 0.949999988079071,
    "min_p": 0.05000000074505806,
    "top_n_sigma": -1.0,
    "xtc_probability": 0.0,
    "xtc_threshold": 0.10000000149011612,
    "typical_p": 1.0,
    "repeat_last_n": 64,
    "repeat_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "dry_multiplier": 0.0,
    "dry_base": 1.75,
    "dry_allowed_length": 2,
    "dry_penalty_last_n": 64,
    "mirostat": 0,
    "mirostat_tau": 5.0,
    "mirostat_eta": 0.10000000149011612,
    "adaptive_target": -1.0,
    "adaptive_decay": 0.8999999761581421,
    "n_predict": -1,
    "max_tokens": -1,
    "ignore_eos": False,
    "min_keep": 0,
    "n_probs": 0,
    "stream": True,
    "chat_format": "peg-native",
    "samplers": ["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"],
    "speculative.types": "draft-dflash",
    "backend_sampling": False,
}
LINE = (
    "llama-server -m /models/gemma-4-31B-it-Q5_K_M.gguf -md /models/gemma-4-dflash.gguf --spec-type draft-dflash "
    "--spec-draft-n-max 20 -c 262144 -np 1 -ngl 99 -fa on -ctk q8_0 -ctv q8_0 --metrics"
)
ENV = {"LLAMA_ARG_TOP_K": "50", "LLAMA_ARG_CACHE_REUSE": "256"}
ADVICE = Advice({}, load_cards())
PROFILE = Advice({"house": Profile(match="gemma", sampling={"min_p": 0.0, "temperature": 1.0}, source="our sweep")})


def started(line: str = LINE, env: dict[str, str] | None = None) -> list[ev.Event]:
    """A server that was started with this line, and what it says of itself."""
    return [
        *facts.found()[:3],
        ev.PropsRead(
            at=T0,
            build="b11434-1a2b3c4",
            model_alias="gemma-4-31B",
            model_path="/models/gemma-4-31B-it-Q5_K_M.gguf",
            n_ctx=262_144,
            total_slots=1,
            defaults=DEFAULTS,
            endpoint_metrics=True,
            endpoint_slots=True,
        ),
        ev.ProcessSeen(at=T0, pid=4242, argv=line.split(), env=ENV if env is None else env),
        ev.ModelRead(
            at=T0,
            role="target",
            path="/models/gemma-4-31B-it-Q5_K_M.gguf",
            name="Gemma 4 31B It",
            arch="gemma4",
            sampling={"top_k": 64, "temp": 1.0, "top_p": 0.949999988079071},
            n_ctx_train=262_144,
        ),
        ev.ModelRead(at=T0, role="drafter", path="/models/gemma-4-dflash.gguf", arch="dflash", block_size=16),
        ev.SlotChanged(at=T0, slot=0, n_ctx=262_144, speculative=True, busy=False),
        *facts.sources(),
    ]


def request(task: int, at: float, rate: int, **params: object) -> list[ev.Event]:
    """A request of 20 cycles 15 wide, of which ``rate`` draft tokens are accepted each time."""
    begin = ev.SlotChanged(
        at=T0 + at, slot=0, n_ctx=262_144, speculative=True, busy=True, task=task, decoded=0, params=DEFAULTS | params
    )
    lines = [ev.CycleLogged(at=T0 + at + 0.1 + i / 20, slot=0, task=task, drafted=15, accepted=rate) for i in range(20)]
    total = ev.RequestLogged(
        at=T0 + at + 1.2, slot=0, task=task, generated=1 + 20 * (rate + 1), generated_ms=1000.0, prompt_tokens=40
    )
    return [begin, *lines, total, ev.SlotChanged(at=T0 + at + 1.3, slot=0, busy=False, task=task, decoded=0)]


def drifting() -> list[ev.Event]:
    """Three clients that sample differently."""
    raw = {"chat_format": "Content-only", "stream": False}
    return [
        *started(),
        *request(101, 1, 6, top_k=64, min_p=0.0),
        *request(117, 3, 6, top_k=64, min_p=0.0),
        *request(139, 5, 4),
        *request(160, 7, 6, top_k=64, min_p=0.0),
        *request(184, 9, 2, temperature=1.5, top_k=30, n_predict=200, seed=7, **raw),
    ]


def alike() -> list[ev.Event]:
    """Requests that leave everything to the server."""
    return [*started(), *request(101, 1, 6), *request(117, 3, 6)]


def hidden() -> list[ev.Event]:
    """A server on another machine: neither its process nor its files can be read."""
    return [fact for fact in alike() if not isinstance(fact, (ev.ProcessSeen, ev.ModelRead))]


class AdvisedFeed(StillFeed):
    """A feed whose fold knows who recommends what."""

    def __init__(self, told: list[ev.Event], advice: Advice = ADVICE) -> None:
        super().__init__([])
        self.fold = Fold(advice)
        self.tell(told)


def many_ways() -> AdvisedFeed:
    """What the pictures show."""
    return AdvisedFeed(drifting())
