"""`check`, once its options are parsed: build the audit, run it, write the report, choose the code."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from toolaudit import formats, outputs, rules, targets
from toolaudit.cli import INCOMPLETE, INTERRUPTED
from toolaudit.cli._choices import chosen, pointer, size, split
from toolaudit.cli._faults import hush, say
from toolaudit.cli._given import Given
from toolaudit.cli._terminal import opened, style
from toolaudit.engine import Audit, Options
from toolaudit.errors import InputError, UsageError
from toolaudit.model import Severity
from toolaudit.outputs._closing import closing
from toolaudit.sources import globs_of, identity_of, meets

if TYPE_CHECKING:
    from toolaudit.model import Tool
    from toolaudit.report import Input, Report
    from toolaudit.work import Crew

FAIL_ON = ("error", "warning", "note", "never")
NOT_RECOGNISED = "`toolaudit formats` lists what is recognised; --at POINTER says where to look, --input-format NAME how to read"
HINTS = (
    (("is recognised",), NOT_RECOGNISED),
    (("not read yet",), "`toolaudit formats` lists what is read: what a program keeps in another format must be converted to one of these"),
    (("it is a 7-Zip", "it is an LZ4"), "unpack it, or pipe in what it holds: `lz4cat FILE | toolaudit check -`"),
    (("within an archive", "out of a pipe or a compressed file", "times over"), "unpack it, and name what it holds"),
)
"""What to do about a file, by words in the reason why it was not read."""


def audit(given: Given) -> int:
    """Audit what was named, and report it."""
    began = time.perf_counter()
    threshold = chosen("severity", given.fail_on, FAIL_ON)
    kind = outputs.output(chosen("output", _output_name(given), outputs.names()))
    ready(given)
    asked = options(given, scenes=kind.human and "full" in kind.__module__)
    with _progress(given) as progress:
        run = Audit(asked, progress)
        completed = _completed(run, given)
    if not completed and not kind.human:
        say("interrupted: no report is written, for half of one would pass for a whole")
        return INTERRUPTED
    run.report.summary.seconds = round(time.perf_counter() - began, 3)
    code = verdict(run.report, threshold, exit_zero=given.exit_zero) if completed else INTERRUPTED
    _write(run.report, kind, given)
    if given.output is not None and not given.quiet:
        say(closing(run.report.summary, run.report.inputs))
    complain(run.report, given)
    if not completed:
        say("interrupted: the report holds what was found so far")
    return code


@contextmanager
def _progress(given: Given) -> Iterator[Callable[[int, str], None] | None]:
    """What is told how far the audit is; None where nobody would see it."""
    stream = sys.stderr
    if given.quiet or given.no_progress or stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    from toolaudit.cli._progress import Progress, size_of

    with Progress(stream, size_of(given.paths)) as progress:
        yield progress.piece


def options(given: Given, *, scenes: bool = False) -> Options:
    """The options of the engine. Raises UsageError for any word that it does not know."""
    extend = [*split(given.extend_select), *(["malformed-message"] if given.check_shape else [])]
    return Options(
        rules=_picked(given, extend),
        target=_targets([given.target] if isinstance(given.target, str) else given.target),
        input_format=chosen("format", given.input_format, formats.names()) if given.input_format is not None else None,
        at=tuple(map(pointer, given.at)),
        sent=given.sent,
        deep=given.deep,
        tools=_tools(given.tools) if given.tools is not None else None,
        strict=given.strict,
        content=given.show_content,
        scenes=scenes,
        max_record=size(given.max_record_size),
        include=tuple(split(given.include)),
        exclude=tuple(split(given.exclude)),
    )


def _targets(named: Sequence[str]) -> tuple[str, ...] | None:
    """The targets named, each once; None where none is, and the natural one of each format holds."""
    return tuple(dict.fromkeys(chosen("target", name, targets.names()) for name in split(named))) or None


def _picked(given: Given, extend: list[str]) -> frozenset[str] | None:
    """The rules to run; None for the default set, which needs no look at the rules: most runs never need one."""
    if not (given.select or extend or given.ignore):
        return None
    picked = rules.select(split(given.select) if given.select else None, extend, split(given.ignore))
    if not picked:
        raise UsageError("no rule is left to run", "`toolaudit rule` lists them all; --ignore takes away from what --select chose")
    return picked


def read(run: Audit, given: Given, crew: Crew | None = None) -> None:
    """Let `run` read the paths of `given`, or a `crew`."""
    stdin = _stdin() if "-" in given.paths else None
    run.paths(given.paths, stdin, given.stdin_filename, crew)


def _crew(given: Given) -> Crew | None:
    """Who reads beside this process; None for nobody."""
    jobs = given.jobs or _cores()
    if jobs == 1 and given.engine == "processes":
        return None
    from toolaudit.work import Crew

    return Crew(jobs, given.engine)


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def verdict(report: Report, threshold: str = "never", *, exit_zero: bool = False) -> int:
    """The exit code of a report: an incomplete audit outweighs findings, and is never hidden."""
    if report.incomplete:
        return INCOMPLETE
    if exit_zero or threshold == "never":
        return 0
    return int(any(report.at_least(Severity.named(threshold))))


def complain(report: Report, given: Given) -> None:
    """Say on the error stream why the audit is incomplete and, when asked to, which files were read in part."""
    for reason in report.incomplete:
        say(f"error: {reason}")
    if given.quiet:
        return
    for hint in dict.fromkeys(_hints(report)):
        say(f"hint: {hint}")
    if given.verbose:
        warn(report.inputs)


def warn(inputs: list[Input]) -> None:
    """Say which files were read in part."""
    for given in inputs:
        if given.status == "partly-read":
            say(f"warning: {given.path}: {given.reason}")


def _hints(report: Report) -> Iterator[str]:
    """What to do about the files that leave the audit incomplete; about all of them where none could be read."""
    said = set(report.incomplete)
    reasons = [one.reason or "" for one in report.inputs if not report.summary.files or f"{one.path}: {one.reason}" in said]
    yield from (hint for words, hint in HINTS if any(word in reason for reason in reasons for word in words))
    if any(reason.startswith("no transcripts") for reason in report.incomplete):
        yield NOT_RECOGNISED


def ready(given: Given) -> None:
    """Raise UsageError where no path is given, or the output would overwrite a file that is given, found or used."""
    if not given.paths:
        raise UsageError("no path is given", "name files or folders, or `-` for standard input: `toolaudit check runs/`")
    identity = identity_of(given.output) if given.output is not None else None
    if identity is None:
        return
    if given.tools is not None and identity_of(given.tools) == identity:
        raise UsageError(f"{given.output}: it is the file that --tools names, and is not overwritten", "give -o another name")
    if meets(given.paths, identity, globs_of(split(given.include), split(given.exclude))):
        raise UsageError(
            f"{given.output}: it is one of the files that are checked, and is not overwritten",
            "give -o another name, outside of the folders that are checked",
        )


def _completed(run: Audit, given: Given) -> bool:
    """Read everything; False when the user interrupted it."""
    try:
        read(run, given, _crew(given))
    except KeyboardInterrupt:
        return False
    return True


def _write(report: Report, kind: type[outputs.Output], given: Given) -> None:
    """Write the report. A reader that has seen enough is no fault."""
    try:
        with opened(given.output) as stream:
            made = kind(stream, style(stream, color=given.color, quiet=given.quiet, verbose=given.verbose))
            made.start()
            for entry in report.findings:
                made.finding(entry)
            for one in report.inputs:
                made.input(one)
            made.finish(report.summary, report.incomplete)
    except BrokenPipeError:
        hush()


def _output_name(given: Given) -> str:
    return given.output_format or os.environ.get("TOOLAUDIT_OUTPUT_FORMAT") or "full"


def _tools(path: str) -> tuple[Tool, ...]:
    from pathlib import Path

    from toolaudit.tools import declarations

    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: it cannot be read: {(error.strerror or str(error)).lower()}") from error
    return declarations(data, path)


def _stdin() -> BinaryIO:
    try:
        return open(0, "rb", buffering=1 << 20, closefd=False)
    except OSError as error:
        raise InputError("standard input is closed", "name a file, or pipe something in") from error
