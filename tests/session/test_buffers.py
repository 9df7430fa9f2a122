"""The buffers a log told, added up: what is kept, what is replaced, and what a new load makes void."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import builders as b

from specscope.events import BufferLogged
from specscope.session.memory.buffers import BufferBook, buffers_of
from specscope.session.memory.state import is_host
from specscope.sources.log_lines import LineParser

if TYPE_CHECKING:
    from specscope.session.memory.state import BufferKind, Buffers, Role

MIB = 1 << 20
LOGS = Path(__file__).parent.parent / "fixtures" / "memory"


def buffer(kind: BufferKind, mib: float, device: str = "CUDA0", model: Role | None = "target") -> BufferLogged:
    return BufferLogged(at=b.T0, device=device, kind=kind, bytes=round(mib * MIB), model=model)


def of_log(name: str) -> Buffers:
    parser = LineParser()
    lines = (LOGS / f"{name}.log").read_bytes().split(b"\n")
    return buffers_of(f for line in lines for f in parser.parse(line, b.T0) if isinstance(f, BufferLogged))


def mib(n_bytes: int | None) -> float | None:
    return None if n_bytes is None else round(n_bytes / MIB, 2)


def test_a_server_on_an_h200() -> None:
    seen = of_log("h200_dflash")
    assert [(row.model, row.device, row.kind, mib(row.bytes)) for row in seen.rows[:6]] == [
        ("target", "CUDA0", "KV", 5120.0),
        ("target", "CUDA0", "model", 3853.02),
        ("drafter", "CUDA0", "KV", 800.0),
        ("drafter", "CUDA0", "model", 630.19),
        ("drafter", "CUDA0", "compute", 208.19),  # the last reservation of each context
        ("target", "CUDA0", "compute", 188.01),
    ]
    assert mib(seen.bytes_of(host=False)) == 10_799.41
    assert mib(seen.bytes_of("model", host=True)) == 108.0
    assert mib(seen.bytes_of("compute", model="target", device="CUDA_Host")) == 72.02
    assert mib(seen.bytes_of("KV", "RS", model="drafter")) == 800.0
    assert seen.bytes_of("RS") is None
    assert seen.unplaced == 0


def test_several_buffers_of_one_kind_add_up_and_compute_buffers_replace_each_other() -> None:
    seen = buffers_of(
        [
            *(buffer("model", 10), buffer("model", 20), buffer("KV", 4), buffer("KV", 3), buffer("RS", 1)),
            *(buffer("compute", 100), buffer("compute", 7, "CPU"), buffer("compute", 90)),
        ]
    )
    assert {(row.device, row.kind): mib(row.bytes) for row in seen.rows} == {
        ("CUDA0", "model"): 30.0,
        ("CUDA0", "KV"): 7.0,
        ("CUDA0", "RS"): 1.0,
        ("CUDA0", "compute"): 90.0,
        ("CPU", "compute"): 7.0,
    }


def test_models_that_are_loaded_again_make_what_was_before_void() -> None:
    book = BufferBook()
    first = [
        buffer("model", 10),
        buffer("KV", 4),
        buffer("model", 2, model="drafter"),
        buffer("KV", 1, model="drafter"),
    ]
    for fact in [*first, buffer("model", 10), buffer("model", 5, "CPU_Mapped")]:
        book.logged(fact)
    assert [(row.model, row.device, row.kind) for row in book.view().rows] == [
        ("target", "CUDA0", "model"),
        ("target", "CPU_Mapped", "model"),
    ]
    for fact in first[1:]:
        book.logged(fact)
    assert mib(book.view().bytes_of()) == 22.0


def test_a_drafter_that_is_loaded_again_leaves_the_target() -> None:
    drafter = [buffer("model", 2, model="drafter"), buffer("KV", 1, model="drafter")]
    seen = buffers_of([buffer("model", 10), buffer("KV", 4), *drafter, *drafter])
    assert mib(seen.bytes_of(model="drafter")) == 3.0
    assert mib(seen.bytes_of(model="target")) == 14.0


def test_a_reservation_of_nobody_is_counted_and_not_added() -> None:
    seen = buffers_of([buffer("model", 10), buffer("compute", 5), buffer("compute", 6, model=None)])
    assert (mib(seen.bytes_of()), seen.unplaced) == (15.0, 1)
    alone = buffers_of([buffer("compute", 6, model=None), buffer("compute", 7, model=None)])
    assert (mib(alone.bytes_of()), alone.unplaced) == (7.0, 0)


def test_a_reset_forgets_all_and_a_view_stays_the_same_until_then() -> None:
    book = BufferBook()
    assert book.view() is book.view()
    assert book.view().bytes_of() is None
    book.logged(buffer("model", 10))
    before = book.view()
    assert before is book.view()
    book.reset()
    assert (book.view().rows, mib(before.bytes_of())) == ((), 10.0)


def test_names_of_host_memory() -> None:
    host = ("CPU", "CPU_Mapped", "CPU_REPACK", "CUDA_Host", "Vulkan_Host", "BLAS", "AMX")
    devices = ("CUDA0", "CUDA0_Split", "Vulkan1", "ROCm0", "MTL0", "RPC0[10.0.0.2:50052]", "SYCL0")
    assert all(map(is_host, host))
    assert not any(map(is_host, devices))
