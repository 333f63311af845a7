"""Rules: one file each, found by its name. A rule's docstring is its manual page, its examples and its tests.

A rule is a function from a `Ledger` to findings, named as its file and its rule are (`missing_result` in `missing_result.py` is
`missing-result`). What it says of itself in `@rule(…)` is read from the file's text (see `folders`), so that a rule is imported only when a
ledger shows one of the signs it needs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Protocol, TypeVar

from msgspec import Struct

from toolaudit import folders
from toolaudit.errors import UsageError
from toolaudit.model import JSON, Finding, Ledger, Place, Severity, Side, Tool


class Context(Struct, frozen=True, kw_only=True):
    """What a rule may use beside the ledger: the options that concern judging."""

    deep: bool = False
    """Read whole results instead of their heads and tails."""
    tools: tuple[Tool, ...] | None = None
    """Tools given with `--tools`, None for those of the transcript."""
    messages: tuple[tuple[JSON, Place], ...] = ()
    """The messages as stored, each with its place (only when a rule that sets `raw` is chosen)."""


class Header(Struct, frozen=True, kw_only=True):
    """What a rule declares of itself."""

    name: str
    category: str
    severity: Severity
    side: Side | None = None
    needs: tuple[str, ...] = ()
    """Signs of which at least one must be on the ledger; empty: the rule is run on every ledger that is examined."""
    default: bool = True
    raw: bool = False
    since: str = ""


class Check(Protocol):
    """A rule's function."""

    __doc__: str | None

    def __call__(self, ledger: Ledger, context: Context, /) -> Iterator[Finding]: ...


F = TypeVar("F", bound=Callable[..., Iterator[Finding]])


def rule(
    *,
    category: str,
    severity: str,
    since: str,
    side: str | None = None,
    needs: tuple[str, ...] = (),
    default: bool = True,
    raw: bool = False,
) -> Callable[[F], F]:
    """Mark the function of a rule. Its arguments must be literals: they are read from the text of the file (see `catalogue`)."""
    del category, severity, since, side, needs, default, raw
    return lambda check: check


@functools.cache
def catalogue() -> dict[str, Header]:
    """Every rule by its name, in alphabetical order, without importing any."""
    known, names = folders.table(__path__[0], Header), folders.names(__path__[0])
    return known if list(known) == names else headers(names)


def headers(names: list[str]) -> dict[str, Header]:
    """What these rules say of themselves, read from their files; raises AssertionError for a name that no file has."""
    from toolaudit.rules._headers import read

    return {name: Header(**{**said, "name": name, "severity": Severity.named(said["severity"])}) for name, said in read(names).items()}


@functools.cache
def check(name: str) -> Check:
    """The function of the rule called `name`; imports its file."""
    module = name.replace("-", "_")
    found: Check = getattr(import_module(f"{__name__}.{module}"), module)
    return found


@functools.lru_cache(maxsize=1024)
def called_for(chosen: frozenset[str], signs: frozenset[str]) -> tuple[Check, ...]:
    """The functions of those of the chosen rules that need one of these signs, or none, in order; the same few sets of signs recur."""
    asked = (header for name, header in catalogue().items() if name in chosen)
    return tuple(check(header.name) for header in asked if not header.needs or not signs.isdisjoint(header.needs))


def manual(name: str) -> str:
    """The manual page of a rule, as Markdown."""
    import inspect

    return inspect.cleandoc(check(name).__doc__ or "")


@functools.cache
def why(name: str) -> str:
    """The first paragraph under "Why it matters" on the rule's page."""
    _, _, rest = manual(name).partition("## Why it matters\n")
    return " ".join(rest.strip().partition("\n\n")[0].split())


def title(name: str) -> str:
    """The first line of the rule's page: what it is, in one sentence."""
    return manual(name).partition("\n")[0]


def known(name: str) -> Header:
    """The header of a rule. Raises UsageError, with the nearest name as a hint, for one that does not exist."""
    try:
        return catalogue()[name]
    except KeyError:
        raise UsageError(f"no rule is called `{name}`", _nearest(name)) from None


def _nearest(name: str) -> str:
    import difflib

    words = [*catalogue(), *categories()]
    near = difflib.get_close_matches(name, words, 1)
    return f"did you mean `{near[0]}`?" if near else "`toolaudit rule` lists them all"


def categories() -> list[str]:
    """The names of the categories."""
    return sorted({header.category for header in catalogue().values()})


def select(names: list[str] | None = None, extend: list[str] | None = None, ignore: list[str] | None = None) -> frozenset[str]:
    """The rules to run: `names` (or the default set), with `extend`, without `ignore`.

    Each word is a rule, a category or `all`. Raises UsageError for any other.
    """
    chosen = {name for name, header in catalogue().items() if header.default} if names is None else _expand(names)
    return frozenset((chosen | _expand(extend or [])) - _expand(ignore or []))


def _expand(words: list[str]) -> set[str]:
    rules: set[str] = set()
    for word in words:
        if word == "all":
            rules.update(catalogue())
        elif word in categories():
            rules.update(name for name, header in catalogue().items() if header.category == word)
        else:
            rules.add(known(word).name)
    return rules
