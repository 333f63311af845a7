"""The options that several commands share, with their help."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer


def _formats() -> list[str]:
    from toolaudit import formats

    return list(formats.names())


def _targets() -> list[str]:
    from toolaudit import targets

    return list(targets.names())


Target: TypeAlias = Annotated[
    str | None, typer.Option("--target", metavar="NAME", help="Judge by this receiver's law; see `toolaudit targets`.", autocompletion=_targets)
]
Sent: TypeAlias = Annotated[bool, typer.Option("--sent", help="The transcripts were sent as they stand: an unanswered end is missing.")]
InputFormat: TypeAlias = Annotated[
    str | None, typer.Option("--input-format", metavar="NAME", help="Read as this format; see `toolaudit formats`.", autocompletion=_formats)
]
At: TypeAlias = Annotated[
    list[str] | None, typer.Option("--at", metavar="POINTER", help="JSON pointer to the transcript in each record (repeatable).")
]
Quiet: TypeAlias = Annotated[int, typer.Option("-q", "--quiet", count=True, help="Only the closing line; -qq: nothing.")]
Verbose: TypeAlias = Annotated[
    int, typer.Option("-v", "--verbose", count=True, help="Say what became of each file; -vv: tracebacks of faults, too.")
]
StdinFilename: TypeAlias = Annotated[str, typer.Option("--stdin-filename", metavar="NAME", help="What to call standard input.")]
OutputFile: TypeAlias = Annotated[
    str | None, typer.Option("-o", "--output", metavar="FILE", help="Write to this file (UTF-8) instead of standard output.")
]
RecordSize: TypeAlias = Annotated[
    str, typer.Option("--max-record-size", metavar="SIZE", help="Longest record that is read, in bytes or as 64K, 512M, 2G.")
]
Color: TypeAlias = Annotated[str, typer.Option("--color", metavar="WHEN", help="Use colour: auto, always or never.")]
