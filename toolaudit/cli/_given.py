"""What the user asked of an audit, as it was said."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Given(Struct, kw_only=True):
    """The options of `check`; `pairs` uses those that it has."""

    paths: Sequence[str] = ()
    select: Sequence[str] = ()
    extend_select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    fail_on: str = "warning"
    exit_zero: bool = False
    target: str | Sequence[str] = ()
    sent: bool = False
    deep: bool = False
    jobs: int | None = None
    engine: str = "processes"
    tools: str | None = None
    input_format: str | None = None
    at: Sequence[str] = ()
    strict: bool = False
    show_content: bool = False
    check_shape: bool = False
    color: str = "auto"
    no_progress: bool = False
    quiet: int = 0
    verbose: int = 0
    stdin_filename: str = "-"
    output: str | None = None
    output_format: str | None = None
    max_record_size: str = "1G"
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
