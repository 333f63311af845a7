"""The measurements run; what they measure is no matter for a test."""

from __future__ import annotations

import hashlib

from benchmarks.corpus import KINDS
from benchmarks.run import measure


def test_an_input_is_always_the_same() -> None:
    for make in KINDS.values():
        first, second = (hashlib.sha256(b"".join(make(0.2, 1))).hexdigest() for _ in range(2))
        assert first == second


def test_a_small_input_is_measured(tmp_path) -> None:
    path = tmp_path / "small.jsonl"
    path.write_bytes(b"".join(KINDS["conversations"](0.2, 1)))
    own, bare, ratio = measure(path, 1)
    assert own > 0 and bare > 0 and ratio > 0
