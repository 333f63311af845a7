"""What every test may use."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the machine decides what a test sees."""
    import os

    for name in list(os.environ):
        if name.startswith(("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CI", "GITHUB_", "TTY_", "COLUMNS", "TERM", "TOOLAUDIT_")):
            monkeypatch.delenv(name)
