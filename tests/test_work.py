"""Work beside other work: any number of workers, on any engine, gives one report; the death of a worker costs nothing, or is said."""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from cli_helper import Ran, execute
from test_excerpts import CASES, growing, healthy
from test_ranges import logged
from test_remote import store

__all__ = ["store"]

PROGRAM = Path(__file__).with_name("work_program.py")
posix = pytest.mark.skipif(os.name != "posix" or not Path("/proc").is_dir(), reason="signals and /proc")


def check(how: str, *arguments: str | Path, span: int = 4000, cwd: Path, env: dict[str, str] | None = None) -> Ran:
    return execute([sys.executable, str(PROGRAM), str(span), how, "check", *map(str, arguments)], cwd=cwd, env=env)


def timeless(text: str) -> str:
    return re.sub(r'"seconds": ?[0-9.e-]+', '"seconds":0', text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Transcripts of all kinds, some of them longer than a unit."""
    import random

    root = tmp_path_factory.mktemp("work")
    runs = root / "runs"
    (runs / "small").mkdir(parents=True)
    rng = random.Random(1)
    for number, case in enumerate(CASES[:40]):
        (runs / "small" / f"{number:02}.json").write_bytes(orjson.dumps(case["transcript"]))
    call = healthy(2, "openai-chat", "lost")
    threads = [healthy(9, "openai-chat", f"t{number}") for number in range(6)]
    del threads[2][10]
    (runs / "log.jsonl").write_bytes(b"\n".join(logged(threads, rng)) + b"\n")
    rows = [{"model": "x", "messages": healthy(3, "openai-chat", f"n{number}")} for number in range(60)]
    del rows[7]["messages"][2], rows[50]["messages"][6]
    lines = [orjson.dumps(row) for row in rows]
    (runs / "rows.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    (runs / "growing.jsonl").write_bytes(b"\n".join(growing(healthy(12, "openai-chat", "g"), "messages")) + b"\n")
    (runs / "rows.jsonl.gz").write_bytes(gzip.compress(b"\n".join(lines[::2])))
    (runs / "orphan.json").write_bytes(
        orjson.dumps({"messages": [{"role": "user", "content": "go"}, {**call[2], "tool_call_id": "n3call_1"}]})
    )
    (runs / "broken.jsonl").write_bytes(b"\n".join([*lines[:20], b"{", *lines[20:]]))
    (runs / "notes.txt").write_text("none of it", "utf-8")
    return root


@pytest.fixture(scope="module")
def alone(folder: Path) -> str:
    """What one process reports, without ranges."""
    ran = check("well", "runs", "-f", "json", "--jobs", "1", cwd=folder)
    assert ran.code == 1
    assert len(json.loads(ran.out)["findings"]) > 20
    return timeless(ran.out)


@pytest.mark.parametrize("jobs", ["2", "3"])
@pytest.mark.parametrize("span", [1000, 20_000])
def test_report_is_the_same_for_any_number_of_workers(jobs: str, span: int, folder: Path, alone: str) -> None:
    ran = check("well", "runs", "-f", "json", "--jobs", jobs, cwd=folder, span=span)
    assert (ran.code, ran.err) == (1, "")
    assert timeless(ran.out) == alone


def test_human_report_is_the_same(folder: Path) -> None:
    texts = [check("well", "runs", "--show-content", "-v", "--jobs", jobs, cwd=folder).out for jobs in ("1", "2")]
    assert len(texts[0]) > 1000
    assert texts[0] == texts[1]


@posix
@pytest.mark.parametrize("name", ["processes", "dask"])
def test_worker_that_is_killed_costs_nothing(name: str, folder: Path, alone: str) -> None:
    if name == "dask":
        pytest.importorskip("distributed")
    ran = check("outside", "runs", "-f", "json", "--jobs", "2", "--engine", name, cwd=folder)
    assert (ran.code, ran.err) == (1, "")
    assert timeless(ran.out) == alone


def killers(folder: Path, tmp_path: Path) -> Path:
    for name in ("a", "killer", "z"):
        (tmp_path / f"{name}.json").write_bytes((folder / "runs" / "small" / "00.json").read_bytes())
    (tmp_path / "b.jsonl").write_bytes((folder / "runs" / "rows.jsonl").read_bytes())
    return tmp_path


@posix
def test_work_that_kills_its_worker_once_is_done_again(folder: Path, tmp_path: Path) -> None:
    killers(folder, tmp_path)
    expected = check("well", ".", "-f", "json", "--jobs", "1", cwd=tmp_path)
    ran = check("once", ".", "-f", "json", "--jobs", "2", cwd=tmp_path)
    assert (ran.code, ran.err) == (expected.code, "")
    assert timeless(ran.out) == timeless(expected.out)


@posix
def test_file_that_kills_every_worker_is_named_and_the_others_are_checked(folder: Path, tmp_path: Path) -> None:
    killers(folder, tmp_path)
    ran = check("always", ".", "-f", "json", "--jobs", "2", cwd=tmp_path, span=20_000)
    assert ran.code == 2
    assert "killer.json: it was not checked: its worker was killed by SIGKILL, as happens when memory runs out" in ran.err
    report = json.loads(ran.out)
    assert {one["path"]: one["status"] for one in report["inputs"]} == {
        "a.json": "read",
        "b.jsonl": "read",
        "killer.json": "failed",
        "z.json": "read",
    }


@posix
def test_range_that_is_lost_is_named_and_leaves_the_audit_incomplete(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "killer.jsonl").write_bytes((folder / "runs" / "rows.jsonl").read_bytes())
    ran = check("always", "killer.jsonl", "-f", "json", "--jobs", "2", cwd=tmp_path)
    assert ran.code == 2
    assert re.search(r"killer\.jsonl: its bytes from 0 to [0-9,]+ were not checked: its worker was killed by SIGKILL", ran.err)


@posix
def test_ctrl_c_reports_what_was_done(folder: Path) -> None:
    ran = check("interrupt", "runs/rows.jsonl", "-f", "concise", "--jobs", "2", cwd=folder)
    assert ran.code == 130
    assert "runs/rows.jsonl:8" in ran.out
    assert "runs/rows.jsonl:51" not in ran.out
    assert "interrupted" in ran.err


@pytest.fixture
def bucket(folder: Path, store: Any) -> Iterator[dict[str, str]]:
    """The same files in a bucket; what says where that is."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        store.put_object(Bucket="bucket", Key=f"work/{path.relative_to(folder).as_posix()}", Body=path.read_bytes())
    yield {name: os.environ[name] for name in os.environ if name.startswith("AWS_")}


@pytest.mark.parametrize("options", [["--jobs", "1"], ["--jobs", "2"], ["--engine", "dask"]], ids=["alone", "processes", "dask"])
def test_bucket_gives_the_report_of_the_folder(options: list[str], folder: Path, alone: str, bucket: dict[str, str]) -> None:
    if "dask" in options:
        pytest.importorskip("distributed")
    how = "outside" if "dask" in options else "well"
    ran = check(how, "s3://bucket/work/runs/", "-f", "json", *options, cwd=folder, env=bucket)
    assert (ran.code, ran.err) == (1, "")
    found, expected = json.loads(timeless(ran.out.replace("s3://bucket/work/", ""))), json.loads(alone)

    def in_order(report: dict[str, Any]) -> dict[str, Any]:
        """A store lists by the bytes of whole names, a folder by those of each part; fingerprints are of the path."""
        for entry in report["findings"]:
            del entry["fingerprint"], entry["root"]
        return {key: sorted(value, key=json.dumps) if isinstance(value, list) else value for key, value in report.items()}

    assert in_order(found) == in_order(expected)


def test_address_that_is_not_there_is_said(folder: Path, bucket: dict[str, str]) -> None:
    ran = check("well", "s3://bucket/nothing.jsonl", cwd=folder, env=bucket)
    assert ran.code == 2
    assert "s3://bucket/nothing.jsonl: there is no such object, and nothing lies below it" in ran.err


def test_engine_that_does_not_exist_is_said(folder: Path) -> None:
    ran = check("well", "runs", "--engine", "steam", cwd=folder)
    assert ran.code == 2
    assert "no engine is called `steam`" in ran.err
