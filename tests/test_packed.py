"""Compressed files, archives, and what they are made of to harm their reader."""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import lzma
import random
import stat
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from cli_helper import python, run
from hypothesis import given, settings
from hypothesis import strategies as st

from toolaudit.sources import Archive, Source, Unusable, archives, opened, unpack
from toolaudit.sources.globs import Globs
from toolaudit.sources.records import NotText, Record, Unreadable, records

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CODECS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": functools.partial(gzip.compress, mtime=0),
    "Zstandard": zstd.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
GOOD = orjson.dumps([{"role": "user", "content": "hi"}, CALL, {"role": "tool", "tool_call_id": "call_1", "content": "1"}]) + b"\n"
BAD = orjson.dumps([{"role": "user", "content": "hi"}, CALL, {"role": "user", "content": "and?"}]) + b"\n"
LINES = (GOOD + BAD) * 40

each_codec = pytest.mark.parametrize("name", CODECS)


class Pipe(io.RawIOBase):
    """A stream that cannot be read twice and gives a few bytes at a time."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece, self.rest = self.rest[: min(5, len(buffer))], self.rest[min(5, len(buffer)) :]
        buffer[: len(piece)] = piece
        return len(piece)


def open_bytes(data: bytes, *, pipe: bool = False, globs: Globs | None = None, named: bool = True) -> Any:
    stream: Any = io.BufferedReader(Pipe(data)) if pipe else io.BytesIO(data)
    return opened(Source("x", named, None), stream, globs)


def plain(data: bytes) -> bytes:
    stream = open_bytes(data)
    assert not isinstance(stream, (Archive, Unusable))
    found: bytes = stream.read()
    assert unpack.failure_of(stream) is None
    return found


def items(data: bytes, name: str = "x.jsonl") -> list[Record | Unreadable | NotText]:
    return list(records(open_bytes(data), name))


def members(data: bytes, **options: Any) -> dict[str, Any]:
    """What an archive holds: the text of each member, or why it has none."""
    archive = open_bytes(data, **options)
    assert isinstance(archive, Archive)
    return {
        one.path if isinstance(one, Unusable) else one.source.path: one.reason if isinstance(one, Unusable) else one.stream.read()
        for one in archive.members
    }


# ------------------------------------------------------------------------------------------------------------ compression


@each_codec
def test_findings_are_those_of_the_plain_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "x.jsonl").write_bytes(LINES)
    (tmp_path / "y").write_bytes(CODECS[name](LINES))
    reports = [orjson.loads(run("check", "-f", "json", path, cwd=tmp_path).out) for path in ("x.jsonl", "y")]
    for report in reports:
        report["summary"]["seconds"] = 0
        for entry in (*report["findings"], *report["inputs"]):
            assert entry.pop("path") in ("x.jsonl", "y")
            entry.pop("fingerprint", None)
    assert reports[0] == reports[1]
    assert len(reports[0]["findings"]) == 40


@each_codec
def test_standard_input(name: str) -> None:
    ran = run("check", "-f", "concise", "-", stdin=CODECS[name](LINES))
    assert ran.code == 1
    assert "checked 1 file, 80 calls, 40 paired, 40 missing" in ran.out


@each_codec
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_split_into_members_reads_as_the_same_text(name: str, data: st.DataObject) -> None:
    text = b"[" + data.draw(st.binary(max_size=3000)) * data.draw(st.integers(1, 60))  # which is no magic number
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=40)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    padding = b"\0" * 4 * data.draw(st.integers(0, 3))
    packed = b"".join(CODECS[name](piece) + padding for piece in pieces)
    stream = open_bytes(packed, pipe=data.draw(st.booleans()))
    if isinstance(stream, Archive) or text[257:262] == b"ustar":  # the text itself looks packed
        return
    assert stream.read() == text
    assert unpack.failure_of(stream) is None


def test_thousands_of_small_members_are_read_at_once() -> None:
    text = random.Random(1).randbytes(40_000)
    assert plain(b"".join(gzip.compress(text[at : at + 4]) for at in range(0, len(text), 4))) == text


def test_frames_that_only_carry_metadata_are_passed_over() -> None:
    skipped = b"\x51\x2a\x4d\x18\x03\0\0\0abc"
    assert plain(skipped + zstd.compress(b"a") + skipped + zstd.compress(b"b") + skipped) == b"ab"


def test_without_the_fast_library_gzip_is_read_by_the_standard_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal.igzip_lib", None)
    text = random.Random(1).randbytes(300_000) + bytes(3_000_000)
    assert plain(gzip.compress(text[:100]) + gzip.compress(text[100:])) == text
    assert members(zipped(("a", text)))["x!a"] == text


def test_without_zstandard_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("backports.zstd", "compression.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    refusal = open_bytes(zstd.compress(b"{}"))
    assert isinstance(refusal, Unusable)
    assert "pip install backports.zstd" in refusal.reason


@each_codec
def test_stream_that_is_cut_is_judged_as_far_as_it_goes(name: str) -> None:
    text = b"".join(b'{"n": %d, "id": "%d"}\n' % (n, hash(str(n))) for n in range(9000))
    packed = CODECS[name](text)
    found = items(packed[: len(packed) * 2 // 3])
    *before, last = found
    whole = text.splitlines()
    assert len(before) > 1000 or name == "bzip2"  # whose blocks are long
    assert all(isinstance(item, Record) and item.data == whole[item.number - 1] for item in before)
    if name != "bzip2":
        assert isinstance(last, Unreadable)
        assert last.torn
        assert last.number == len(before) + 1
        assert last.reason == f"reading stopped here: its {name} data ends too early"


@each_codec
def test_every_cut_is_noticed(name: str) -> None:
    packed = CODECS[name](LINES)
    for size in range(6, len(packed), 1 + len(packed) // 60):
        found = items(packed[:size])
        assert isinstance(found[-1], Unreadable | NotText), size
        assert len([item for item in found if isinstance(item, Unreadable)]) <= 1


@each_codec
@pytest.mark.parametrize("garbage", [b"x", b"\x1f", b"{}\n", b"PK\x03\x04" * 200, b"\0\0\0\0x"])
def test_what_follows_the_data_is_said(name: str, garbage: bytes) -> None:
    *before, last = items(CODECS[name](LINES) + garbage)
    assert b"".join(item.data + b"\n" for item in before if isinstance(item, Record)) == LINES
    assert isinstance(last, Unreadable)
    assert (last.number, last.torn) == (81, True)
    assert "something else follows" in last.reason


@each_codec
def test_damage_costs_no_more_than_what_is_damaged(name: str) -> None:
    text = b"".join(b'{"n": %d, "id": "%d"}\n' % (n, n * 7919 % 10007) for n in range(3000))
    packed = CODECS[name](text) + CODECS[name](text)
    half = len(packed) // 2
    at = half + half // 2
    found = items(packed[:at] + bytes([packed[at] ^ 0x55]) + packed[at + 1 :])
    assert isinstance(found[-1], Unreadable)
    good = [item.data for item in found if isinstance(item, Record)]
    assert good[:3000] == text.splitlines()


def test_check_sum_that_does_not_hold_costs_the_end_only() -> None:
    packed = gzip.compress(LINES * 50)
    found = items(packed[:-8] + b"\1\2\3\4" + packed[-4:])
    assert len(found) > 3000
    assert isinstance(found[-1], Unreadable)
    assert "damaged" in found[-1].reason


def test_cut_document_keeps_the_values_that_are_whole() -> None:
    pretty = b'{\n "a": 1\n}\n'
    found = items(gzip.compress(pretty * 3 + b'{\n "b"')[:-4], "x")
    assert [item.data for item in found if isinstance(item, Record)] == [pretty.strip()] * 3
    assert isinstance(found[-1], Unreadable)
    assert found[-1].torn


def test_nothing_but_a_header() -> None:
    [item] = items(gzip.compress(b"")[:10])
    assert item == NotText("nothing in it can be read: its gzip data ends too early")
    assert items(gzip.compress(b"")) == [NotText("it is empty")]


def test_compressions_within_one_another() -> None:
    packed = GOOD
    for name in ("gzip", "xz", "Zstandard"):
        packed = CODECS[name](packed)
    assert plain(packed) == GOOD
    refusal = open_bytes(bz2.compress(packed))
    assert isinstance(refusal, Unusable)
    assert refusal.reason == "it is compressed more than 3 times over"


def test_xz_that_asks_for_too_much_memory() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
    packed = lzma.compress(LINES, filters=filters)
    assert plain(packed) == LINES
    greedy = bytearray(packed)
    greedy[16] = 40  # 4 GB
    greedy[20:24] = struct.pack("<I", zlib.crc32(greedy[12:20]))
    [item] = items(bytes(greedy))
    assert item == NotText("nothing in it can be read: its xz data asks for more memory than is sane")


def test_failing_disk_below_compressed_data() -> None:
    class Failing(Pipe):
        def readinto(self, buffer: Any) -> int:
            if not self.rest:
                raise OSError(5, "Input/output error")
            return super().readinto(buffer)

    stream = opened(Source("x", True, None), io.BufferedReader(Failing(gzip.compress(LINES)[:200])))
    assert not isinstance(stream, (Archive, Unusable))
    last = list(records(stream, "x.jsonl"))[-1]
    assert isinstance(last, Unreadable)
    assert last.reason == "reading stopped here: input/output error"


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([CODECS[name](GOOD * 3) for name in CODECS]), st.integers(0), st.binary(min_size=1, max_size=3))
def test_no_damage_raises(packed: bytes, at: int, noise: bytes) -> None:
    at %= len(packed)
    stream = open_bytes(packed[:at] + noise + packed[at + len(noise) :])
    if not isinstance(stream, (Archive, Unusable)):
        list(records(stream, "x"))


# ------------------------------------------------------------------------------------------------------------------ bombs


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "FLOOR", 1 << 20)
    monkeypatch.setattr(unpack, "RATIO", 300)


@each_codec
def test_stream_that_never_ends_is_stopped(small_limits: None, name: str) -> None:
    piece = CODECS[name](b'{"a": 1}\n' * 100_000)
    found = items(piece * 20)
    assert isinstance(found[-1], Unreadable)
    assert (found[-1].reason, found[-1].torn) == ("reading stopped here: it unpacks to more than 300 times its size", False)
    assert sum(len(item.data) + 1 for item in found) <= max(1 << 20, 300 * 20 * len(piece)) + (1 << 20)


def test_honest_repetition_is_not_stopped() -> None:
    text = b'{"role": "user", "content": "the same again"}\n' * 100_000
    packed = zstd.compress(text)
    assert len(text) > 2000 * len(packed)
    assert plain(packed) == text


@pytest.mark.parametrize("pack", ["gzip", "zip", "tar.gz", "gzip in tar"])
def test_document_is_not_held_in_memory_without_end(monkeypatch: pytest.MonkeyPatch, pack: str) -> None:
    monkeypatch.setattr(unpack, "FLOOR", 1 << 20)
    document = b"[\n" + b'{"a": 1,\n"b": 2},\n' * 200_000
    packers = {
        "gzip": gzip.compress,
        "zip": lambda data: zipped(("x", data)),
        "tar.gz": lambda data: gzip.compress(tarred(("x", data))),
        "gzip in tar": lambda data: tarred(("x", gzip.compress(data))),
    }
    stream = open_bytes(packers[pack](document))
    if isinstance(stream, Archive):
        member = next(stream.members)
        assert not isinstance(member, Unusable)
        stream = member.stream
    [item] = records(stream, "x")
    assert isinstance(item, Unreadable)
    assert item.reason.endswith("it unpacks to a document of more than 1,048,576 bytes and 100 times its size")
    assert not item.torn


def test_document_in_an_archive_that_is_not_compressed_may_be_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "FLOOR", 1 << 10)
    document = b"[\n" + b",\n".join([b'{"a": 1}'] * 100_000) + b"]"
    for data in (tarred(("x", document)), zipped(("x", document), method=zipfile.ZIP_STORED)):
        assert read_all(open_bytes(data)) == [[Record(0, document)]]


def test_bomb_within_a_bomb_counts_as_one(small_limits: None) -> None:
    inner = zstd.compress(b"{}\n" * 500_000)
    packed = gzip.compress(inner)
    found = items(packed)
    assert isinstance(found[-1], Unreadable)
    assert "300 times its size" in found[-1].reason
    assert not found[-1].torn


def test_members_share_one_limit(small_limits: None) -> None:
    text = b"{}\n" * 100_000
    found = members(zipped(*[(f"{n}.jsonl", text) for n in range(9)]))
    assert sum(map(len, found.values())) < 1.5 * (1 << 20)


def test_memory_is_bounded_whatever_comes_out() -> None:
    code = (
        "import gzip, io, resource\n"
        "from toolaudit.sources import Source, opened\n"
        "from toolaudit.sources.records import records\n"
        "from backports import zstd\n"
        "packed = zstd.compress(bytes(1 << 24)) * 40\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "stream = opened(Source('x', True, None), io.BytesIO(packed))\n"
        "print(*[type(item).__name__ for item in records(stream, 'x', max_record=1 << 20)])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    if sys.version_info >= (3, 14):
        code = code.replace("from backports", "from compression")
    what, kilobytes = python(code).out.split()
    assert what == "NotText"
    assert int(kilobytes) < 40_000


# ---------------------------------------------------------------------------------------------------------------- archives


def zipped(*given_members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in given_members:
            archive.writestr(name, data)
    return out.getvalue()


def tarred(*given_members: tuple[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data in given_members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


PACKERS: dict[str, Callable[..., bytes]] = {
    "zip": zipped,
    "stored": functools.partial(zipped, method=zipfile.ZIP_STORED),
    "bzip2": functools.partial(zipped, method=zipfile.ZIP_BZIP2),
    "tar": tarred,
    "gnu": functools.partial(tarred, form=tarfile.GNU_FORMAT),
    "ustar": functools.partial(tarred, form=tarfile.USTAR_FORMAT),
    "tar.gz": lambda *given_members: gzip.compress(tarred(*given_members)),
    "tar.zst": lambda *given_members: zstd.compress(tarred(*given_members)),
    "tar.xz": lambda *given_members: lzma.compress(tarred(*given_members)),
}
each_packer = pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)


@each_packer
def test_members_have_the_path_of_the_archive_and_their_own(pack: Callable[..., bytes]) -> None:
    long = "/".join(["folder" * 5] * 4) + "/x.jsonl"
    data = pack(("b/y.jsonl", BAD), ("a.jsonl", LINES * 100), ("c.jsonl.gz", gzip.compress(GOOD)), (long, GOOD), ("./d", b""))
    expected = {"x!b/y.jsonl": BAD, "x!a.jsonl": LINES * 100, "x!c.jsonl.gz": GOOD, f"x!{long}": GOOD, "x!d": b""}
    assert members(data) == expected


@each_packer
def test_order(pack: Callable[..., bytes]) -> None:
    data = pack(("b", b"1"), ("c", b"2"), ("a", b"3"))
    assert list(members(data)) == (["x!a", "x!b", "x!c"] if data.startswith(b"PK") else ["x!b", "x!c", "x!a"])


def test_equal_names_are_all_read() -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        data = zipped(("a", b"1"), ("a", b"2"))
    archive = open_bytes(data)
    assert [one.stream.read() for one in archive.members] == [b"1", b"2"]
    archive = open_bytes(tarred(("a", b"1"), ("a", b"2")))
    assert [one.stream.read() for one in archive.members] == [b"1", b"2"]


@each_packer
def test_members_that_are_not_read_to_their_end(pack: Callable[..., bytes]) -> None:
    data = pack(("a", b"[" * 5000), ("b", b"2" * 1500), ("c", b"3"))
    archive = open_bytes(data)
    assert [one.stream.read(2) for one in archive.members] == [b"[[", b"22", b"3"]


@each_packer
def test_hidden_members_are_passed_over(pack: Callable[..., bytes]) -> None:
    data = pack((".git/x", b"1"), ("a/.b/c", b"2"), ("__MACOSX/._a", b"3"), (".env", b"4"), ("./a", b"5"))
    assert members(data) == {"x!a": b"5"}


@each_packer
def test_names_are_only_shown(pack: Callable[..., bytes], tmp_path: Path) -> None:
    data = pack(("../../up.json", GOOD), ("/etc/passwd", GOOD), ("re\x1b[2Jd\n.json", GOOD))
    assert list(members(data).values()) == [GOOD] * 3
    (tmp_path / "x").write_bytes(data)
    ran = run("check", "-v", "-f", "concise", "x", cwd=tmp_path)
    assert ran.code == 0
    assert "x!../../up.json" in ran.out
    assert "re␛[2Jd␊.json" in ran.out
    assert "\x1b" not in ran.out
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_name_that_is_not_text() -> None:
    data = tarred(("\udcff.json", GOOD), form=tarfile.GNU_FORMAT)
    assert members(data) == {"x!\\xff.json": GOOD}


def test_what_is_no_file_in_a_tar_archive() -> None:
    out = io.BytesIO()
    kinds = {
        "l": tarfile.LNKTYPE,
        "s": tarfile.SYMTYPE,
        "c": tarfile.CHRTYPE,
        "b": tarfile.BLKTYPE,
        "p": tarfile.FIFOTYPE,
        "d": tarfile.DIRTYPE,
    }
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, kind in kinds.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        sparse = tarfile.TarInfo("sparse")
        sparse.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.realsize": str(1 << 60)}
        archive.addfile(sparse)
        last = tarfile.TarInfo("z.json")
        last.size = len(GOOD)
        archive.addfile(last, io.BytesIO(GOOD))
    found = members(out.getvalue())
    assert found.pop("x!z.json") == GOOD
    assert {path: reason.split()[2:4] for path, reason in found.items()} == {
        "x!l": ["a", "link"],
        "x!s": ["a", "symbolic"],
        "x!c": ["a", "device,"],
        "x!b": ["a", "device,"],
        "x!p": ["a", "named"],
        "x!sparse": ["a", "sparse"],
    }


def test_what_is_no_plain_file_in_a_zip_archive() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        link = zipfile.ZipInfo("link")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("lzma", GOOD, zipfile.ZIP_LZMA)
        archive.mkdir("folder")
        archive.writestr("secret", GOOD)
    data = bytearray(out.getvalue())
    entry = data.rindex(b"secret") - 46
    data[entry + 8] |= 1
    assert members(bytes(data)) == {
        "x!link": "it is a symbolic link in an archive, which is not followed",
        "x!lzma": "it is compressed by a method that is not undone here, number 14",
        "x!secret": "it is encrypted",
    }


@each_packer
def test_archives_within_archives_are_said(pack: Callable[..., bytes]) -> None:
    data = pack(("a.zip", zipped(("a", GOOD))), ("b.tgz", gzip.compress(tarred(("b", GOOD)))), ("c", GOOD))
    assert members(data) == {
        "x!a.zip": "it is a zip archive within an archive, which is not opened",
        "x!b.tgz": "it is a tar archive within an archive, which is not opened",
        "x!c": GOOD,
    }


def test_zip_archive_out_of_a_pipe() -> None:
    for refusal in (open_bytes(zipped(("a", GOOD)), pipe=True), open_bytes(gzip.compress(zipped(("a", GOOD))))):
        assert isinstance(refusal, Unusable)
        assert "name the archive itself" in refusal.reason


def test_tar_archive_out_of_a_pipe() -> None:
    assert members(tarred(("a", GOOD)), pipe=True) == {"x!a": GOOD}
    assert members(zstd.compress(tarred(("a", GOOD))), pipe=True) == {"x!a": GOOD}


@pytest.mark.parametrize("pack", [tarred, PACKERS["tar.gz"]])
def test_tar_archive_that_is_cut(pack: Callable[..., bytes]) -> None:
    text = b"".join(b'{"n": %d, "id": "%d"}\n' % (n, hash(str(n))) for n in range(50_000))
    data = pack(("a.jsonl", GOOD), ("b.jsonl", text), ("c.jsonl", GOOD))
    archive = open_bytes(data[: len(data) // 2])
    first, second, broken = read_all(archive)
    assert [item.data.rstrip() for item in first] == [GOOD.rstrip()]
    assert isinstance(second[-1], Unreadable)
    assert len(second) > 1000
    assert isinstance(broken, Unusable)
    assert (broken.path, broken.named) == ("x", True)
    assert "of which not all could be read" in broken.reason


def read_all(archive: Archive) -> list[Any]:
    return [one if isinstance(one, Unusable) else list(records(one.stream, one.source.path)) for one in archive.members]


def false_size(size: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A tar archive whose first header claims another size."""
    info = tarfile.TarInfo("a.jsonl")
    info.type = kind
    block = bytearray(info.tobuf())
    block[124:136] = size
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + GOOD.ljust(512, b"\0") + tarred(("b.jsonl", GOOD))


@pytest.mark.parametrize(
    ("size", "kind"),
    [
        (b"77777777777\0", tarfile.REGTYPE),
        (b"\x80" + b"\x7f" * 11, tarfile.REGTYPE),
        (b"\xff" * 12, tarfile.REGTYPE),
        (b"\xff" * 12, tarfile.DIRTYPE),
        (b"77777777777\0", tarfile.GNUTYPE_LONGNAME),
        (b"77777777777\0", tarfile.XHDTYPE),
        (b"00004000000\0", tarfile.XGLTYPE),
    ],
)
def test_tar_archive_with_a_false_size_comes_to_an_end(size: bytes, kind: bytes) -> None:
    for data in (false_size(size, kind), gzip.compress(false_size(size, kind))):
        *_, broken = read_all(open_bytes(data))
        assert isinstance(broken, Unusable)
        assert "not all could be read" in broken.reason


def test_extended_headers_without_end() -> None:
    header = bytearray(false_size(b"00000000000\0", tarfile.XHDTYPE)[:512])
    assert members(bytes(header) * 5_000 + tarred(("a", GOOD))) == {"x!a": GOOD}


def test_large_members_are_gone_over() -> None:
    data = tarred(("a", bytes(5 << 20)), ("b", GOOD))
    archive = open_bytes(data)
    assert [one.source.path for one in archive.members] == ["x!a", "x!b"]
    *_, broken = open_bytes(data[: 3 << 20]).members
    assert isinstance(broken, Unusable)


def test_zip_archive_with_shared_data_is_not_unpacked_over_and_over() -> None:
    data = zipped(("a", LINES), ("b", LINES), ("c", LINES))
    at = [data.index(b"PK\x01\x02")]
    while (following := data.find(b"PK\x01\x02", at[-1] + 1)) > 0:
        at.append(following)
    forged = bytearray(data)
    forged[at[2] + 42 : at[2] + 46] = struct.pack("<I", 0)
    reason = "its data is that of another member, too"
    assert members(bytes(forged)) == {"x!a": reason, "x!b": LINES, "x!c": reason}


def test_zip_member_that_is_not_what_the_list_says() -> None:
    data = bytearray(zipped(("a.jsonl", LINES), ("b.jsonl", GOOD)))
    entry = data.index(b"PK\x01\x02")
    data[entry + 16] ^= 1
    first, second = read_all(open_bytes(bytes(data)))
    assert isinstance(first[-1], Unreadable)
    assert "check sum" in first[-1].reason
    assert len(first) == 81
    assert [item.data for item in second] == [GOOD.rstrip()]


@pytest.mark.parametrize("cut", [4, 30, 200, -1, -10, -60])
def test_zip_archive_that_is_cut(cut: int) -> None:
    [broken] = read_all(open_bytes(zipped(("a", GOOD), ("b", GOOD))[:cut]))
    assert isinstance(broken, Unusable)
    assert "list of members is damaged or cut off" in broken.reason


@settings(max_examples=250, deadline=None)
@given(
    st.sampled_from([pack(("a.jsonl", GOOD), ("b/c.jsonl.gz", gzip.compress(BAD)), ("d", LINES)) for pack in PACKERS.values()]),
    st.integers(0),
    st.binary(min_size=1, max_size=8),
)
def test_no_archive_raises(data: bytes, at: int, noise: bytes) -> None:
    at %= len(data)
    archive = open_bytes(data[:at] + noise + data[at + len(noise) :])
    if isinstance(archive, Archive):
        read_all(archive)


def test_archive_on_the_command_line(tmp_path: Path) -> None:
    data = tarred(("d/a.jsonl", GOOD + BAD), ("d/notes.txt", b"hello"), ("d/b.json.gz", gzip.compress(BAD)))
    (tmp_path / "logs").write_bytes(zstd.compress(data))
    ran = run("check", "-f", "concise", "logs", cwd=tmp_path)
    assert ran.code == 1
    assert ran.out.splitlines()[:2] == [
        "logs!d/a.jsonl:2: error missing-result: `f` was called but never answered: no result for call `call_1`",
        "logs!d/b.json.gz:1: error missing-result: `f` was called but never answered: no result for call `call_1`",
    ]
    assert "checked 2 files, 3 calls, 1 paired, 2 missing: 2 errors; 1 file skipped, not a transcript" in ran.out
    ran = run("check", "-f", "concise", "-", stdin=data)
    assert "-!d/a.jsonl:2: error missing-result" in ran.out


def test_archive_without_transcripts(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(zipped(("a.txt", b"hello")))
    (tmp_path / "good.json").write_bytes(GOOD)
    named = run("check", "good.json", "x.zip", cwd=tmp_path)
    assert named.code == 2
    assert "x.zip: no transcript is recognised in this archive" in named.err
    found = run("check", "-f", "concise", ".", cwd=tmp_path)
    assert (found.code, found.out) == (0, "checked 1 file, 1 call, 1 paired: no findings; 1 file skipped, not a transcript\n")
    (tmp_path / "x.zip").write_bytes(zipped())
    assert "1 file skipped" in run("check", "-f", "concise", ".", cwd=tmp_path).out


def test_archive_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(data := zipped(("a.json", GOOD)))
    for given_path in ("x.zip", "."):
        ran = run("check", "-o", "x.zip", given_path, cwd=tmp_path)
        assert ran.code == 2
        assert "is not overwritten" in ran.err
    assert (tmp_path / "x.zip").read_bytes() == data
    assert run("check", "-o", "x.zip", ".", "--exclude", "x.zip", cwd=tmp_path).code == 2
    assert (tmp_path / "x.zip").read_bytes() != data


def test_standard_input_stays_open() -> None:
    for data in (gzip.compress(GOOD), tarred(("a", GOOD)), gzip.compress(tarred(("a", GOOD)))):
        stdin = io.BytesIO(data)
        stream = opened(Source("-", True, None), stdin)
        if isinstance(stream, Archive):
            list(stream.members)
        del stream
        assert not stdin.closed


def test_files_are_closed(tmp_path: Path) -> None:
    for index, data in enumerate((gzip.compress(GOOD), tarred(("a", GOOD)), gzip.compress(tarred(("a", GOOD))), zipped(("a", GOOD)))):
        path = tmp_path / str(index)
        path.write_bytes(data)
        stream = opened(Source(str(path), True, str(path)))
        assert not isinstance(stream, Unusable)
        if isinstance(stream, Archive):
            list(stream.members)
        else:
            stream.close()
    # an open file would be a ResourceWarning, which the settings of the tests turn into an error


def test_plain_files_load_none_of_this(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(GOOD)
    heavy = "bz2", "lzma", "zipfile", "tarfile", "zlib", "isal", "backports", "pathspec", "gzip"
    code = f"import sys\ntry: main()\nfinally: print(*sorted({set(heavy)} & sys.modules.keys()))"
    assert python(code, "check", "-f", "concise", tmp_path / "x.json").out.splitlines()[-1] == ""


# ------------------------------------------------------------------------------------------------------------ what is taken


def test_patterns_apply_to_members() -> None:
    data = tarred(("a/x.jsonl", b"1"), ("a/x.txt", b"2"), ("b/y.jsonl", b"3"))
    assert members(data, globs=Globs(["*.jsonl"], [])) == {"x!a/x.jsonl": b"1", "x!b/y.jsonl": b"3"}
    assert members(data, globs=Globs([], ["a"])) == {"x!b/y.jsonl": b"3"}
    assert members(data, globs=Globs(["*.tar"], ["a/*.txt"]), named=False) == {"x!a/x.jsonl": b"1", "x!b/y.jsonl": b"3"}


def test_kind_of_archive_is_told_by_content() -> None:
    assert archives._kind(zipped()[:512]) == "zip"
    assert archives._kind(tarred(("[a", b""))[:512]) == "tar"
    assert archives._kind(GOOD) is None
