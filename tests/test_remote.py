from __future__ import annotations

import contextlib
import gzip
import http.server
import logging
import os
import random
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import pytest
from cli_helper import execute, python
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolaudit.errors import InputError
from toolaudit.sources import Unusable, remote
from toolaudit.sources.remote import BLOCK, GLANCE, RemoteError, RemoteObject, _Ranges, is_url, listed, open_url, shown, size_of

BIG = random.Random(7).randbytes(2 * BLOCK + 12345)
LINES = b"".join(b'{"line": %d, "text": "%s"}\n' % (number, b"x" * (number % 97)) for number in range(20_000))
OBJECTS = {
    "runs/": b"",  # how some programs mark a folder
    "runs/a.jsonl": LINES,
    "runs/a.jsonl.gz": gzip.compress(LINES),
    "runs/big.bin": BIG,
    "runs/empty.json": b"",
    "runs/.hidden/x.json": b"{}",
    "runs/sub/.y.json": b"{}",
    "runs/sub/deep/z.json": b"{}",
    "runs/with space, é and %2F?.json": b'{"odd": 1}',
    "runs-2/other.json": b"{}",
}


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    """An S3 server on the loopback, with its client; the environment says where it is."""
    pytest.importorskip("obstore")
    boto3, moto = pytest.importorskip("boto3"), pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "hushhush",
            "AWS_REGION": "us-east-1",
        }.items():
            patch.setenv(name, value)
        client = boto3.client("s3", endpoint_url=f"http://{host}:{port}")
        client.create_bucket(Bucket="bucket")
        for key, body in OBJECTS.items():
            client.put_object(Bucket="bucket", Key=key, Body=body)
        yield client
        remote._stores.cache_clear()
    server.stop()


def stream(url: str, size: int | None = None) -> BinaryIO:
    opened = open_url(url, size)
    assert not isinstance(opened, Unusable)
    return opened


def refused(item: Any) -> str:
    assert isinstance(item, Unusable)
    return item.reason


# ------------------------------------------------------------------------------------------------------------------- addresses


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3://b/k", True),
        ("gs://b", True),
        ("az://c/k", True),
        ("https://h/x?y", True),
        ("http://h/", True),
        ("hf://datasets/a/b", True),
        ("-", False),
        ("a.json", False),
        ("s3:/b/k", False),
        ("C://x", False),
        ("file:///x", False),
        ("", False),
    ],
)
def test_what_is_an_address(path: str, expected: bool) -> None:
    assert is_url(path) is expected


def test_telling_an_address_needs_no_library() -> None:
    code = """
from toolaudit.sources.remote import is_url
print(is_url('s3://b'), sorted({'obstore', 'fsspec', 'huggingface_hub', 'asyncio'} & set(sys.modules)))
"""
    assert python(code).out == "True []\n"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://u:p@host:8/a/b.json?X-Amz-Signature=s#f", "https://host:8/a/b.json"),
        ("https://host?sig=/x@y", "https://host"),
        ("https://host/a@b", "https://host/a@b"),
        ("s3://bucket/a?b#c", "s3://bucket/a?b#c"),
    ],
)
def test_what_is_shown_of_an_address_is_no_secret(url: str, expected: str) -> None:
    assert shown(url) == expected


def test_library_that_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("obstore", "obstore.store", "huggingface_hub"):
        monkeypatch.setitem(sys.modules, library, None)
    for url in ("s3://b/k", "https://h/k", "hf://datasets/a/b/c"):
        for use in (size_of, open_url, lambda url: list(listed(url)), partial(open_url, size=9)):
            with pytest.raises(InputError) as caught:
                use(url)
            assert caught.value.hint == "pip install 'toolaudit-cli[remote]'"


# --------------------------------------------------------------------------------------------------------------------- listing


def test_folder_is_listed_in_order_without_hidden_names_and_marks(store: Any) -> None:
    names = ["a.jsonl", "a.jsonl.gz", "big.bin", "empty.json", "sub/deep/z.json", "with space, é and %2F?.json"]
    expected = [RemoteObject(f"s3://bucket/runs/{name}", len(OBJECTS[f"runs/{name}"])) for name in names]
    assert list(listed("s3://bucket/runs/")) == expected
    assert list(listed("s3://bucket/runs/sub")) == [RemoteObject("s3://bucket/runs/sub/deep/z.json", 2)]


def test_bucket_is_listed_whole(store: Any) -> None:
    found = [item.url.removeprefix("s3://bucket/") for item in listed("s3://bucket") if isinstance(item, RemoteObject)]
    assert found[:1] + found[-1:] == ["runs-2/other.json", "runs/with space, é and %2F?.json"]
    assert list(listed("s3://bucket/")) == list(listed("s3://bucket"))


def test_object_is_listed_alone_even_when_its_name_is_hidden(store: Any) -> None:
    assert list(listed("s3://bucket/runs/a.jsonl")) == [RemoteObject("s3://bucket/runs/a.jsonl", len(LINES))]
    assert list(listed("s3://bucket/runs/sub/.y.json")) == [RemoteObject("s3://bucket/runs/sub/.y.json", 2)]


def test_hidden_folder_is_listed_when_it_is_named(store: Any) -> None:
    assert list(listed("s3://bucket/runs/.hidden/")) == [RemoteObject("s3://bucket/runs/.hidden/x.json", 2)]


@pytest.mark.parametrize("url", ["s3://bucket/nothing", "s3://bucket/nothing/", "s3://bucket/run", "s3://bucket/runs/a.jsonl/"])
def test_nothing_there(store: Any, url: str) -> None:
    [item] = listed(url)
    assert item == Unusable(url, "there is no such object, and nothing lies below it", True)


def test_bucket_that_is_not_there(store: Any) -> None:
    [item] = listed("s3://no-bucket/x/")
    assert refused(item) == "there is no such object or bucket"


def test_names_that_cannot_be_listed_are_said(store: Any) -> None:
    store.put_object(Bucket="bucket", Key="odd//x", Body=b"1")
    [item] = listed("s3://bucket/odd/")
    assert "empty part" in refused(item)
    store.delete_object(Bucket="bucket", Key="odd//x")


# --------------------------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("key", [key for key in OBJECTS if not key.endswith("/")])
def test_bytes_are_those_that_were_put(store: Any, key: str) -> None:
    with stream(f"s3://bucket/{key}") as file:
        assert file.read() == OBJECTS[key]
    assert size_of(f"s3://bucket/{key}") == len(OBJECTS[key])


def test_lines_of_plain_and_gzip_objects(store: Any) -> None:
    with stream("s3://bucket/runs/a.jsonl") as file:
        assert list(file) == LINES.splitlines(keepends=True)
    with stream("s3://bucket/runs/a.jsonl.gz") as file, gzip.open(file) as unpacked:
        assert unpacked.read() == LINES


def test_random_seeks_give_the_bytes_of_a_local_file(store: Any, tmp_path: Path) -> None:
    chance = random.Random(11)
    (tmp_path / "big").write_bytes(BIG)
    with stream("s3://bucket/runs/big.bin", len(BIG)) as file, (tmp_path / "big").open("rb") as local:
        for _ in range(25):
            offset, length = chance.randrange(len(BIG) + 99), chance.choice((1, 100, GLANCE, BLOCK))
            assert file.seek(offset) == local.seek(offset)
            assert file.read(length) == local.read(length)
        assert file.seek(-100, 2) == local.seek(-100, 2)
        assert file.read() == local.read()


def test_object_that_changes_while_it_is_read_is_noticed(store: Any) -> None:
    store.put_object(Bucket="bucket", Key="changing", Body=BIG)
    with stream("s3://bucket/changing") as file:
        file.read(10)
        store.put_object(Bucket="bucket", Key="changing", Body=BIG[::-1])
        with pytest.raises(RemoteError, match=r"^it was changed while it was being read$"):
            file.seek(2 * BLOCK + 5)
            file.read(10)
    store.delete_object(Bucket="bucket", Key="changing")


def test_object_that_is_gone(store: Any) -> None:
    assert size_of("s3://bucket/gone") == Unusable("s3://bucket/gone", "there is no such object", True)
    assert open_url("s3://bucket/gone") == Unusable("s3://bucket/gone", "there is no such object", True)
    with stream("s3://bucket/gone", 5) as file, pytest.raises(RemoteError, match=r"^there is no such object$"):
        file.read()


def test_workers_read_what_their_parent_has_listed(store: Any) -> None:
    code = """
from functools import partial
from toolaudit.engines import engine, run
from toolaudit.sources.remote import listed, size_of
if __name__ == "__main__":  # the workers read this too: they are not forked, for the listing has left threads behind
    found = list(listed("s3://bucket/runs/"))
    print([item.size for item in found] == list(run(partial(engine, "processes", 2), size_of, [item.url for item in found])))
"""
    ran = execute([sys.executable, "-c", code], env={name: value for name, value in os.environ.items() if name.startswith("AWS_")})
    assert (ran.out, ran.err) == ("True\n", "")


# ------------------------------------------------------------------------------------------------------------------ in ranges

DATA = bytes(range(256)) * 20


def ranges(monkeypatch: pytest.MonkeyPatch, size: int = len(DATA), until: int | None = None) -> tuple[_Ranges, list[tuple[int, int]]]:
    """Ranges of `DATA`, in blocks of a hundred bytes, ten for a glance; and what is asked for."""
    monkeypatch.setattr(remote, "BLOCK", 100)
    monkeypatch.setattr(remote, "GLANCE", 10)
    asked: list[tuple[int, int]] = []

    def fetch(start: int, end: int) -> bytes:
        asked.append((start, end))
        return DATA[start:end]

    return _Ranges(fetch, size, size if until is None else until), asked


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(steps=st.lists(st.tuples(st.integers(0, len(DATA) + 50) | st.none(), st.integers(0, 300)), max_size=20))
def test_any_way_of_reading_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch, steps: list[tuple[int | None, int]]) -> None:
    raw, asked = ranges(monkeypatch)
    at = 0
    with raw:
        for offset, length in steps:
            if offset is not None:
                at = raw.seek(offset)
            got = raw.read(length)
            assert got == DATA[at : at + len(got)]
            assert bool(got) == bool(length and at < len(DATA))
            at += len(got)
    assert all(0 <= start < end <= len(DATA) and end - start <= 100 for start, end in asked)


def test_reading_on_asks_once_for_each_block_and_one_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    raw, asked = ranges(monkeypatch, 450)
    assert raw.read(1) == DATA[:1]
    raw.ahead.result()  # type: ignore[union-attr]
    assert asked == [(0, 100), (100, 200)]
    assert raw.readall() == DATA[1:450]
    assert asked == [(0, 100), (100, 200), (200, 300), (300, 400), (400, 450)]


def test_nothing_behind_the_end_of_a_unit_is_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    raw, asked = ranges(monkeypatch, until=250)
    raw.seek(120)
    assert b"".join(raw.read(100) for _ in range(2)) == DATA[120:320][: 100 + 30]
    assert asked == [(120, 220), (220, 250)]
    assert raw.read(5) == DATA[250:255], "though it may be asked for"


def test_jumping_about_asks_for_little(monkeypatch: pytest.MonkeyPatch) -> None:
    raw, asked = ranges(monkeypatch)
    for offset in (5000, 0, 3000):
        raw.seek(offset)
        assert raw.read(1) == DATA[offset : offset + 1]
    assert sorted(asked) == [(0, 10), (3000, 3010), (5000, 5100), (5100, 5120)]


def test_answer_that_is_too_short_is_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    raw, _ = ranges(monkeypatch, len(DATA) + 7)
    raw.seek(len(DATA) - 3)
    with pytest.raises(RemoteError, match=r"^it ends too early: 3 bytes came where 10 were asked for$"):
        raw.read(10)


# --------------------------------------------------------------------------------------------------------------------- the web


class Web(http.server.BaseHTTPRequestHandler):
    """Answers what the path asks for, to GET alone: a signed address is signed for one method."""

    def do_GET(self) -> None:
        what, _, query = self.path.partition("?")
        if what.startswith("/status/"):
            self.send_error(int(what.rsplit("/", 1)[1]), explain=f"secret {query}")
            return
        body = OBJECTS["runs/a.jsonl"]
        if what == "/whole" or "Range" not in self.headers:
            self.send_response(200)
        elif what == "/empty":
            self.send_response(416)
            self.send_header("Content-Range", "bytes */0")
            body = b""
        else:
            start, end = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{min(end, len(body) - 1)}/{len(body)}")
            body = body[start : end + 1]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # who asked for a part does not take the whole
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    pytest.importorskip("obstore")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_web_address_is_read_by_getting_alone(web: str) -> None:
    url = f"{web}/a.jsonl?signature=secret"
    assert list(listed(url)) == [RemoteObject(url, len(LINES))]
    with stream(url) as file:
        assert file.read() == LINES
    assert size_of(f"{web}/empty") == 0
    with stream(f"{web}/empty") as file:
        assert file.read() == b""


def test_signed_address_of_an_object(store: Any) -> None:
    url = store.generate_presigned_url("get_object", Params={"Bucket": "bucket", "Key": "runs/with space, é and %2F?.json"})
    with stream(url) as file:
        assert file.read() == b'{"odd": 1}'


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/status/403", "denies"),
        ("/status/401", "credentials"),
        ("/status/404", "no such object"),
        ("/status/418", "418"),
        ("/whole", "no parts"),
        ("/folder/", "cannot be listed"),
    ],
)
def test_what_the_web_refuses_is_said_without_a_secret(web: str, path: str, reason: str) -> None:
    url = f"{web.replace('://', '://user:secret@')}{path}?signature=secret" if not path.endswith("/") else web + path
    items = [*listed(url), *(size_of(url) for _ in range(not path.endswith("/")))]
    for item in items:
        assert reason in refused(item)
        assert "secret" not in repr(item)
        assert "\n" not in repr(item)


def test_web_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("obstore")
    monkeypatch.setitem(remote._RETRIES, "max_retries", 1)
    item = size_of("http://127.0.0.1:1/x?signature=secret")
    assert item == Unusable("http://127.0.0.1:1/x", "it cannot be read: no connection to the store can be made", True)


def test_failure_halfway_shows_no_secret_even_in_a_traceback(web: str) -> None:
    with stream(f"{web}/status/403?signature=hush", 10) as file, pytest.raises(RemoteError) as caught:
        file.read()
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert str(caught.value) == "it may not be read: the store denies it to these credentials"


# --------------------------------------------------------------------------------------------------------------------- the hub


class Hub:
    """What is used of the file system of huggingface_hub."""

    files: ClassVar = {"datasets/a/b/x.jsonl": LINES, "datasets/a/b/.git": b"1", "datasets/a/b/c/y.json": b"{}"}

    def info(self, path: str) -> dict[str, Any]:
        if path in self.files:
            return {"type": "file", "size": len(self.files[path])}
        if any(name.startswith(f"{path}/") for name in self.files):
            return {"type": "directory", "size": 0}
        raise FileNotFoundError(path)

    def find(self, path: str, *, detail: bool) -> dict[str, Any]:
        return {name: self.info(name) for name in reversed(self.files) if name.startswith(f"{path}/")}

    def open(self, path: str, mode: str, *, cache_type: str) -> BinaryIO:
        import io

        return io.BytesIO(self.files[path])


def test_hub_is_listed_and_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_hub", Hub)
    expected = [RemoteObject("hf://datasets/a/b/c/y.json", 2), RemoteObject("hf://datasets/a/b/x.jsonl", len(LINES))]
    assert list(listed("hf://datasets/a/b")) == expected == list(listed("hf://datasets/a/b/"))
    assert size_of("hf://datasets/a/b/x.jsonl") == len(LINES)
    with stream("hf://datasets/a/b/x.jsonl") as file:
        assert list(file) == LINES.splitlines(keepends=True)
    assert refused(size_of("hf://datasets/a/none")) == "there is no such object"
