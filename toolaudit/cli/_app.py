"""The parser: every command, by Typer."""

from __future__ import annotations

from typing import Annotated

import typer

from toolaudit.cli import Work, _version
from toolaudit.cli.check import check
from toolaudit.cli.compare import compare
from toolaudit.cli.formats import formats
from toolaudit.cli.pairs import pairs
from toolaudit.cli.rule import rule
from toolaudit.cli.schema import schema
from toolaudit.cli.targets import targets
from toolaudit.errors import UsageError

_REFUSAL: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""What the parser raises for a command line it does not understand; where it is defined depends on Typer's version."""

_EPILOG = "Exit codes: 0 nothing found, 1 findings, 2 incomplete audit or wrong usage, 101 a fault of toolaudit, 130 interrupted."


def parse(arguments: list[str]) -> Work:
    """The work that the arguments ask for. Raises UsageError for those that make no sense."""
    try:
        found = typer.main.get_command(_app())(args=arguments, prog_name="toolaudit", standalone_mode=False)
    except _REFUSAL as error:
        raise _usage(error) from None
    except SystemExit as error:  # completion ends so, and a pipe that was closed while help was printed
        found = 0 if isinstance(error.__context__, BrokenPipeError) else error.code
    return found if callable(found) else lambda: found if isinstance(found, int) else 0


def _app() -> typer.Typer:
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]})
    app.callback(invoke_without_command=True, epilog=_EPILOG)(_toolaudit)
    for command in (check, pairs, compare, rule, formats, targets, schema):
        app.command()(command)
    return app


def _toolaudit(
    context: typer.Context, version: Annotated[bool, typer.Option("-V", "--version", help="Print the version and exit.")] = False
) -> Work | None:
    """Audit the transcripts that tool-calling models leave behind."""
    if version:
        raise typer.Exit(_version())
    if context.invoked_subcommand is None:
        raise UsageError("no command is given", "`toolaudit check PATH` audits files and folders; `toolaudit --help` lists the commands")
    return None


def _usage(error: Exception) -> UsageError:
    """The parser's refusal in our words: a sentence, and where to read on."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "toolaudit"
    message = getattr(error, "format_message", error.__str__)().rstrip(".")
    return UsageError(message[:1].lower() + message[1:], f"`{command} --help` lists the options")
