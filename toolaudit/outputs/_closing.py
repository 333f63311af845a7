"""The line that ends every report for people: what was looked at, and how it adds up."""

from __future__ import annotations

from collections.abc import Sequence

from toolaudit.report import Input, Summary
from toolaudit.text import plural


def closing(summary: Summary, inputs: Sequence[Input] = ()) -> str:
    """One sentence. The parts named after `calls` add up to them; files that were not read are named apart, and so are those of
    `inputs` that were read in part (they are among the files checked), or hold a format that is not read."""
    partly = [given for given in inputs if given.status == "partly-read"]
    foreign = sum(given.status == "skipped" and is_foreign(given) for given in inputs)
    checked = [plural(summary.files, "file"), plural(summary.calls, "call"), f"{summary.paired:,} paired"]
    rest = {"missing": summary.missing, "open": summary.open, "unjudged": summary.unjudged}
    checked += _counted(rest)
    apart = _counted({"allowed": summary.allowed, "baselined": summary.baselined})
    aside = f" ({', '.join(apart)})" if apart else ""
    return f"checked {', '.join(checked)}: {_findings(summary)}{aside}{_partly(partly)}{_unread(summary, foreign)}"


def _counted(counts: dict[str, int]) -> list[str]:
    return [f"{count:,} {word}" for word, count in counts.items() if count]


def _findings(summary: Summary) -> str:
    counts = {"error": summary.errors, "warning": summary.warnings, "note": summary.notes}
    return ", ".join(plural(count, word) for word, count in counts.items() if count) or "no findings"


def _partly(inputs: Sequence[Input]) -> str:
    """Of a single file, what was not read of it; of several, the first as an example."""
    if not inputs:
        return ""
    first, *more = inputs
    example, others = (f", the first of them {first.path}", " (-v names all)") if more else ("", "")
    return f"; {plural(len(inputs), 'file')} partly read{example}: {first.reason}{others}"


def is_foreign(given: Input) -> bool:
    """A file that is a transcript, but of a format that is not read."""
    return given.reason is not None and given.reason.endswith("not read yet")


def _unread(summary: Summary, foreign: int) -> str:
    skipped, failed = summary.skipped, summary.failed
    what = "not a transcript" if skipped == 1 else "not transcripts"
    if foreign:
        what = "a transcript in a format that is not read" if skipped == 1 else f"{foreign} of them in a format that is not read"
    return (f"; {plural(skipped, 'file')} skipped, {what}" if skipped else "") + (f"; {plural(failed, 'file')} failed" if failed else "")
