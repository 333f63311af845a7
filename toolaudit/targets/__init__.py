"""Targets: who would receive a transcript, and the law each one lays down. A target is one data file, found by its name.

The law answers two questions. *How does it read?* (`joins`, `answers`, `container`: what the pairing follows.) *What does it do with
a fault?* (`line`: the verdict, the error text a user would see, and the evidence for both.) A vendor whose API has the shape of another's
extends that law: what its file does not speak of is as there.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from toolaudit import folders
from toolaudit.errors import UsageError
from toolaudit.model import Severity, Trajectory, Verdict


class Line(Struct, kw_only=True, frozen=True):
    """What a target does with one fault."""

    rule: str
    case: str = ""
    """The case of the rule this line is for; empty for all the others."""
    verdict: Verdict
    evidence: str
    """`DOC`, `SDK`, `PROBE`, `ISSUE`, `CODE` or `INF`, with what it points at."""
    severity: Literal["error", "warning", "note"] | None = None
    """Set where the verdict alone does not say it: rejected is an error, degraded a warning, accepted a note."""
    error: str | None = None
    """The text a user would see. Quoted for recognition, never matched: providers reword them."""
    vendor: bool = False
    """Holds only when it is known that this vendor receives the transcript, not merely that it has this shape."""


class Ids(Struct, kw_only=True, frozen=True):
    """What a call id must look like."""

    pattern: str = ""
    minimum: int = 0
    maximum: int = 0


class Law(Struct, kw_only=True, frozen=True):
    """The law of one target."""

    name: str
    title: str
    about: str
    extends: str = ""
    """The target that this one is like, but for what its own file says; empty for a law that stands alone."""
    joins: bool
    """Neighbouring messages of one role are read as one turn."""
    answers: Literal["next-turn", "run", "anywhere"]
    """Where a result must stand: at the start of the next turn, in the unbroken run after its call, or anywhere after it."""
    container: Literal["one-message", "any"]
    """Whether all results of a batch belong in one message."""
    closes: bool
    """A message that answers part of a batch closes it: what is still open then is missing."""
    counts: bool = False
    """Of the results of a turn only the number is looked at, not the ids."""
    models: str
    """Pattern of the model names of this vendor; empty for a target that is no vendor."""
    prefixes: tuple[str, ...] = ()
    """How the names of the models begin that only this vendor serves under such a name."""
    hosts: str = ""
    """Pattern of the addresses of this vendor."""
    ids: Ids = Ids()
    line: list[Line] = field(default_factory=list)

    def lookup(self, rule: str, case: str = "") -> Line | None:
        """The line for a case of a rule, else the line for the rule, else None."""
        lines = _index(self.name)
        return lines.get((rule, case)) or lines.get((rule, ""))

    def forbids(self, rule: str) -> bool:
        """Whether what a rule is about is refused, or takes effect."""
        line = self.lookup(rule)
        return line is not None and line.verdict in ("rejected", "degraded")

    def is_vendor_of(self, trajectory: Trajectory) -> bool:
        """Whether fields of the transcript (a model name, an address) show that this vendor receives it."""
        if trajectory.vendor is not None:
            return trajectory.vendor == self.name
        return bool(self.models and trajectory.model and re.search(self.models, trajectory.model, re.IGNORECASE))


@functools.lru_cache(maxsize=64)
def vendor_of(address: str) -> str | None:
    """The name of the target that an address belongs to; None where it proves none."""
    laws = (law(name) for name in names())
    return next((one.name for one in laws if one.hosts and re.search(one.hosts, address)), None)


class _Names(Struct, frozen=True):
    """Of a law, by what it is known."""

    extends: str = ""
    prefixes: tuple[str, ...] = ()


@functools.lru_cache(maxsize=256)
def vendor_of_model(model: str) -> str | None:
    """The name of the target that a model belongs to, of those whose API has the shape of another's. A name with a route in it
    (`deepseek/deepseek-chat`, `qwen3:8b`) is that of a router's, or of a server's: who receives it is not said.
    """
    if "/" in model or ":" in model:
        return None
    begin = model.casefold()
    return next((name for name, prefixes in _prefixes() if begin.startswith(prefixes)), None)


@functools.cache
def _prefixes() -> list[tuple[str, tuple[str, ...]]]:
    known = ((name, msgspec.json.decode(stored, type=_Names)) for name, stored in _table().items())
    return [(name, one.prefixes) for name, one in known if one.extends and one.prefixes]


def proven(trajectory: Trajectory, natural: str) -> Law:
    """The law that holds for a trajectory unless the user names another: that of the vendor whose address it was sent to, or else whose
    model it names, where that is one whose API has the shape of the `natural` target; else the natural one.
    """
    vendor = trajectory.vendor
    if vendor is None and trajectory.model is not None:
        vendor = vendor_of_model(trajectory.model)
    if vendor is not None and vendor != natural and vendor in names() and law(vendor).extends == natural:
        return law(vendor)
    return law(natural)


SEVERITY: dict[str, Severity] = {"rejected": Severity.ERROR, "degraded": Severity.WARNING, "accepted": Severity.NOTE}


def severity(line: Line) -> Severity | None:
    """The severity that a line of the law decides; None when it leaves it to the rule."""
    return Severity.named(line.severity) if line.severity else SEVERITY.get(line.verdict)


@functools.cache
def names() -> tuple[str, ...]:
    """The names of all targets."""
    return tuple(folders.names(__path__[0], ".toml"))


@functools.cache
def law(name: str) -> Law:
    """The law of the target called `name`. Raises UsageError, with the names there are, for one that no file has."""
    if name not in names():
        raise UsageError(f"no target is called `{name}`", f"choose one of {', '.join(names())}")
    stored = _table().get(name)
    return read(name) if stored is None else msgspec.json.decode(stored, type=Law)


@functools.cache
def _table() -> dict[str, msgspec.Raw]:
    return folders.table(__path__[0], msgspec.Raw)


def read(name: str) -> Law:
    """The law in the file of the target called `name`, with what it has of the one that it extends."""
    return msgspec.convert(_said(name), Law)


def _said(name: str) -> dict[str, Any]:
    """What the file of a target says, on top of that which it extends. A rule that it speaks of is wholly its own, with all cases."""
    import tomllib
    from pathlib import Path

    own = tomllib.loads(Path(__path__[0], f"{name}.toml").read_text("utf-8"))
    if "extends" not in own:
        return own
    below = _said(own["extends"])
    lines = own.get("line", [])
    rules = {line["rule"] for line in lines}
    inherited = [line for line in below["line"] if line["rule"] not in rules]
    return {**below, "models": "", "prefixes": (), "hosts": "", **own, "line": lines + inherited}


@functools.cache
def _index(name: str) -> dict[tuple[str, str], Line]:
    return {(line.rule, line.case): line for line in law(name).line}
