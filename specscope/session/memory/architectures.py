"""What the caches of each architecture look like: a table, read in src/models/*.cpp of llama.cpp b11434.

Every rule is that of ``load_arch_hparams`` of the architecture's file, and of ``create_memory`` in src/llama-model.cpp.
What is not here is unknown. The last column says what a running server has confirmed: see
``tests/integration/test_memory_on_the_server.py``; the other rows are read in the source, not run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

Recurrence: TypeAlias = Literal["all", "no kv heads", "interval", "beside attention", "nemotron"]
"""Which layers are recurrent: all of them, those without KV heads, all but every n-th, every layer beside its
attention, or those with neither KV heads nor a feed-forward part."""
State: TypeAlias = Literal["ssm", "ssm without groups", "rwkv", "short convolution", "kda", "linear attention"]
"""What a recurrent layer keeps: see `states.state_widths`."""
Indexer: TypeAlias = Literal["every", "listed", "optional", "after the dense"]
"""Which layers keep indexer keys: all of the trunk, those a list names, the same if there is an indexer at all, or
those after the leading dense layers."""


@dataclass(frozen=True, slots=True)
class Window:
    """A sliding window.

    Attributes:
        period: layers repeat in groups of so many, of which one attends to everything; 0: all slide. None: the file
            must list the layers.
        dense_first: the group's first layer is the one that attends to everything, not its last.
        tokens: the window where the file names none. None: a file without (or with 0) has no window.
        fixed: the window whatever the file names.
        required: the file must name the window.
        only_layers: the window exists only in a model of so many layers.
    """

    period: int | None = None
    dense_first: bool = False
    tokens: int | None = None
    fixed: int | None = None
    required: bool = False
    only_layers: int | None = None


@dataclass(frozen=True, slots=True)
class Architecture:
    """How an architecture stores what it has read.

    Attributes:
        caches: False for a model that keeps nothing (an encoder, a diffusion model).
        window: the sliding window of some layers.
        recurrence: which layers keep a state of fixed size instead of keys and values.
        interval: of ``interval`` recurrence: every so many layers one attends, where the file does not say.
        mla: keys and values may be stored compressed, as keys only.
        indexer: a sparse attention's keys beside the cache.
        own_kv_layers: only so many layers from the first have a cache, the others use theirs.
        names_shared: the same, but the file says how many are without (``attention.shared_kv_layers``).
        shares_target: it uses the target's cache and has none of its own.
        rolls_back: its states are kept for several tokens when it verifies drafts (``llm_arch_supports_rs_rollback``).
        state: what a recurrent layer keeps.
        proven: compared with a running server.
    """

    caches: bool = True
    window: Window | None = None
    recurrence: Recurrence | None = None
    interval: int | None = None
    mla: bool = False
    indexer: Indexer | None = None
    own_kv_layers: int | None = None
    names_shared: bool = False
    shares_target: bool = False
    rolls_back: bool = False
    state: State = "ssm"
    proven: bool = False


# Keys and values of every layer for every token, and nothing else.
_PLAIN: Final = """
llama llama-embed deci falcon grok gpt2 gptneox mpt baichuan starcoder refact bloom stablelm qwen qwen2 qwen2moe qwen2vl
qwen3 qwen3moe qwen3vl qwen3vlmoe phi2 phi3 phimoe plamo codeshell orion internlm2 minicpm minicpm3 gemma starcoder2
xverse command-r dbrx olmo olmoe openelm arctic deepseek deepseek2-ocr chatglm glm4 glm4moe bitnet jais jais2 nemotron
exaone granite granitemoe chameleon plm bailingmoe bailingmoe2 dots1 arcee ernie4_5 ernie4_5-moe hunyuan-moe
hunyuan-dense hunyuan_vl hy_v3 smollm3 seed_oss grovemoe apertus minimax-m2 cogvlm pangu-embedded mistral3 paddleocr
maincoder talkie hrm_text eagle3
"""
# No cache at all: create_memory() makes none.
_WITHOUT: Final = """
bert modern-bert nomic-bert nomic-bert-moe neo-bert jina-bert-v2 jina-bert-v3 eurobert gemma-embedding dream llada
llada-moe rnd1 wavtokenizer-dec
"""
_LISTED: Final = Window(required=True)
_OPTIONAL: Final = Window(period=4)
_SHORT_CONVOLUTION: Final = Architecture(recurrence="no kv heads", state="short convolution", rolls_back=True)
_KDA: Final = Architecture(recurrence="no kv heads", mla=True, state="kda")
_DELTA_NET: Final = Architecture(recurrence="interval", interval=4)

_SPECIAL: Final[dict[str, Architecture]] = {
    # sliding windows
    "gemma2": Architecture(window=Window(period=2, tokens=4096)),
    "gemma3": Architecture(window=Window(period=6)),
    "gemma3n": Architecture(window=Window(period=5, required=True), own_kv_layers=20),
    "gemma4": Architecture(window=_LISTED, names_shared=True),
    "gemma4-assistant": Architecture(window=_LISTED, shares_target=True),
    "cohere2": Architecture(window=Window(period=4, required=True)),
    "cohere2moe": Architecture(window=Window(period=4, dense_first=True, required=True)),
    "gpt-oss": Architecture(window=Window(period=2, required=True)),
    "llama4": Architecture(window=Window(period=4, tokens=8192, fixed=8192)),
    "exaone4": Architecture(window=Window(period=4, tokens=4096, only_layers=64)),
    "exaone-moe": Architecture(window=Window(period=4, required=True)),
    "afmoe": Architecture(window=_OPTIONAL),
    "mellum": Architecture(window=_OPTIONAL),
    "olmo2": Architecture(window=_OPTIONAL),
    "plamo3": Architecture(window=Window(period=8)),
    "laguna": Architecture(window=Window(period=4, dense_first=True)),
    "smallthinker": Architecture(window=Window(period=4, dense_first=True, fixed=4096)),
    "muse-glimmer": Architecture(window=Window(period=4, required=True)),
    **dict.fromkeys(("mimo2", "step35", "maple", "spark2_5", "granite_swa"), Architecture(window=_LISTED)),
    "dflash": Architecture(window=Window()),
    # keys compressed together with the values
    **dict.fromkeys(("deepseek2", "mistral4"), Architecture(mla=True)),
    "deepseek32": Architecture(mla=True, indexer="every"),
    "glm-dsa": Architecture(mla=True, indexer="listed"),
    "hy_v4": Architecture(mla=True, indexer="optional"),
    "minimax-m3": Architecture(indexer="after the dense"),
    # recurrent
    "mamba": Architecture(recurrence="all", state="ssm without groups"),
    "mamba2": Architecture(recurrence="all"),
    **dict.fromkeys(("rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"), Architecture(recurrence="all", state="rwkv")),
    # both
    "jamba": Architecture(recurrence="no kv heads", state="ssm without groups"),
    "granitehybrid": Architecture(recurrence="no kv heads"),
    "plamo2": Architecture(recurrence="no kv heads"),
    "lfm2": replace(_SHORT_CONVOLUTION, window=Window(period=0)),
    "lfm2moe": _SHORT_CONVOLUTION,
    "kimi-linear": _KDA,
    **dict.fromkeys(("kimi-k3", "bailingmoe3"), replace(_KDA, rolls_back=True)),
    "falcon-h1": Architecture(recurrence="beside attention"),
    **dict.fromkeys(("nemotron_h", "nemotron_h_moe"), Architecture(recurrence="nemotron", rolls_back=True)),
    "qwen3next": _DELTA_NET,
    **dict.fromkeys(("qwen35", "qwen35moe"), replace(_DELTA_NET, rolls_back=True)),
    "minimax-01": Architecture(recurrence="interval", interval=8, state="linear attention"),
}

_PROVEN: Final = """
llama qwen2 qwen3 qwen3moe gemma mistral3 phi3 granite glm4moe minimax-m2 bailingmoe2 gemma2 gemma3 gemma3n gemma4
gemma4-assistant cohere2 gpt-oss llama4 exaone-moe afmoe olmo2 plamo3 smallthinker mimo2 step35 granite_swa deepseek2
deepseek32 minimax-m3 mamba mamba2 rwkv6 rwkv7 arwkv7 jamba granitehybrid falcon-h1 lfm2 nemotron_h qwen3next qwen35
qwen35moe kimi-linear minimax-01 dflash eagle3
"""
PROVEN: Final = frozenset(_PROVEN.split())
"""Architectures whose layout a running server has confirmed, to the MiB with two decimals as it prints them."""


def _table() -> dict[str, Architecture]:
    plain = dict.fromkeys(_PLAIN.split(), Architecture())
    without = dict.fromkeys(_WITHOUT.split(), Architecture(caches=False))
    every = plain | without | _SPECIAL
    return every | {name: replace(every[name], proven=True) for name in PROVEN}


ARCHITECTURES: Final = _table()
"""The rule of each architecture, by the name in its files."""
