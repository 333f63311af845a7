"""What packed sources hold: the plain bytes of a compressed one, the members of a zip or tar archive.

Loaded only when one is met. Nothing is extracted to disk, and the name of a member is never used as a path, only shown. An archive is
read like a folder: hidden members are passed over, links are not followed, what cannot be read is said.
"""

from __future__ import annotations

import io
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, BinaryIO

from toolaudit.regex import regex
from toolaudit.sources.files import Archive, Member, Source, Unusable, shown
from toolaudit.sources.unpack import BUFFER, Budget, Codec, Metered, Refused, Unpacking, bzip2, deflate, failure_of, unpacked, zstandard

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from toolaudit.sources.globs import Globs

_BLOCK = 512
_HEADER = 1 << 20
"""The longest name or extended header of a tar archive that is read, in bytes."""
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


def contents(stream: BinaryIO, head: bytes, source: Source, globs: Globs | None) -> BinaryIO | Archive | Unusable:
    """What `stream`, the bytes of `source` that begin with `head`, holds when everything is unpacked."""
    budget = Budget()
    try:
        inner, head = unpacked(stream, head, budget, keep=source.file is None)
        kind = _kind(head)
        if kind is None:
            return inner
        if kind == "zip" and not inner.seekable():
            raise Refused("it is a zip archive that comes out of a pipe or a compressed file: unpack it, or name the archive itself")
    except Refused as refusal:
        _close(stream, source)
        return Unusable(source.path, str(refusal), source.named)
    opening = _Opening(source, budget, globs)
    return Archive(opening.zipped(inner) if kind == "zip" else opening.tarred(inner))


def _kind(head: bytes) -> str | None:
    return "zip" if head.startswith(_ZIP) else "tar" if head[257:262] == b"ustar" else None


def _close(stream: BinaryIO, source: Source) -> None:
    if source.file is not None:
        stream.close()


class _Opening:
    """One archive being read."""

    def __init__(self, source: Source, budget: Budget, globs: Globs | None) -> None:
        self.source = source
        self.budget = budget
        self.globs = globs

    def zipped(self, file: BinaryIO) -> Iterator[Member | Unusable]:
        """The members of a zip archive, by name."""
        try:
            try:
                infos = zipfile.ZipFile(file).infolist()
            except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, struct.error, OverflowError):
                yield self._broken("it is a zip archive whose list of members is damaged or cut off")
                return
            overlapping = _overlapping(infos)
            for info in sorted(infos, key=attrgetter("filename", "header_offset")):
                if not info.is_dir() and self._takes(info.filename):
                    refusal = _unfit_zip(info) or ("its data is that of another member, too" if info.header_offset in overlapping else None)
                    yield self._member(info.filename, refusal or _zip_data(file, info, self.budget))
        finally:
            _close(file, self.source)

    def tarred(self, file: BinaryIO) -> Iterator[Member | Unusable]:
        """The members of a tar archive as they stand, for it is read as a stream."""
        try:
            for info, data in _entries(file, self.budget):
                if not info.isdir() and self._takes(info.name):
                    yield self._member(info.name, _unfit_tar(info) or data)
        except _Broken as broken:
            yield self._broken(f"it is a tar archive of which not all could be read: {broken}")
        finally:
            _close(file, self.source)

    def _takes(self, name: str) -> bool:
        path = "/".join(part for part in name.split("/") if part not in ("", ".", ".."))
        if any(part.startswith(".") for part in path.split("/")):
            return False
        return self.globs is None or self.globs.takes(path, included=not self.source.named)

    def _member(self, name: str, data: Metered | str) -> Member | Unusable:
        source = Source(f"{self.source.path}!{shown(name.removeprefix('./'))}", False, self.source.file)
        if isinstance(data, str):
            return Unusable(source.path, data, False)
        reader = io.BufferedReader(data, BUFFER)
        try:
            stream, head = unpacked(reader, reader.peek(), self.budget, packed=True)
            if kind := _kind(head):
                raise Refused(f"it is a {kind} archive within an archive, which is not opened")
        except Refused as refusal:
            return Unusable(source.path, str(refusal), False)
        return Member(source, stream)

    def _broken(self, reason: str) -> Unusable:
        return Unusable(self.source.path, reason, self.source.named)


class _Slice(Metered):
    """The next `size` bytes of a stream, which stays open."""

    def __init__(self, stream: BinaryIO, size: int, budget: Budget) -> None:
        super().__init__(budget)
        self._stream = stream
        self._counted = isinstance(getattr(stream, "raw", None), Unpacking)
        self.rest = size

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        try:
            piece = self._stream.read(min(len(view), self.rest))
        except OSError as error:
            self.fail((error.strerror or "it cannot be read").lower())
            return 0
        if not piece and self.rest and view:
            self.blame(self._stream, "the archive ends too early")
        self.budget.taken += 0 if self._counted else len(piece)
        self.rest -= len(piece)
        view[: len(piece)] = piece
        return len(piece)


# ------------------------------------------------------------------------------------------------------------------- zip


class _Checked(Metered):
    """The data of a zip member, which must be as long, and have the check sum, that the list of members says."""

    def __init__(self, inner: Metered, info: zipfile.ZipInfo) -> None:
        super().__init__(inner.budget)
        self._inner = inner
        self._size = info.file_size
        self._sum = info.CRC
        self._crc = 0

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        filled = self._inner.readinto(view) or 0
        self._size -= filled
        self._crc = zlib.crc32(view[:filled], self._crc)
        if not filled and view:
            holds = not self._size and self._crc == self._sum
            self.blame(self._inner, None if holds else "it ends, and its length or check sum is not what the archive says")
        return filled


def _unfit_zip(info: zipfile.ZipInfo) -> str | None:
    mode = info.external_attr >> 16 if info.create_system == 3 else 0
    if stat.S_ISLNK(mode):
        return "it is a symbolic link in an archive, which is not followed"
    if stat.S_IFMT(mode) and not stat.S_ISREG(mode):
        return "it is neither a file nor a folder"
    if info.flag_bits & 0x41:
        return "it is encrypted"
    if info.compress_type not in _METHODS:
        return f"it is compressed by a method that is not undone here, number {info.compress_type}"
    return None


_METHODS = {zipfile.ZIP_STORED: None, zipfile.ZIP_DEFLATED: deflate, zipfile.ZIP_BZIP2: bzip2, 93: zstandard}


def _overlapping(infos: list[zipfile.ZipInfo]) -> set[int]:
    """Where members begin whose data reaches into that of the next: one piece of data under many names is how bombs are made."""
    placed = sorted(infos, key=attrgetter("header_offset"))
    pairs = pairwise(placed)
    return {one.header_offset for one, after in pairs if one.header_offset + _LOCAL.size + one.compress_size > after.header_offset}


_LOCAL = struct.Struct("<4s22xHH")


def _zip_data(file: BinaryIO, info: zipfile.ZipInfo, budget: Budget) -> Metered | str:
    """The plain bytes of a member, or why there are none."""
    try:
        file.seek(info.header_offset)
        magic, name, extra = _LOCAL.unpack(file.read(_LOCAL.size))
        file.seek(name + extra, io.SEEK_CUR)
    except (OSError, ValueError, struct.error):
        magic = b""
    if magic != _ZIP[0]:
        return "it is not where the list of members says it is: the archive is damaged"
    data = _Slice(file, info.compress_size, budget)
    make = _METHODS[info.compress_type]
    try:
        codec: Codec | None = make and make()
    except Refused as refusal:
        return str(refusal)
    return _Checked(Unpacking(codec, io.BufferedReader(data, BUFFER), budget, packed=True) if codec else data, info)


# ------------------------------------------------------------------------------------------------------------------- tar


class _Broken(Exception):
    """An archive that cannot be read any further; the message is the rest of a sentence."""


_SAYS_NAME = {tarfile.GNUTYPE_LONGNAME: "path", tarfile.GNUTYPE_LONGLINK: "linkpath"}
_SAYS_MORE = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
_KINDS = {
    tarfile.LNKTYPE: "it is a link in an archive, which is not followed",
    tarfile.SYMTYPE: "it is a symbolic link in an archive, which is not followed",
    tarfile.CHRTYPE: "it is a device, not a file",
    tarfile.BLKTYPE: "it is a device, not a file",
    tarfile.FIFOTYPE: "it is a named pipe, not a file",
}


def _unfit_tar(info: tarfile.TarInfo) -> str | None:
    if info.type == tarfile.GNUTYPE_SPARSE or any(key.startswith("GNU.sparse") for key in info.pax_headers):
        return "it is a sparse file in an archive, which is not read"
    return None if info.isreg() else _KINDS.get(info.type, "it is neither a file nor a folder")


def _entries(file: BinaryIO, budget: Budget) -> Iterator[tuple[tarfile.TarInfo, _Slice]]:
    """The entries of a tar archive, with their data. Only the headers are left to `tarfile`, which trusts the sizes that they give."""
    said: dict[str, str] = {}
    while (info := _header(file)) is not None:
        if info.type in _SAYS_NAME:
            said[_SAYS_NAME[info.type]] = _long(file, info).split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
        elif info.type in _SAYS_MORE:
            said |= _pax(_long(file, info))
        elif info.type == tarfile.XGLTYPE:
            _long(file, info)
        else:
            info.name = said.get("path", info.name)
            info.pax_headers = said
            size = _size(said.get("size"), info)
            data = _Slice(file, size, budget)
            said = {}
            yield info, data
            _skip(file, data.rest + -size % _BLOCK)


def _header(file: BinaryIO) -> tarfile.TarInfo | None:
    """The next header; None at the end."""
    block = _read(file, _BLOCK)
    if not block.strip(b"\0"):
        return None
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError) as error:
        raise _Broken("one of its headers is damaged") from error
    if info.size < 0:
        raise _Broken("one of its headers is damaged")
    return info


def _read(file: BinaryIO, size: int) -> bytes:
    """`size` bytes, or none at the end."""
    try:
        data = file.read(size)
    except OSError as error:
        raise _Broken((error.strerror or "it cannot be read").lower()) from error
    if len(data) < size and (data or failure_of(file)):
        raise _Broken(failure_of(file) or "it ends too early")
    return data


def _long(file: BinaryIO, info: tarfile.TarInfo) -> bytes:
    """The data of a header that goes before another."""
    if info.size > _HEADER:
        raise _Broken("one of its headers is longer than is sane")
    data = _read(file, info.size + -info.size % _BLOCK)
    if len(data) < info.size:
        raise _Broken("it ends too early")
    return data[: info.size]


_PAX = regex(rb"([0-9]{1,10}) ([^=\n]{1,200})=")


def _pax(data: bytes) -> dict[str, str]:
    """The records of an extended header, each `LENGTH KEY=VALUE` and a line end."""
    found: dict[str, str] = {}
    at = 0
    while record := _PAX.match(data, at):
        end = at + int(record[1])
        if not record.end() < end <= len(data):
            break
        found[record[2].decode("utf-8", "replace")] = data[record.end() : end - 1].decode("utf-8", "surrogateescape")
        at = end
    return found


def _size(told: str | None, info: tarfile.TarInfo) -> int:
    """How many bytes of data follow a header: none behind a link or a folder, whatever it says."""
    if not (info.isreg() or info.type not in tarfile.SUPPORTED_TYPES):
        return 0
    if told is None:
        return info.size
    if not (told.isascii() and told.isdigit() and len(told) < 19):
        raise _Broken("one of its headers is damaged")
    return int(told)


def _skip(file: BinaryIO, count: int) -> None:
    """Go on by so many bytes. What can be gone over at once is read at its end all the same, to see that it is there."""
    if count > BUFFER and file.seekable():
        try:
            file.seek(count - 1, io.SEEK_CUR)
        except (OSError, ValueError, OverflowError) as error:  # farther than a file can reach
            raise _Broken("it ends too early") from error
        count = 1
    while count > 0:
        data = _read(file, min(count, BUFFER))
        if not data:
            raise _Broken("it ends too early")
        count -= len(data)
