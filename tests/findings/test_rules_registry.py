"""What holds of all rules, and how their findings are put together."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys

import builders as b
import pytest
from judged import case, look, state

import specscope.findings as package
from specscope.findings.engine import Engine, diagnose
from specscope.findings.registry import RULES, SECTIONS, explanation, rule_by
from specscope.findings.rule import SEVERITIES, Collecting, Rule
from specscope.session.fold import Fold
from specscope.session.provenance.recommend import Advice
from specscope.settings import Profile, Settings

EACH = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)

HEALTHY = [
    b.found(),
    b.server("ready"),
    b.attached("slots", "totals"),
    b.attached("log", "cycles"),
    b.props(build="b11434", model_alias="granite-30b", defaults={"min_p": 0.0}),
    b.process("-m m.gguf -md d.gguf --spec-type draft-dflash --spec-draft-n-max 15 --min-p 0"),
    b.model(n_vocab=49_152, sampling={"min_p": 0.0}, name="granite-30b"),
    b.model("drafter", arch="dflash", block_size=16),
    b.counters(0.0, 0, 0, 0, generated=0),
    b.busy(0.5, speculative=True, params={"speculative.types": "draft-dflash", "min_p": 0.0}),
    *b.of_log([(15, a) for a in (15, 5, 0, 3, 2)] * 40),
    b.logged(generated=1201, drafted=3000, accepted=1000),
    b.tracing(asynchronous=True, burst_s=0.5, burst_every_s=10.0),
    *[
        b.turn(1 + i / 75, 13_000, draft_us=3_400, wait_us=4_700, features_us=1_300, sampling_us=3_300, samples=7)
        for i in range(200)
    ],
    b.copies(4.0, [("target", 3_145_728, 75), ("drafter", 40, 2_400)], turns=75),
    *[b.stalls(5.0 + i, 0.6, 0.35, span_s=0.5) for i in range(3)],
    b.idle(9.1, speculative=True),
    b.counters(9.5, 200, 3000, 1000, generated=1201),
]

ILL = [
    b.found(),
    b.process("-md d.gguf --spec-type draft-dflash --spec-draft-n-max 32 --no-spec-draft-backend-sampling"),
    b.model(name="granite-30b", sampling={"min_p": 0.0}),
    b.model("drafter", block_size=16),
    b.props(defaults={"min_p": 0.05}, model_alias="granite-30b"),
    b.said("synthetic_acceptance"),
]


def diagnosed(*facts: object, settings: Settings | None = None) -> object:
    fold = Fold(Advice(settings.profile if settings is not None else {}))
    for fact in facts:
        fold.apply(fact)
    return diagnose(fold.view())


# --- each rule -------------------------------------------------------------------------------------------------------


def test_codes_and_names_are_unique_and_in_order() -> None:
    codes = [rule.code for rule in RULES]
    assert codes == sorted(set(codes))
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_every_rule_in_the_package_is_registered() -> None:
    modules = [importlib.import_module(m.name) for m in pkgutil.walk_packages(package.__path__, "specscope.findings.")]
    rules = {module.RULE.code for module in modules if isinstance(getattr(module, "RULE", None), Rule)}
    assert rules == {rule.code for rule in RULES}


@EACH
def test_a_rule_is_named_after_its_file_and_numbered_by_its_area(rule: Rule) -> None:
    area, file = rule.look.__module__.split(".")[-2:]
    assert file == rule.name
    hundreds = {"speculation": "1", "sampling": "2", "gpu": "3", "memory": "4", "host": "5", "server": "6"}
    assert re.fullmatch(rf"SPC{hundreds[area]}\d\d", rule.code)
    assert rule.severity in SEVERITIES


@EACH
def test_a_rule_explains_itself_in_four_sections(rule: Rule) -> None:
    text = explanation(rule)
    assert text == (sys.modules[rule.look.__module__].__doc__ or "").strip()
    first, *sections = text.split("\n\n")
    assert "\n" not in first
    assert tuple(s.split(":")[0] for s in sections) == SECTIONS
    assert all(s.rstrip().endswith(".") for s in sections)


@EACH
def test_where_nothing_was_seen_no_rule_says_that_it_looked(rule: Rule) -> None:
    assert state(look(rule)) in ("waits", "does not apply")


@EACH
def test_a_rule_can_be_found_by_its_code_or_name(rule: Rule) -> None:
    assert rule_by(rule.code) is rule_by(rule.code.lower()) is rule_by(f" {rule.name} ") is rule


def test_there_is_no_rule_of_another_name() -> None:
    assert rule_by("SPC999") is None
    assert rule_by("") is None


@EACH
def test_a_rule_finds_nothing_on_a_healthy_server(rule: Rule) -> None:
    healthy = case(*HEALTHY, profile=Profile(sampling={"min_p": 0.0}))
    assert healthy.target.evidence == "exact"
    assert state(rule.look(healthy)) in ("nothing", "waits", "does not apply")


@pytest.mark.parametrize("cut", range(len(HEALTHY)))
def test_a_healthy_server_is_healthy_from_its_first_fact_on(cut: int) -> None:
    assert diagnosed(*HEALTHY[:cut]).findings == ()


def test_a_healthy_server_stays_healthy_while_the_rules_look_along() -> None:
    fold, engine = Fold(), Engine()
    for fact in HEALTHY:
        fold.apply(fact)
        assert engine.look(fold.view()).findings == ()
    assert engine.look(fold.view(), final=True).rules("failed") == ()


# --- all of them -----------------------------------------------------------------------------------------------------


def test_findings_come_most_severe_first_then_by_code() -> None:
    found = [(f.severity, f.code) for f in diagnosed(*ILL).findings]
    assert found == [("critical", "SPC103"), ("warning", "SPC201"), ("info", "SPC102"), ("info", "SPC501")]


def test_every_finding_shows_figures_and_names_what_to_change() -> None:
    findings = diagnosed(*ILL).findings
    assert len({(f.code, f.subject) for f in findings}) == len(findings)
    for finding in findings:
        assert finding.summary
        assert finding.evidence
        assert all(what and seen for what, seen in finding.evidence)
        assert re.search(r"--[a-z]", finding.advice), finding.code
        assert finding.link.startswith("https://")


def test_a_rule_that_waits_is_listed_with_what_it_waits_for() -> None:
    said = diagnosed(b.found(), b.process("-md d.gguf"), b.model(sampling={"min_p": 0.0}))
    waiting = {o.rule.code: (o.target, o.says) for o in said.rules("collecting")}
    assert waiting["SPC101"] == ("t0", "a look at /slots")
    assert waiting["SPC201"] == ("t0", "/props or a request on /slots")
    assert Collecting("x") == Collecting("x")


CONFIGURED = frozenset(f"SPC1{number}" for number in ("01", "02", "03", "06", "07", "08", "09", "10", "12", "13"))
"""The rules about speculation that judge flags, files and the log of the start: they need no cycle."""


@pytest.mark.parametrize("method", ["draft-dflash", "draft-simple", "ngram-mod,draft-dflash", "ngram-mod"])
def test_on_an_idle_server_no_rule_that_needs_cycles_says_it_looked(method: str) -> None:
    facts = [
        b.found(),
        b.server("ready"),
        b.attached("slots", "polled"),
        b.attached("log", "cycles"),
        b.props(build="b11434", endpoint_metrics=True, endpoint_slots=True, defaults={"min_p": 0.05}),
        b.process(f"-m m.gguf -md d.gguf --spec-type {method} --spec-draft-n-max 7", env={}),
        b.model(n_vocab=49_152),
        b.model("drafter", arch="dflash" if "dflash" in method else "granite", block_size=16),
        b.counters(0.0, 0, 0, 0, generated=0),
        b.idle(0.1, task=None, speculative=True, params={"speculative.types": method}),
    ]
    outcomes = diagnosed(*facts).outcomes
    assert len(outcomes) == len(RULES)
    looked = {o.rule.code for o in outcomes if o.state == "nothing" and o.rule.code.startswith("SPC1")}
    assert looked <= CONFIGURED
    waiting = [o for o in outcomes if o.state == "collecting" and o.rule.code.startswith("SPC1")]
    assert len(waiting) > len(looked)
    assert all(o.says for o in outcomes if o.state in ("collecting", "inapplicable"))
    assert not [o for o in outcomes if o.state == "failed"]


def test_the_profile_is_chosen_by_any_name_of_the_model() -> None:
    settings = Settings(profile={"g": Profile(match="granite", sampling={"min_p": 0.0}, source="card")})
    default = {"defaults": {"min_p": 0.05}}
    names = [
        [b.model(name="Granite-30B"), b.props(**default)],
        [b.props(model_alias="granite", **default)],
        [b.props(model_path="/m/granite-q5.gguf", **default)],
    ]
    for facts in names:
        (finding,) = diagnosed(b.found(), *facts, settings=settings).findings
        assert dict(finding.evidence)["recommended"] == "0 (card)"
    assert diagnosed(b.found(), b.props(model_alias="qwen", **default), settings=settings).findings == ()


def test_every_server_is_looked_at() -> None:
    fold = b.fold(*ILL)
    for fact in ILL:
        values = {name: getattr(fact, name) for name in fact.__struct_fields__}
        fold.apply(type(fact)(**values | {"target": "t1"}))
    both = diagnose(fold.view())
    assert {f.subject for f in both.findings} == {"t0", "t1"}
    assert len(both.findings) == 8
    assert {(f.target, f.subject) for f in both.of("t1").findings} == {("t1", "t1")}
    assert {o.target for o in both.of("t1").outcomes} == {"t1"}


def test_without_a_server_there_is_nothing_to_find() -> None:
    nothing = diagnose(Fold().view())
    assert (nothing.findings, nothing.outcomes) == ((), ())
