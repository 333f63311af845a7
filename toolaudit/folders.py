"""Rules, formats, targets and outputs are one file each, in a folder of their kind: what lies there is what there is.

What the files say is gathered in a table beside them (`_table.json`, written by `python -m tests.regenerate`), for reading one file is
quicker than reading fifty. A file that the table does not know is read itself.
"""

from __future__ import annotations

import os
from typing import TypeVar

TABLE = "_table.json"

T = TypeVar("T")


def names(folder: str, suffix: str = ".py") -> list[str]:
    """The files of a folder by the names users write (`openai-chat` for `openai_chat.py`), sorted; helpers (`_json.py`) are left out."""
    # `pkgutil`, `pathlib` and `importlib.resources` take longer to load than this takes to answer
    files = (file for file in os.listdir(folder) if file.endswith(suffix) and not file.startswith("_"))  # noqa: PTH208
    return sorted(file.removesuffix(suffix).replace("_", "-") for file in files)


def table(folder: str, kind: type[T]) -> dict[str, T]:
    """The table of a folder, with values of this kind by their names; empty where there is none."""
    import msgspec

    try:
        with open(f"{folder}{os.sep}{TABLE}", "rb", buffering=0) as file:  # noqa: PTH123
            return msgspec.json.decode(file.read(), type=dict[str, kind])  # type: ignore[valid-type]
    except (OSError, msgspec.MsgspecError):
        return {}
