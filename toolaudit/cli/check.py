"""`toolaudit check`."""

from __future__ import annotations

from typing import Annotated

import typer

from toolaudit.cli import Work
from toolaudit.cli._options import (
    At,
    Color,
    Exclude,
    Include,
    InputFormat,
    OutputFile,
    Paths,
    Quiet,
    RecordSize,
    Sent,
    StdinFilename,
    Targets,
    Verbose,
)


def _outputs() -> list[str]:
    from toolaudit import outputs

    return outputs.names()


def _rules() -> list[str]:
    from toolaudit import rules

    return ["all", *rules.categories(), *rules.catalogue()]


def _listing(flag: str, text: str) -> typer.models.OptionInfo:
    found: typer.models.OptionInfo = typer.Option(flag, metavar="NAMES", help=text, autocompletion=_rules)
    return found


def check(
    paths: Paths = None,
    select: Annotated[list[str] | None, _listing("--select", "Run only these rules or categories (comma list, repeatable).")] = None,
    extend_select: Annotated[list[str] | None, _listing("--extend-select", "Run these as well (comma list, repeatable).")] = None,
    ignore: Annotated[list[str] | None, _listing("--ignore", "Do not run these (comma list, repeatable).")] = None,
    fail_on: Annotated[str, typer.Option(metavar="SEVERITY", help="Least severity to exit 1: error, warning, note or never.")] = "warning",
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit 0 in spite of findings (never of an incomplete audit).")] = False,
    target: Targets = None,
    sent: Sent = False,
    deep: Annotated[bool, typer.Option("--deep", help="Text rules read whole results instead of their heads and tails.")] = False,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Number of worker processes (default: one a core).")] = None,
    engine: Annotated[
        str, typer.Option(metavar="NAME", help="Who does the work: processes, dask, or dask=tcp://HOST:PORT for a cluster that is running.")
    ] = "processes",
    tools: Annotated[str | None, typer.Option(metavar="FILE", help="Check arguments against the tools this JSON file declares.")] = None,
    input_format: InputFormat = None,
    at: At = None,
    include: Include = None,
    exclude: Exclude = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 2 for skipped and partly read files, too.")] = False,
    show_content: Annotated[bool, typer.Option("--show-content", help="Show short previews of the content in drawings.")] = False,
    check_shape: Annotated[bool, typer.Option("--check-shape", help="Check every field against its format's published shape.")] = False,
    color: Color = "auto",
    no_progress: Annotated[bool, typer.Option("--no-progress", help="Do not show how far a long audit is.")] = False,
    quiet: Quiet = 0,
    verbose: Verbose = 0,
    stdin_filename: StdinFilename = "-",
    output: OutputFile = None,
    output_format: Annotated[
        str | None,
        typer.Option(
            "-f",
            "--output-format",
            metavar="NAME",
            help="Report as full (default), concise, json or jsonl; also TOOLAUDIT_OUTPUT_FORMAT.",
            autocompletion=_outputs,
        ),
    ] = None,
    max_record_size: RecordSize = "1G",
) -> Work:
    """Audit transcripts: which call or result is broken, where, what comes of it, and what mends it.

    Exits 0 when nothing is found, 1 with findings, 2 when the audit is incomplete.
    """
    options = locals()  # before anything else is in it: each parameter is a field of `Given`
    from toolaudit.cli._audit import audit
    from toolaudit.cli._given import Given

    given = Given(**{name: value for name, value in options.items() if value is not None})
    return lambda: audit(given)
