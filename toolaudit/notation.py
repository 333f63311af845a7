"""The tiny notation in which rules show their examples.

```
target anthropic (sent)      optional: the law to judge by, and that the list is known to have been sent
model      claude-sonnet-4-5 optional: which the request names
tools      get_weather {"type": "object", "required": ["city"]}
user       Weather in Oslo and Lima?
assistant  Looking both up.
           -> a get_weather({"city": "Oslo"})
           -> b get_weather({"city": "Lima"})     # missing-result
tool       <- a 4 C
---                          the next transcript of the same session
```

A role word begins a raw message; indented lines belong to it. `->` is a call, `<-` a result, `<-!` an error result, `~>` and `<~` a
provider's own call and result, `* [id]` reasoning, `|` further prose, `@` a reference to an item, `%` any other part by its kind. `?`
stands for an id that is absent. In brackets after a role: `(stop length)`, `(failed)`, `(no calls)`. `# name[, name]` at the end of a
line: these rules must be reported there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

from toolaudit.model import Call, Other, Place, Result, Role, Text, Tool, Trajectory, Turn
from toolaudit.regex import regex


class Example(Struct, kw_only=True):
    """An example: its trajectory, the law it names, and the rules that must be reported, each with its line."""

    trajectory: Trajectory
    target: str | None = None
    expected: list[tuple[str, int]] = field(default_factory=list)


_FENCE = regex(r"^## (Bad|Good)[^\n]*\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = regex(r"^```transcript\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FILE = regex(r"^```(jsonl?)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_MARK = regex(r"\s+# ((?:[a-z]+(?:-[a-z]+)+)(?:, [a-z]+(?:-[a-z]+)+)*)\s*$")
_ROLE = regex(r"(system|user|assistant|tool|tools|target|model)\b(?:\s*\(([^)]*)\))?\s*(.*)$")
_CALL = regex(r"([-~])>\s+(\S+)\s+([\w.$:-]+)\((.*)\)$")
_OTHER = regex(r"([*@%]) (?:\[(\S+)\] ?)?(.*)$")
_RESULT = regex(r"<([-~])(!?)\s+(\S+)\s?(.*)$")


def blocks(manual: str) -> Iterator[tuple[str, str]]:
    """The examples of a rule's manual page: (`Bad` or `Good`, the text of the block)."""
    for section in _FENCE.finditer(manual):
        for block in _BLOCK.finditer(section[2]):
            yield section[1], block[1]


def documents(manual: str) -> Iterator[tuple[str, str, str]]:
    """The examples of a page that are files: (`Bad` or `Good`, `json` or `jsonl`, the text)."""
    for section in _FENCE.finditer(manual):
        for block in _FILE.finditer(section[2]):
            yield section[1], block[1], block[2]


def parse(text: str) -> list[Example]:
    """The examples of one block, one per transcript of the session. Raises ValueError at a line it does not understand."""
    return [_Reader(part).example for part in re.split(r"^---.*\n", text, flags=re.MULTILINE)]


class _Reader:
    def __init__(self, text: str) -> None:
        self.example = Example(trajectory=Trajectory(place=Place(0), format="notation", kind="request", turns=[]))
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                self._line(number, line)

    def _line(self, number: int, line: str) -> None:
        if mark := _MARK.search(line):
            self.example.expected += [(name, number) for name in mark[1].split(", ")]
            line = line[: mark.start()]
        if line[0] != " ":
            role = _ROLE.match(line)
            if role is None:
                raise ValueError(f"line {number} begins with no role: {line}")
            line = self._role(number, role[1], role[2] or "", role[3])
        if line.strip():
            self._part(number, line.strip())

    def _role(self, number: int, word: str, brackets: str, rest: str) -> str:
        trajectory = self.example.trajectory
        if word == "target":
            name, _, sent = rest.partition(" ")
            self.example.target, trajectory.sent = name, sent == "(sent)"
        elif word == "tools":
            name, _, schema = rest.partition(" ")
            trajectory.tools = (*(trajectory.tools or ()), Tool(name=name, schema=_json(schema or "{}")))
        elif word == "model":
            trajectory.model = rest
        else:
            self._turn(number, word, brackets)  # type: ignore[arg-type]
            return rest
        return ""

    def _turn(self, number: int, role: Role, brackets: str) -> None:
        turns = self.example.trajectory.turns
        stop = brackets.removeprefix("stop ") if brackets.startswith("stop ") else None
        turns.append(
            Turn(
                place=Place(number),
                number=len(turns) + 1,
                role=role,
                raw_role=role,
                stop=stop,
                failed=brackets == "failed",
                empty_calls=brackets == "no calls",
            )
        )

    def _part(self, number: int, line: str) -> None:
        parts = self.example.trajectory.turns[-1].parts
        place = Place(number)
        if call := _CALL.match(line):
            parts.append(_call(place, *call.groups()))
        elif result := _RESULT.match(line):
            parts.append(_result(place, *result.groups()))
        elif other := _OTHER.match(line):
            parts.append(_other(place, *other.groups()))
        else:
            parts.append(Text(place=place, text=line.removeprefix("| ")))


def _call(place: Place, arrow: str, key: str, name: str, args: str) -> Call:
    text = args.strip() or "{}"
    try:
        value, form = _json(text), "object"
    except ValueError:
        value, form = text, "string"
    return Call(
        place=place,
        id=None if key == "?" else key,
        name=name,
        args=value,
        args_form=form,  # type: ignore[arg-type]
        executor="server" if arrow == "~" else "client",
    )


def _other(place: Place, sign: str, key: str | None, text: str) -> Other:
    if sign == "*":
        return Other(place=place, kind="reasoning", id=key or f"rs_{place.record}", value=text)
    return Other(place=place, kind="reference", id=text) if sign == "@" else Other(place=place, kind=text)


def _result(place: Place, arrow: str, error: str, key: str, body: str) -> Result:
    return Result(
        place=place,
        ref=None if key == "?" else key,
        flag="error" if error else None,
        body=body,
        executor="server" if arrow == "~" else "client",
    )


def _json(text: str) -> object:
    import json

    return json.loads(text)
