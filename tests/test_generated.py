"""What is generated is fresh, the samples are what their paths say, and the README tells the truth."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from tests import regenerate
from tests.cli_helper import SCRIPT, execute
from tests.conftest import ROOT
from toolaudit import FindingsError, folders, formats, outputs, rules, targets
from toolaudit.cli._app import _app
from toolaudit.engine import Audit, Options
from toolaudit.outputs.json import encoded, finding
from toolaudit.report import Report

README = ROOT / "README.md"
CLEAN = sorted(path.relative_to(ROOT) for path in (ROOT / "samples/clean").rglob("*") if path.is_file())
BROKEN = sorted(path.relative_to(ROOT) for path in (ROOT / "samples/broken").rglob("*") if path.is_file())


def audited(path: Path, **options: object) -> Report:
    audit = Audit(Options(**options))  # type: ignore[arg-type]
    audit.paths([str(ROOT / path)])
    return audit.report


# --------------------------------------------------------------------------------------------------------------- is it fresh?


def test_the_broken_samples_are_fresh() -> None:
    stored = {path.as_posix(): (ROOT / path).read_text("utf-8") for path in BROKEN}
    assert stored == regenerate.broken(), "run `python -m tests.regenerate`"


def test_the_tables_are_fresh() -> None:
    for path, text in regenerate.tables().items():
        assert Path(path).read_text("utf-8") == text, "run `python -m tests.regenerate`"


def test_a_rule_that_the_table_does_not_know_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = rules.catalogue()
    shutil.copytree(rules.__path__[0], tmp_path, dirs_exist_ok=True)
    (tmp_path / folders.TABLE).write_text(json.dumps({"missing-result": {"name": "missing-result", "category": "pairing", "severity": 1}}))
    monkeypatch.setattr(rules, "__path__", [str(tmp_path)])
    assert rules.catalogue.__wrapped__() == known


def test_the_readme_is_fresh() -> None:
    text = README.read_text("utf-8")
    assert re.findall(r"<!-- begin: ([\w ]+) -->", text) == re.findall(r"<!-- end: ([\w ]+) -->", text)
    assert set(re.findall(r"<!-- begin: ([\w ]+) -->", text)) == set(regenerate.BLOCKS)
    assert text == regenerate.readme(text), "run `python -m tests.regenerate`"


# -------------------------------------------------------------------------------------------------------------------- samples


@pytest.mark.parametrize("path", CLEAN, ids=str)
def test_a_clean_sample_has_no_finding(path: Path) -> None:
    for extra in ([], ["malformed-message"]):
        report = audited(path, rules=rules.select(extend=extra))
        assert [(entry.rule, entry.pointer, entry.message) for entry in report.findings] == []
        assert [(given.status, given.format) for given in report.inputs] == [("read", path.parent.name)]


@pytest.mark.parametrize("form", formats.names())
def test_every_format_has_clean_samples(form: str) -> None:
    assert any(path.parent.name == form for path in CLEAN)


@pytest.mark.parametrize("path", BROKEN, ids=str)
def test_a_broken_sample_reports_its_rule(path: Path) -> None:
    rule = path.parent.name
    examples = regenerate.example(rule)
    marked = {name for one in examples for name, _ in one.expected} or {rule}
    target = examples[0].target if examples else None
    chosen = rules.select(extend=[rule])
    found = audited(path, rules=chosen, target=target).findings
    roots = {entry.root for entry in found if entry.rule == rule}  # what a finding explains may stand beside it
    assert marked <= {entry.rule for entry in found}
    assert {entry.rule for entry in found if entry.fingerprint not in roots} <= marked
    natural = audited(path, rules=chosen)
    assert {entry.rule for entry in natural.findings if entry.fingerprint not in roots} <= marked
    assert [given.status for given in natural.inputs] in (["read"], ["partly-read"])


@pytest.mark.parametrize("path", BROKEN, ids=str)
def test_a_machine_report_holds_no_content(path: Path) -> None:
    found = audited(path, rules=rules.select(["all"])).findings
    report = encoded([finding(entry) for entry in found])
    assert [text for text in _content((ROOT / path).read_text("utf-8")) if json.dumps(text, ensure_ascii=False)[1:-1] in report] == []


def _content(text: str) -> list[str]:
    """What was said in a sample, but for what is too short to be told from the words of a report."""
    said = re.findall(r'"(?:text|content|output|arguments|thinking)": ("(?:[^"\\]|\\.)*")', text)
    return [value for value in map(json.loads, said) if len(value) >= 12]


@pytest.mark.parametrize("rule", rules.catalogue())
def test_every_rule_has_a_broken_sample(rule: str) -> None:
    assert any(path.parent.name == rule for path in BROKEN)


# --------------------------------------------------------------------------------------------------- the README's command lines


def _commands() -> list[str]:
    text = README.read_text("utf-8")
    blocks = re.findall(r"^ *```(?:console|sh)\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    return [line.strip()[2:] for block in blocks for line in block.splitlines() if re.match(r" *\$ .*\btoolaudit\b", line)]


def _python() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", README.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder that holds the files of which the README speaks."""
    clean, broken = ROOT / "samples/clean/openai-chat", ROOT / "samples/broken/missing-result"
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    for name in ("failed.json", "before.json", "after.json"):
        shutil.copy(broken / "openai-chat.json", tmp_path / name)
    (tmp_path / "runs").mkdir()
    shutil.copy(clean / "message-per-line.jsonl", tmp_path / "runs/good.jsonl")
    shutil.copy(broken / "anthropic-messages.json", tmp_path / "runs/bad.json")
    (tmp_path / "runs/notes.txt").write_text("no transcript\n")
    tool = {"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
    (tmp_path / "tools.json").write_text(json.dumps([tool]))
    chat = json.loads((clean / "message-list.json").read_text())
    (tmp_path / "odd.json").write_text(json.dumps({"payload": {"chat": chat}}))
    return tmp_path


def test_the_readme_shows_commands() -> None:
    assert len(_commands()) >= 15
    assert len(_python()) >= 2


@pytest.mark.parametrize("command", _commands())
def test_a_command_of_the_readme_runs(command: str, desk: Path) -> None:
    """It finds something or it does not; it does not fail, and there is nothing to complain of."""
    ran = execute(["bash", "-o", "pipefail", "-c", f'toolaudit() {{ "{SCRIPT}" "$@"; }}\n{command}'], cwd=desk)
    may_find = "toolaudit check" in command and "--exit-zero" not in command
    assert ran.code in ((0, 1) if may_find else (0,)), ran.err
    assert ran.err == "" or (" -o " in command and ran.err.startswith("checked "))
    assert ran.out or " -o " in command


@pytest.mark.parametrize("code", _python(), ids=lambda code: code.splitlines()[0])
def test_the_python_of_the_readme_runs(code: str, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk)
    with contextlib.suppress(FindingsError):  # `runs/` holds a broken one
        exec(compile(code, str(README), "exec"), {})


# ------------------------------------------------------------------------------------------------------------ the README names


def _options() -> Iterator[str]:
    """Every option of every command."""
    app = typer.main.get_command(_app())
    for command in [app, *app.commands.values()]:  # type: ignore[attr-defined]
        for parameter in command.params:
            yield from (word for word in parameter.opts if word.startswith("-"))


def test_the_readme_names_everything() -> None:
    text = README.read_text("utf-8")
    names = [*rules.catalogue(), *rules.categories(), *formats.names(), *targets.names(), *outputs.names()]
    missing = [name for name in names if f"`{name}`" not in text and f"**{name}**" not in text]
    missing += [option for option in _options() if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text)]
    missing += [code for code in ("0", "1", "2", "101", "130") if f"| {code} |" not in text]
    assert missing == []


# -------------------------------------------------------------------------------------------------- what no file of ours holds

_UNWANTED = {
    "a registry's host": r"pypi\.or[g]|pythonhosted\.or[g]|npmjs\.(?:or[g]|co[m])|crates\.i[o]|rubygems\.or[g]|ghcr\.i[o]",
    "a path of one machine": r"(?<![\w.~])/(?:wor[k]|roo[t]|tm[p])/",
    "the other project of the bare name": r"pip install toolaudi[t](?!-cli)",
}
_NOT_OURS = re.compile(r"(?:^|/)(?:\.(?!ci|pre-commit|github)[^/]+|__pycache__|build|dist|[^/]+\.egg-info)(?:/|$)")


def test_no_file_holds_what_must_not_leave() -> None:
    files = [path for path in ROOT.rglob("*") if path.is_file() and not _NOT_OURS.search(path.relative_to(ROOT).as_posix())]
    found = [
        f"{path.relative_to(ROOT)}: {what}: {match[0]}"
        for path in files
        for what, pattern in _UNWANTED.items()
        if (match := re.search(pattern, path.read_text("utf-8", "replace")))
    ]
    assert found == []
