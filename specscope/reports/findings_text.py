"""Findings as plain text, and as Markdown to paste into an issue."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from specscope import __version__
from specscope.reports.text import UNKNOWN, printable
from specscope.session.tiers import evidence_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specscope.findings.diagnosis import Diagnosis
    from specscope.findings.rule import Finding
    from specscope.session.state import Session, Target


def findings_text(diagnosis: Diagnosis) -> str:
    """All findings, each with its evidence and advice; then the rules that wait or broke, and how many looked."""
    lines = [line for finding in diagnosis.findings for line in _finding(finding)] or ["no findings"]
    lines += [f"collecting: {o.rule.code} {o.rule.name} needs {o.says}" for o in diagnosis.rules("collecting")]
    lines += [f"FAILED: {o.rule.code} {o.rule.name}: {o.says}" for o in diagnosis.rules("failed")]
    if diagnosis.outcomes:
        lines.append(f"{len(diagnosis.outcomes)} rules looked, {len(diagnosis.rules('nothing'))} found nothing")
    return "\n".join(printable(line) for line in lines)


def _finding(f: Finding) -> list[str]:
    about = "" if f.subject == f.target else f" ({f.subject})"
    return [
        f"{f.severity.upper()} {f.code} {f.name}{about}: {f.summary}",
        *([f"    costs {f.cost_words}"] if f.cost_words else []),
        *(f"    {what}: {seen}" for what, seen in f.evidence),
        f"    to do: {f.advice}",
    ]


def findings_markdown(session: Session, diagnosis: Diagnosis) -> str:
    """The findings as Markdown, with what is needed to read them elsewhere: builds, models, speed, devices."""
    lines = ["### specscope check", ""]
    lines += [line for target in session.targets for line in _server(target)]
    lines += [f"- GPU {gpu.index}: {gpu.found.name}" for gpu in session.machine.gpus]
    lines.append(f"- specscope {__version__}")
    for f in diagnosis.findings:
        about = "" if f.subject == f.target else f", {f.subject}"
        lines += ["", f"**{f.code} {f.name}** ({f.severity}{about}): {f.summary}", ""]
        lines += [f"- costs {f.cost_words}"] if f.cost_words else []
        lines += [f"- {what}: {_code(seen)}" for what, seen in f.evidence]
        lines += [f"- to do: {f.advice}", *([f"- {f.link}"] if f.link else [])]
    if not diagnosis.findings:
        lines += ["", "No findings."]
    waiting = [f"`{o.rule.name}` needs {o.says}" for o in diagnosis.rules("collecting")]
    waiting += [f"`{o.rule.name}` FAILED: {_code(o.says)}" for o in diagnosis.rules("failed")]
    lines += _folded("rules that could not judge", waiting)
    return "\n".join(printable(line) for line in lines)


def _server(target: Target) -> Iterable[str]:
    build = target.props.build if target.props else None
    yield f"- server: {target.kind} {build or 'build unknown'}, {target.server}, evidence {evidence_words(target)}"
    files = {role: model.path.rsplit("/", 1)[-1] for role, model in target.models.items()}
    if files:
        yield "- model: " + ", ".join(f"{role} {_code(name)}" for role, name in files.items())
    config, rates = target.config, target.rates
    if config.types is not None:
        width = f", n_max {config.n_max_effective}" if config.n_max_effective is not None else ""
        yield f"- speculation: {', '.join(config.types) or 'none'}{width}"
    if rates.tok_s is not None:
        tau, cycle = (UNKNOWN if v is None else f"{v:.{d}f}" for v, d in ((rates.tau, 2), (rates.cycle_ms, 1)))
        yield f"- {rates.tok_s:.1f} tok/s, tau {tau}, median {cycle} ms a cycle"


def _code(text: str) -> str:
    """Text that Markdown leaves as it is."""
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (1 + max(len(run) for run in re.findall("`+", text)))
    return f"{fence} {text} {fence}"


def _folded(title: str, items: list[str]) -> list[str]:
    if not items:
        return []
    return ["", f"<details><summary>{title}</summary>", "", *(f"- {item}" for item in items), "", "</details>"]
