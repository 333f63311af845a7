"""The parser: every command, by Typer."""

from __future__ import annotations

import typer
from typer import _click as click

from toolaudit.cli import Work, _version
from toolaudit.cli.check import check
