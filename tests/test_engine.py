"""The pipeline: what it keeps, and what it lets go."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from toolaudit.engine import Audit, Options
from toolaudit.pairs import Pairs


def faulty(number: int, body: str) -> dict[str, Any]:
    """A conversation with one result that is long, and one that is missing."""
    calls = [{"id": f"call_{number}_{i}", "type": "function", "function": {"name": "look", "arguments": "{}"}} for i in range(2)]
    return {
        "messages": [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": f"call_{number}_0", "content": body},
            {"role": "user", "content": "Well?"},
        ]
    }


@pytest.mark.parametrize("audit", [lambda: Audit(Options()), lambda: Pairs(Options(), lambda _: None)])
def test_what_was_judged_does_not_stay_in_memory(tmp_path: Path, audit: Any) -> None:
    path = tmp_path / "faulty.jsonl"
    path.write_text("".join(json.dumps(faulty(number, "x" * 20_000)) + "\n" for number in range(100)))
    audit().paths([str(path)])  # what is imported and remembered once
    tracemalloc.start()
    try:
        run = audit()
        run.paths([str(path)])
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert run.report.summary.calls == 200
    assert kept < 1_000_000  # of 2 MB that were read
