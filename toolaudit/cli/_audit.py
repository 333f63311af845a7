"""`check`, once its options are parsed: build the audit, run it, write the report, choose the code."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
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

if TYPE_CHECKING:
    from toolaudit.model import Tool
    from toolaudit.report import Input, Report

FAIL_ON = ("error", "warning", "note", "never")
NOT_RECOGNISED = "`toolaudit formats` lists what is recognised; --at POINTER says where to look, --input-format NAME how to read"


def audit(given: Given) -> int:
    """Audit what was named, and report it."""
    began = time.perf_counter()
    threshold = chosen("severity", given.fail_on, FAIL_ON)
    kind = outputs.output(chosen("output", _output_name(given), outputs.names()))
    run = Audit(options(given, scenes=kind.human and "full" in kind.__module__))
    completed = _completed(run, given)
    if not completed and not kind.human:
        say("interrupted: no report is written, for half of one would pass for a whole")
        return INTERRUPTED
    run.report.summary.seconds = round(time.perf_counter() - began, 3)
    code = verdict(run.report, threshold, exit_zero=given.exit_zero) if completed else INTERRUPTED
    _write(run.report, kind, given)
    complain(run.report, given)
    if not completed:
        say("interrupted: the report holds what was found so far")
    return code


def options(given: Given, *, scenes: bool = False) -> Options:
    """The options of the engine. Raises UsageError for any word that it does not know."""
    extend = [*split(given.extend_select), *(["malformed-message"] if given.check_shape else [])]
    return Options(
        rules=rules.select(split(given.select) if given.select else None, extend, split(given.ignore)),
        target=chosen("target", given.target, targets.names()) if given.target is not None else None,
        input_format=chosen("format", given.input_format, formats.names()) if given.input_format is not None else None,
        at=tuple(map(pointer, given.at)),
        sent=given.sent,
        deep=given.deep,
        tools=_tools(given.tools) if given.tools is not None else None,
        strict=given.strict,
        content=given.show_content,
        scenes=scenes,
        max_record=size(given.max_record_size),
    )


def read(run: Audit, given: Given) -> None:
    """Let `run` read the paths of `given`. Raises UsageError where none is given."""
    if not given.paths:
        raise UsageError("no path is given", "name files or folders, or `-` for standard input: `toolaudit check runs/`")
    stdin = _stdin() if "-" in given.paths else None
    run.paths(given.paths, stdin, stdin_name=given.stdin_filename)


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
    if any("recognised" in reason or "no transcripts" in reason for reason in report.incomplete):
        say(f"hint: {NOT_RECOGNISED}")
    if given.verbose:
        warn(report.inputs)


def warn(inputs: list[Input]) -> None:
    """Say which files were read in part."""
    for given in inputs:
        if given.status == "partly-read":
            say(f"warning: {given.path}: {given.reason}")


def spare(paths: Iterable[str], output: str | None) -> None:
    """Raise UsageError where the output would overwrite one of the `paths` that it is made from."""
    if output is None or not Path(output).exists():
        return
    for path in paths:
        if Path(path).exists() and Path(path).samefile(output):
            raise UsageError(f"{output}: it is one of the files that are checked, and is not overwritten", "give -o another name")


def _completed(run: Audit, given: Given) -> bool:
    """Read everything; False when the user interrupted it."""
    try:
        read(run, given)
    except KeyboardInterrupt:
        return False
    return True


def _write(report: Report, kind: type[outputs.Output], given: Given) -> None:
    """Write the report. A reader that has seen enough is no fault."""
    spare((one.path for one in report.inputs if one.status != "skipped"), given.output)
    try:
        with opened(given.output) as stream:
            made = kind(stream, style(stream, color=given.color, quiet=given.quiet, verbose=given.verbose))
            made.start()
            for entry in report.findings:
                made.finding(entry)
            for one in report.inputs:
                made.input(one)
            made.finish(report.summary)
    except BrokenPipeError:
        hush()


def _output_name(given: Given) -> str:
    return given.output_format or os.environ.get("TOOLAUDIT_OUTPUT_FORMAT") or "full"


def _tools(path: str) -> tuple[Tool, ...]:
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
