"""Findings as plain text, and as Markdown to paste into an issue."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from specscope import __version__
from specscope.findings.diagnosis import sum_words
from specscope.reports.text import UNKNOWN, printable
from specscope.session.tiers import evidence_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specscope.findings.diagnosis import Diagnosis, Outcome
    from specscope.findings.rule import Finding, Rule
    from specscope.session.state import Session, Target


def findings_text(diagnosis: Diagnosis, *, brief: bool = False) -> str:
    """All findings, each with its evidence and advice; then the rules that could not judge, and all in numbers.

    ``brief``: of the rules that wait or do not apply the numbers alone.
    """
    lines = [line for finding in diagnosis.findings for line in _finding(finding)] or ["no findings"]
    lines += [] if brief else _unjudged(diagnosis)
    lines += [f"FAILED: {o.rule.code} {o.rule.name}: {o.says}" for o in diagnosis.rules("failed")]
    if diagnosis.outcomes:
        lines.append(sum_words(diagnosis) + ("; specscope check says for what, and why" if brief else ""))
    return "\n".join(printable(line) for line in lines)


def _unjudged(diagnosis: Diagnosis) -> list[str]:
    """What waits, and what does not apply."""
    lines = [_waits(needs, rules) for needs, rules in _alike(diagnosis.rules("collecting"))]
    apart = [f"{why} ({_codes(rules)})" for why, rules in _alike(diagnosis.rules("inapplicable"))]
    return [*lines, *([f"does not apply: {'; '.join(apart)}"] if apart else [])]


def _alike(outcomes: Iterable[Outcome]) -> list[tuple[str, list[Rule]]]:
    """What several rules say alike, once, with the rules that say it."""
    said: dict[str, list[Rule]] = {}
    for outcome in outcomes:
        said.setdefault(outcome.says, []).append(outcome.rule)
    return list(said.items())


def _waits(needs: str, rules: list[Rule]) -> str:
    names = ", ".join(f"{rule.code} {rule.name}" for rule in rules)
    return f"waits: {names} need{'s' if len(rules) == 1 else ''} {needs}"


def _codes(rules: list[Rule]) -> str:
    return ", ".join(rule.code for rule in rules)


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
    lines += ["", f"{sum_words(diagnosis)}."] if diagnosis.outcomes else []
    lines += _folded("rules that could not judge", waiting)
    apart = [f"{why}: {_codes(rules)}" for why, rules in _alike(diagnosis.rules("inapplicable"))]
    lines += _folded("rules that do not apply here", apart)
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
