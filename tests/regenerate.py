"""Writes what is derived from the code: the tables of rules and targets, the broken samples, and the marked blocks of the README.

`python -m tests.regenerate`, from the root of the repository. `tests/test_generated.py` fails where this has not been done.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

import msgspec

from tests.cli_helper import run
from toolaudit import folders, formats, notation, outputs, rules, targets
from toolaudit.cli._app import _EPILOG
from toolaudit.engine import Audit, Options
from toolaudit.example import written
from toolaudit.model import JSON

ROOT = Path(__file__).resolve().parents[1]
BROKEN = "samples/broken"
PICTURE = f"{BROKEN}/missing-result/openai-chat.json"
"""The sample whose finding the README shows."""
_NO_FORMAT = "any"
"""The name of a broken sample that no format claims."""


# ------------------------------------------------------------------------------------------------------------ broken samples


def broken() -> dict[str, str]:
    """The text of each broken sample by its path from the root: the first bad example of each rule, in every format that has it."""
    return {f"{BROKEN}/{name}/{file}": text for name in rules.catalogue() for file, text in _samples(name)}


def example(name: str) -> list[notation.Example]:
    """The transcripts of the first bad block of a rule's page; none where the page shows files."""
    block = next((text for title, text in notation.blocks(rules.manual(name)) if title == "Bad"), None)
    return [] if block is None else notation.parse(block)


def _samples(name: str) -> Iterator[tuple[str, str]]:
    if examples := example(name):
        for form in formats.formats():
            if (values := _written(examples, form)) is not None:
                yield f"{form.NAME}.{'json' if len(values) == 1 else 'jsonl'}", text_of(values)
    else:
        _, suffix, text = next(found for found in notation.documents(rules.manual(name)) if found[0] == "Bad")
        yield f"{_format_of(text)}.{suffix}", _tidy(text) if suffix == "json" else text


def _written(examples: list[notation.Example], form: formats.Format) -> list[JSON] | None:
    """The examples in a format; None where it has no place for them."""
    values = written(examples, form)
    return values and [_sent(value) if one.trajectory.sent else value for one, value in zip(examples, values, strict=True)]


def _sent(body: JSON) -> JSON:
    """A body that is known to have been sent: a captured exchange."""
    return {"request": body, "status": 400}


def text_of(values: list[JSON]) -> str:
    """One value as a document that a person can read, several as lines."""
    indent = 2 if len(values) == 1 else None
    return "".join(json.dumps(value, indent=indent, ensure_ascii=False) + "\n" for value in values)


def _tidy(text: str) -> str:
    """A document laid out for a person; as it stands when it is no JSON."""
    try:
        return text_of([json.loads(text)])
    except ValueError:
        return text


def _format_of(text: str) -> str:
    audit = Audit(Options())
    audit.paths(["-"], io.BytesIO(text.encode()), stdin_name="example")
    return audit.report.inputs[0].format or _NO_FORMAT


# -------------------------------------------------------------------------------------------------------------------- tables


def tables() -> dict[str, str]:
    """The text of each table by its path from the root: what the files of a folder say, gathered."""
    said = {
        rules: rules.headers(folders.names(rules.__path__[0])),
        targets: {name: targets.read(name) for name in targets.names()},
    }
    return {f"{folder.__path__[0]}/{folders.TABLE}": _rows(rows) for folder, rows in said.items()}


def _rows(rows: dict[str, JSON]) -> str:
    """One row a line, for the sake of those who read what has changed."""
    return "{\n" + ",\n".join(f'"{name}":{msgspec.json.encode(row).decode()}' for name, row in rows.items()) + "\n}\n"


# ------------------------------------------------------------------------------------------------------------- README blocks


def readme(text: str) -> str:
    """The README with its marked blocks filled."""
    for name, block in BLOCKS.items():
        marked = re.compile(rf"(<!-- begin: {name} -->\n).*?(<!-- end: {name} -->)", re.DOTALL)
        filled = block().strip()
        text = marked.sub(lambda found, filled=filled: f"{found[1]}\n{filled}\n\n{found[2]}", text)  # type: ignore[misc]
    return text


def _rules() -> str:
    return "\n\n".join(f"**{category}**\n\n{_rules_of(category)}" for category in rules.categories())


def _rules_of(category: str) -> str:
    rows = []
    for name, header in rules.catalogue().items():
        if header.category == category:
            off = "" if header.default else " Off by default."
            rows.append((f"`{name}`", str(header.severity), rules.title(name) + off))
    return _table(("rule", "severity", "what it is"), rows)


def _formats() -> str:
    rows = [(f"`{form.NAME}`", f"`{form.TARGET}`", _first_paragraph(form.__doc__)) for form in formats.formats()]
    return _table(("format", "judged as", "what is read"), rows)


def _targets() -> str:
    laws = [targets.law(name) for name in targets.names()]
    return _table(("target", "who receives it", "where it wants the results"), [(f"`{law.name}`", law.title, law.about) for law in laws])


def _outputs() -> str:
    files = {name: import_module(outputs.output(name).__module__) for name in outputs.names()}
    rows = [(f"`{name}`", _first_paragraph(file.__doc__)) for name, file in files.items() if name not in outputs.ALIASES]
    pinned = [(f"`{name}`", f"`{plain}` as it is now, whatever `{plain}` becomes.") for name, plain in outputs.ALIASES.items()]
    return _table(("output", "what it is"), [*rows, *pinned])


def _exit_codes() -> str:
    return _table(("code", "meaning"), re.findall(r"(\d+) ([^,.]+)", _EPILOG))


def _help() -> str:
    return f"```text\n{run('check', '--help', env={'COLUMNS': '80'}, cwd=ROOT).out.strip()}\n```"


def _picture() -> str:
    command = ("check", "--show-content", PICTURE)
    drawn = run(*command, env={"COLUMNS": "80"}, cwd=ROOT).out.strip()
    return f"```console\n$ toolaudit {' '.join(command)}\n{drawn}\n```"


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").partition("\n\n")[0].split())


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


BLOCKS: dict[str, Callable[[], str]] = {
    "picture": _picture,
    "formats": _formats,
    "targets": _targets,
    "rules": _rules,
    "outputs": _outputs,
    "exit codes": _exit_codes,
    "help": _help,
}


# ------------------------------------------------------------------------------------------------------------------- writing


def main() -> None:
    """Write everything; what is derived no longer is removed."""
    for name, text in tables().items():
        Path(name).write_text(text, "utf-8", newline="\n")
    rules.catalogue.cache_clear()
    targets.law.cache_clear()
    fresh = broken()
    for path in (ROOT / BROKEN).rglob("*"):
        if path.is_file() and path.relative_to(ROOT).as_posix() not in fresh:
            path.unlink()
    for name, text in fresh.items():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(text, "utf-8", newline="\n")
    page = ROOT / "README.md"
    page.write_text(readme(page.read_text("utf-8")), "utf-8", newline="\n")


if __name__ == "__main__":
    main()
