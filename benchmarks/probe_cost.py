"""What one probe costs the function it sits on: ``python benchmarks/probe_cost.py`` as root, with bpftrace and gcc.

A function of a shared library is called in a loop, alone and under each kind of probe that the trace uses, in turn.
Prints nanoseconds per call beyond the bare call; the slowdown of a server follows from how often its functions are
called in a cycle (specscope/sources/probes/functions.py). Figures: ``results/probe_cost.md``.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
from pathlib import Path

LIBRARY = """
#include <stdint.h>
volatile uint64_t sink;
__attribute__((noinline)) int probed(void *a, int b, uint16_t c, uint64_t d, uint64_t e) { sink += b; return c; }
"""
PROGRAM = """
#include <stdint.h>
#include <stdio.h>
#include <time.h>
int probed(void *, int, uint16_t, uint64_t, uint64_t);
int main(void) {
    for (int n; scanf("%d", &n) == 1;) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (int i = 0; i < n; i++) probed(0, i, 5, 7, 9);
        clock_gettime(CLOCK_MONOTONIC, &b);
        printf("%.1f\\n", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / n);
        fflush(stdout);
    }
}
"""
KINDS = {
    "entry, a map written": "uprobe:{0} /pid == {1}/ {{ @t = nsecs; }}",
    "entry and return, sampling": (
        "uprobe:{0} /pid == {1}/ {{ @q = nsecs; }} "
        "uretprobe:{0} /pid == {1} && @q != 0/ {{ @s += nsecs - @q; @n += 1; @q = (uint64)0; }}"
    ),
    "entry, a line printed": 'uprobe:{0} /pid == {1}/ {{ printf("A %llu %d %d\\n", nsecs, arg1, arg2 & 0xffff); }}',
    "another process's, filtered out": "uprobe:{0} /pid == 1/ {{ @t = nsecs; }}",
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=100_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        library, source = Path(folder) / "libprobed.so", Path(folder) / "loop.c"
        (Path(folder) / "probed.c").write_text(LIBRARY)
        source.write_text(PROGRAM)
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, Path(folder) / "probed.c"], check=True)
        loop = Path(folder) / "loop"
        subprocess.run(
            ["gcc", "-O2", "-o", loop, source, f"-L{folder}", "-lprobed", f"-Wl,-rpath,{folder}"], check=True
        )
        process = subprocess.Popen([loop], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None
        assert process.stdout is not None

        def nanoseconds(calls: int) -> float:
            process.stdin.write(f"{calls}\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            return float(process.stdout.readline())  # type: ignore[union-attr]

        bare = statistics.median(nanoseconds(args.calls) for _ in range(5))
        print(f"bare call {bare:.1f} ns\n\n| probe | ns per call, median of {args.rounds} | all |\n|---|---|---|")
        for name, text in KINDS.items():
            program = text.format(f"{library}:probed", process.pid)
            calls = 3000 if "printed" in name else args.calls
            tracer = subprocess.Popen(
                ["bpftrace", "-B", "line", "-e", 'BEGIN { printf("ready\\n"); } ' + program],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            assert tracer.stdout is not None
            for line in tracer.stdout:
                if line.startswith("ready"):
                    break
            values = [nanoseconds(calls) - bare for _ in range(args.rounds)]
            tracer.kill()
            tracer.wait()
            print(f"| {name} | {statistics.median(values):.0f} | {' '.join(f'{v:.0f}' for v in values)} |", flush=True)
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    main()
