"""The provenance of one server's settings as part of its frozen view."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from specscope.session.calm import Calm
from specscope.session.provenance.builds import build_number
from specscope.session.provenance.effective import LOG_CODES
from specscope.session.provenance.known import KNOWN
from specscope.session.provenance.recommend import Advice, advised, recommendations
from specscope.session.provenance.seen import Seen
from specscope.session.provenance.settings import settings_of
from specscope.session.provenance.state import Provenance

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from specscope.events import Json
    from specscope.session.provenance.state import RequestDrift
    from specscope.session.request_state import RequestRow
    from specscope.session.state import Config
    from specscope.session.target_fold import TargetFold


@dataclass(eq=False)
class ProvenanceDeriver:
    """Makes the view; settings are worked out anew only when something that tells of them has changed.

    Where that is the latest request alone, only what it asks for otherwise than the one before: with a seed of its
    own in each, all 90 settings took 8 ms every second.
    """

    advice: Advice = field(default_factory=Advice)
    _key: tuple[object, ...] = ()
    _asked: dict[str, Json] = field(default_factory=dict[str, "Json"])
    _made: Provenance = field(default_factory=Provenance)
    _calm: Calm[Provenance] = field(default_factory=Calm["Provenance"])
    _drift_key: tuple[object, ...] = ()
    _drift: RequestDrift | None = None

    def view(
        self, fold: TargetFold, config: Config, rows: tuple[RequestRow, ...], calm_at: float | None = None
    ) -> Provenance:
        """What is known now; ``calm_at``: see Calm.made."""
        return self._calm.made(lambda: self._view(fold, config, rows), (fold.epoch, fold.props), calm_at)

    def _view(self, fold: TargetFold, config: Config, rows: tuple[RequestRow, ...]) -> Provenance:
        slots = fold.epoch.slots
        contexts = tuple((t.n_ctx, t.speculative) for t in slots.slots.values())
        said = tuple([fold.epoch.said.get(code) for code in LOG_CODES])
        models = tuple(fold.models.values())
        key = (fold.props, fold.process, models, contexts, config.types, config.types_from, said)
        before, asked = self._asked, slots.last_params or {}
        if key != self._key:
            self._made = self._settings(fold, config, None)
        elif asked is not before:
            names = {name for name in before.keys() | asked.keys() if before.get(name) != asked.get(name)}
            self._made = self._settings(fold, config, names) if names else self._made
        self._key, self._asked = key, asked
        drift = self._requests(fold, rows)
        if drift is not self._made.requests:
            self._made = replace(self._made, requests=drift, asked_by=fold.epoch.asked.latest)
        return self._made

    def _settings(self, fold: TargetFold, config: Config, names: AbstractSet[str] | None) -> Provenance:
        """The view with the settings of these names, or all of them, made anew."""
        slots, target = fold.epoch.slots, fold.models.get("target")
        seen = Seen(
            config=config,
            props=fold.props,
            process=fold.process,
            flags=fold.flags,
            models=fold.models,
            said=fold.epoch.said,
            asked=slots.last_params,
            slot_ctx=next((t.n_ctx for t in slots.slots.values() if t.n_ctx), None),
            slots=len(slots.slots) or None,
            build=build_number(fold.props, fold.epoch.said),
        )
        found = recommendations(target, fold.props, self.advice)
        made = {setting.name: advised(setting, found) for setting in settings_of(seen, names)}
        if names is not None:
            made |= {setting.name: setting for setting in self._made.settings if setting.name not in names}
        settings = tuple(made[known.name] for known in KNOWN if known.name in made)
        advisers = dict.fromkeys(s.recommended.who for s in settings if s.recommended is not None)
        claimed = [(setting, setting.claimed("environment")) for setting in settings]
        return Provenance(
            settings=settings,
            build=seen.build,
            adviser=" and ".join(advisers),
            unread=tuple(setting for setting, claim in claimed if claim is not None and claim.unread),
        )

    def _requests(self, fold: TargetFold, rows: tuple[RequestRow, ...]) -> RequestDrift:
        book = fold.epoch.asked
        key = (book.version, tuple(id(row) for row in rows if row.ended_at is not None))
        if self._drift is None or key != self._drift_key:
            self._drift_key, self._drift = key, book.view(rows)
        return self._drift
