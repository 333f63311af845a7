"""The options that several commands share, with their help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeAlias

import typer
from typer.models import OptionInfo


def format_names() -> list[str]:
    from toolaudit import formats

    return list(formats.names())


def target_names() -> list[str]:
    from toolaudit import targets

    return list(targets.names())


def _names(flag: str, text: str, names: Callable[[], list[str]]) -> OptionInfo:
    found: OptionInfo = typer.Option(flag, metavar="NAME", help=text, autocompletion=names)
    return found


Target: TypeAlias = Annotated[str | None, _names("--target", "Judge by this receiver's law; see `toolaudit targets`.", target_names)]
Targets: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="NAMES",
        help="Judge by these receivers' laws (comma list, repeatable); see `toolaudit targets`.",
        autocompletion=target_names,
    ),
]
Sent: TypeAlias = Annotated[bool, typer.Option("--sent", help="The transcripts were sent as they stand: an unanswered end is missing.")]
InputFormat: TypeAlias = Annotated[str | None, _names("--input-format", "Read as this format; see `toolaudit formats`.", format_names)]
At: TypeAlias = Annotated[
    list[str] | None, typer.Option("--at", metavar="POINTER", help="JSON pointer to the transcript in each record (repeatable).")
]
Quiet: TypeAlias = Annotated[
    int, typer.Option("-q", "--quiet", count=True, show_default=False, help="Only the closing line and errors; -qq: only errors.")
]
Verbose: TypeAlias = Annotated[
    int,
    typer.Option("-v", "--verbose", count=True, show_default=False, help="Say what became of each file; -vv: tracebacks of faults, too."),
]
StdinFilename: TypeAlias = Annotated[str, typer.Option("--stdin-filename", metavar="NAME", help="What to call standard input.")]
OutputFile: TypeAlias = Annotated[
    str | None, typer.Option("-o", "--output", metavar="FILE", help="Write to this file (UTF-8) instead of standard output.")
]
RecordSize: TypeAlias = Annotated[
    str, typer.Option("--max-record-size", metavar="SIZE", help="Longest record that is read, in bytes or as 64K, 512M, 2G.")
]
Include: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        metavar="GLOBS",
        help="Of what folders and archives hold, read only what matches: `*.jsonl`, `runs/**/a.json` (comma list, repeatable).",
    ),
]
Exclude: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="GLOBS",
        help="Pass over what matches, and all that is in it; a path that is named is read in any case (comma list, repeatable).",
    ),
]
Color: TypeAlias = Annotated[str, typer.Option("--color", metavar="WHEN", help="Use colour: auto, always or never.")]
Paths: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH...", help="Files, folders, patterns, addresses (`s3://…`), or `-` for standard input.", show_default=False
    ),
]
