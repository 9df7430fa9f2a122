"""What py-spy prints, as frames."""

from __future__ import annotations

import pytest

from specscope.sources.stack_lines import MAX_FRAMES, Stack, StackCount, read_errors, read_stack, short_path

DEEP = "thread (71): logits;run (threading.py:982);beside (serve.py:9);pick_token (app/sampler.py:5) 12"


def test_the_innermost_frame_of_a_stack() -> None:
    assert read_stack(DEEP) == Stack("71", "logits", "pick_token", "app/sampler.py", 5, 12)


@pytest.mark.parametrize(
    ("text", "thread", "function", "file"),
    [
        ("thread (71);<module> (<frozen runpy>:88) 1", "thread 71", "<module>", "<frozen runpy>"),
        ("thread (0x7F00): a;f (b.py:1) 1", "a", "f", "b.py"),
        ("thread (1): pool (a: b);x;f (b.py:1) 1", "pool (a: b)", "f", "b.py"),
        ("thread (1): a;cython_sort (fast.pyx) 3", "a", "cython_sort", "fast.pyx"),
        ("thread (1): a;odd 3", "a", "odd", ""),
    ],
)
def test_unusual_stacks(text: str, thread: str, function: str, file: str) -> None:
    stack = read_stack(text)
    assert stack is not None
    assert (stack.thread, stack.function, stack.file) == (thread, function, file)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "py-spy> Sampling process 20 times a second for 5 seconds. Press Control-C to exit.",
        "Error: nothing (a:1) 5",
    ],
)
def test_other_lines_are_no_stacks(text: str) -> None:
    assert read_stack(text) is None
    assert read_errors(text) is None


def test_the_last_line_tells_the_errors() -> None:
    assert read_errors("py-spy> Wrote raw flamegraph data to '/dev/stdout'. Samples: 39 Errors: 2") == 2


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("/home/alice/serve.py", "serve.py"),
        ("/root/serve.py", "serve.py"),
        ("/Users/bob/app/serve.py", "app/serve.py"),
        ("/opt/venv/lib/numpy/_core/fromnumeric.py", "_core/fromnumeric.py"),
        ("threading.py", "threading.py"),
    ],
)
def test_no_home_folder_is_named(path: str, short: str) -> None:
    assert short_path(path) == short


def test_the_lines_of_a_function_are_one_row() -> None:
    count = StackCount()
    for line, samples in ((4, 3), (5, 9), (6, 2)):
        count.add(Stack("1", "logits", "pick", "s.py", line, samples))
    count.add(Stack("2", "logits", "pick", "s.py", 4, 1))
    count.add(Stack("1", "logits", "rest", "s.py", 20, 4))
    assert count.rows() == [
        ("pick (s.py:5)", "logits", 14),
        ("rest (s.py:20)", "logits", 4),
        ("pick (s.py:4)", "logits", 1),
    ]
    assert count.busiest == 18


def test_rows_are_bounded() -> None:
    count = StackCount()
    for n in range(2 * MAX_FRAMES):
        count.add(Stack("1", "t", f"f{n}", "s.py", 1, n + 1))
    rows = count.rows()
    assert len(rows) == MAX_FRAMES
    assert rows[0] == (f"f{2 * MAX_FRAMES - 1} (s.py:1)", "t", 2 * MAX_FRAMES)
    assert StackCount().busiest == 0
