"""`toolaudit schema`."""

from __future__ import annotations

from typing import Annotated

import typer

from toolaudit.cli import Work


def _names() -> list[str]:
    from toolaudit import schemas

    return schemas.names()


def schema(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Print this schema.", autocompletion=_names)] = None,
) -> Work:
    """Print a published JSON Schema; without a name, list them."""
    return _list if name is None else lambda: _print(name)


def _list() -> int:
    from toolaudit.cli._terminal import stdout

    stdout().write("".join(f"{name}\n" for name in _names()))
    return 0


def _print(name: str) -> int:
    from toolaudit import schemas
    from toolaudit.cli._choices import chosen
    from toolaudit.cli._terminal import stdout

    names = schemas.names()
    short = [known.rpartition("/")[2] for known in names]
    stdout().write(schemas.schema(chosen("schema", name, dict.fromkeys([*names, *short]))).decode())
    return 0
