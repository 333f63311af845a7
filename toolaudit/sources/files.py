"""Paths, folders and patterns become sources, in an order that depends on names only, and sources become bytes."""

from __future__ import annotations

import errno
import fnmatch
import io
import os
import stat
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from msgspec import Struct

from toolaudit.regex import regex

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from toolaudit.sources.globs import Globs

BUFFER = 1 << 20

Identity: TypeAlias = tuple[int, int]


class Source(Struct, frozen=True):
    """Something that can be opened and read."""

    path: str
    """As shown to the user: always text that can be written as UTF-8."""
    named: bool
    """Named on the command line, as against found in a folder."""
    file: str | None
    """What to open, an address included; None for standard input. For a member of an archive, the archive."""
    size: int | None = None
    """In bytes, where it is known beforehand: of an object that lies elsewhere."""


class Unusable(Struct, frozen=True):
    """A path that cannot be a source; `reason` is one clear sentence."""

    path: str
    reason: str
    named: bool


class Member(Struct, frozen=True):
    """A file within an archive; its path is that of the archive, an exclamation mark, and its own."""

    source: Source
    stream: BinaryIO


class Archive(Struct, frozen=True):
    """A source that holds others. Each member is to be read, as far as it is, before the next is asked for."""

    members: Iterator[Member | Unusable]


class _Named(Struct, frozen=True):
    """A path of the command line, after patterns, with what the system says of it; no `status` for standard input and addresses."""

    path: str
    status: os.stat_result | None
    is_url: bool = False


def find(paths: Sequence[str], *, stdin_name: str = "<stdin>", globs: Globs | None = None) -> Iterator[Source | Unusable]:
    """What `paths` hold: files, what is in folders, what patterns match, and standard input for `-`.

    Hidden entries of a folder are passed over, links in it are not followed, and what `globs` does not take is left out, unless they
    are named themselves. A file that is reached twice is given once, as named if it was named anywhere. Whether a file found in a
    folder may be read, or is an archive, is not asked here, because that would cost as much as opening it: `opened` says so.
    """
    named = _all_named(paths)
    yield from _found(named, _names(named), set(), stdin_name, globs)


def globs_of(include: Sequence[str], exclude: Sequence[str]) -> Globs | None:
    """What to take of that which folders and archives hold; None for everything. Raises UsageError for a text that is no pattern."""
    if not (include or exclude):
        return None
    from toolaudit.sources.globs import Globs

    return Globs(include, exclude)


def meets(paths: Sequence[str], identity: Identity, globs: Globs | None = None) -> bool:
    """Whether `find` comes across the file of this identity: given by any name, found in a folder, or read from standard input."""
    named = [item for item in _all_named(paths) if isinstance(item, Unusable) or not item.is_url]
    names, seen = _names(named), set[Identity]()
    if identity in names or ("-" in paths and identity_of(0) == identity):
        return True
    return any(identity in seen for _ in _found(named, names, seen, "", globs)) or identity in seen


def identity_of(file: str | int) -> Identity | None:
    """What tells a file from every other, by whatever name or link it is reached; None for what is no file, such as a pipe or device."""
    try:
        status = os.stat(file)  # noqa: PTH116 (to `Path` an empty name is the current folder)
    except (OSError, ValueError):
        return None
    return _identity(status) if stat.S_ISREG(status.st_mode) else None


def _all_named(paths: Sequence[str]) -> list[_Named | Unusable]:
    return [item for path in dict.fromkeys(paths) for item in _named(path)]


def _names(named: list[_Named | Unusable]) -> set[Identity]:
    return {_identity(item.status) for item in named if isinstance(item, _Named) and item.status}


def _found(
    named: list[_Named | Unusable], names: set[Identity], seen: set[Identity], stdin_name: str, globs: Globs | None
) -> Iterator[Source | Unusable]:
    for item in named:
        if isinstance(item, Unusable):
            yield item
        elif item.is_url:
            yield from _remote(item.path, globs)
        elif item.status is None:
            yield Source(stdin_name, True, None)
        elif stat.S_ISDIR(item.status.st_mode):
            yield from _walk(item, names, seen, globs)
        elif (reason := _unfit(item.status.st_mode) or _locked(item)) is not None:
            yield Unusable(shown(item.path), reason, True)
        elif (identity := _identity(item.status)) not in seen:
            seen.add(identity)
            yield Source(shown(item.path), True, item.path)


def opened(
    source: Source, stdin: BinaryIO | None = None, globs: Globs | None = None, *, until: int | None = None
) -> BinaryIO | Archive | Unusable:
    """The bytes of `source`, buffered as `records` likes it; `stdin` is what standard input is read from.

    `until` is the offset up to which the caller means to read: of what lies elsewhere, nothing behind it is fetched.

    What is compressed is undone on the way, whatever its name; of an archive, the members that `globs` takes are given. For speed
    give it a `stdin` with a buffer of `BUFFER` bytes. It is the caller who closes what was opened, but the members of an archive.
    """
    if source.file is None:
        if stdin is None:
            return Unusable(source.path, "standard input is closed", source.named)
        stream = stdin
    elif _is_url(source.file):
        from toolaudit.sources.remote import open_url

        fetched = open_url(source.file, source.size, until=until)
        if isinstance(fetched, Unusable):
            return Unusable(source.path, fetched.reason, source.named)
        stream = fetched
    else:
        try:
            stream = _small(source.file) or open(source.file, "rb", buffering=BUFFER)  # noqa: PTH123, SIM115 - pathlib is slower
        except OSError as error:
            return Unusable(source.path, _reason(error), source.named)
    head, stream = _peeked(stream)
    if _PACKED.match(head) is None:
        return stream
    from toolaudit.sources.archives import contents

    return contents(stream, head, source, globs)


_SMALL = 1 << 15


def _small(path: str) -> io.BytesIO | None:
    """The bytes of a small file, read at once: without a buffer, and with few questions to the system. None for everything else.

    Raises OSError where the file cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(descriptor)
        if status.st_size > _SMALL or not stat.S_ISREG(status.st_mode):
            return None
        data = os.read(descriptor, status.st_size + 1)
    except OSError:  # it is opened once more, and told of where it is read
        return None
    finally:
        os.close(descriptor)
    return io.BytesIO(data) if len(data) == status.st_size else None


_HEAD = 512
_PACKED = regex(rb"\x1f\x8b|\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18|BZh[1-9]|\xfd7zXZ\0|PK\x03\x04|PK\x05\x06|[\s\S]{257}ustar")
"""What compressed files and archives begin with; a tar archive says so only behind the name of its first member."""


def _peeked(stream: BinaryIO) -> tuple[bytes, BinaryIO]:
    """What `stream` begins with, and a stream that still begins with it. One that cannot be read is left for others to say so."""
    try:
        if stream.seekable():
            here = stream.tell()
            head = stream.read(_HEAD)
            stream.seek(here)
            return head, stream
        head = b""
        while len(head) < _HEAD and (more := stream.read(_HEAD - len(head))):
            head += more
    except OSError:
        return b"", stream
    return head, io.BufferedReader(_Rejoined(head, stream), BUFFER)


class _Rejoined(io.RawIOBase):
    """A stream that cannot be read twice, with its beginning before it again."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        super().__init__()
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        piece = self._head[: len(view)] or self._rest.read(len(view))
        self._head = self._head[len(piece) :]
        view[: len(piece)] = piece
        return len(piece)


# ------------------------------------------------------------------------------------------------------------ what was named


def _named(path: str) -> Iterator[_Named | Unusable]:
    if path == "-":
        yield _Named(path, None)
        return
    if _is_url(path):
        yield _Named(path, None, is_url=True)
        return
    try:
        yield _Named(path, os.stat(path))  # noqa: PTH116 (to `Path` an empty name is the current folder)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR) and any(char in path for char in "*?["):
            yield from _matching(path)
        else:
            yield Unusable(shown(path), _missing(path, error), True)
    except ValueError:  # a NUL character
        yield Unusable(shown(path), "there is no such file or folder", True)


def _matching(pattern: str) -> Iterator[_Named | Unusable]:
    """What a pattern matches that the shell left alone. Unlike `glob.glob`, `**` never follows a link, so that it comes to an end."""
    from pathlib import Path

    anchor, *parts = Path(pattern).parts if Path(pattern).is_absolute() else ("", *Path(pattern).parts)
    empty = True
    for item in _expand(anchor, parts):
        empty = False
        if isinstance(item, Unusable):
            yield item
            continue
        try:
            yield _Named(item, os.stat(item))  # noqa: PTH116
        except OSError as error:
            yield Unusable(shown(item), _missing(item, error), True)
    if empty:
        yield Unusable(shown(pattern), "nothing matches this pattern", True)


def _expand(head: str, parts: list[str]) -> Iterator[str | Unusable]:
    if not parts:
        if head:
            yield head
        return
    part, *rest = parts
    if part == "**":
        rest = rest[next((index for index, name in enumerate(rest) if name != "**"), len(rest)) :]
        yield from _expand(head, rest)
        names = [entry.name for entry in _entries(head or os.curdir) if _is_folder(entry) and not _hidden(entry.name)]
        onward = ["**", *rest]
    elif any(char in part for char in "*?["):
        listed = [entry.name for entry in _entries(head or os.curdir)]
        names = [name for name in fnmatch.filter(listed, part) if _hidden(part) or not _hidden(name)]
        onward = rest
    else:
        names = [part] if os.path.lexists(os.path.join(head, part)) else []  # noqa: PTH118
        onward = rest
    for name in names:
        yield from _expand(os.path.join(head, name), onward)  # noqa: PTH118


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """The entries of a folder by name; none of one that cannot be listed, which a shell does not match either."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


# ---------------------------------------------------------------------------------------------------------------- elsewhere


def _is_url(path: str) -> bool:
    if "://" not in path:
        return False
    from toolaudit.sources.remote import is_url  # no local run needs it

    return is_url(path)


def _remote(url: str, globs: Globs | None) -> Iterator[Source | Unusable]:
    """The objects that an address names; of those below it, what `globs` takes."""
    from toolaudit.sources.remote import listed
    from toolaudit.sources.remote import shown as told

    within = len(url.rstrip("/")) + 1
    for item in listed(url):
        if isinstance(item, Unusable):
            yield item
        elif (named := item.url == url) or globs is None or globs.takes(item.url[within:]):
            yield Source(told(item.url), named, item.url, item.size)


# ------------------------------------------------------------------------------------------------------------------- folders


def _walk(root: _Named, names: set[Identity], seen: set[Identity], globs: Globs | None) -> Iterator[Source | Unusable]:
    """Files and subfolders of a folder interleaved by name; by an explicit stack, since folders nest deeper than Python does."""
    prefix = "" if os.path.normpath(root.path) == os.curdir else root.path
    stack: list[Iterator[Source | Unusable | str]] = [iter((prefix,))]
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
        elif isinstance(item, str):
            stack.append(_listed(item, prefix, names, seen, globs))
        else:
            yield item


def _listed(folder: str, root: str, names: set[Identity], seen: set[Identity], globs: Globs | None) -> Iterator[Source | Unusable | str]:
    """What stands in one folder: a string is a folder to go into."""
    named = folder == root
    try:
        status = os.stat(folder or os.curdir)  # noqa: PTH116
        named = named or _identity(status) in names
        if _identity(status) in seen:
            return
        seen.add(_identity(status))
        with os.scandir(folder or os.curdir) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        reason = _reason(error).replace("it may not", "this folder may not", 1)
        yield Unusable(shown(folder or os.curdir), f"{reason}, so nothing in it was checked", named)
        return
    within = len(os.path.join(root, ""))  # noqa: PTH118
    for entry in found:
        if not _hidden(entry.name):
            path = os.path.join(folder, entry.name)  # noqa: PTH118 (the user's spelling is kept)
            if globs is not None and not (globs.enters(path[within:]) if _is_folder(entry) else globs.takes(path[within:])):
                continue
            item = _entry(entry, path, status.st_dev, names, seen)
            if item is not None:
                yield item


def _entry(entry: os.DirEntry[str], path: str, device: int, names: set[Identity], seen: set[Identity]) -> Source | Unusable | str | None:
    """One entry of a folder. Its device is that of the folder and its number stands in the listing: no call to the system a file."""
    try:
        if entry.is_dir(follow_symlinks=False):
            return path
        identity = (device, entry.inode())
        if identity in seen or entry.is_symlink():
            return None
        seen.add(identity)
        if entry.is_file(follow_symlinks=False):
            return Source(shown(path), identity in names, path)
        if identity in names:  # said where it was named
            return None
        reason = _unfit(entry.stat(follow_symlinks=False).st_mode) or "it is neither a file nor a folder"
    except OSError as error:
        reason = _reason(error)
    return Unusable(shown(path), reason, False)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


# --------------------------------------------------------------------------------------------------------------------- words

_SPECIAL = {
    stat.S_IFIFO: "it is a named pipe: pipe what comes out of it into standard input, which is `-`",
    stat.S_IFSOCK: "it is a socket, not a file",
    stat.S_IFCHR: "it is a device, not a file",
    stat.S_IFBLK: "it is a device, not a file",
}

_ERRORS = {
    errno.ENOENT: "there is no such file or folder",
    errno.ENOTDIR: "there is no such file or folder: a part of the path is a file",
    errno.EACCES: "it may not be read: permission is denied",
    errno.EPERM: "it may not be read: permission is denied",
    errno.ELOOP: "it is a symbolic link that leads back to itself",
    errno.ENAMETOOLONG: "its path is too long for this system",
    errno.EISDIR: "it is a folder",
}


def _reason(error: OSError) -> str:
    return _ERRORS.get(error.errno or 0) or f"it cannot be read: {(error.strerror or 'no reason is given').lower()}"


def _missing(path: str, error: OSError) -> str:
    if error.errno == errno.ENOENT and os.path.islink(path):  # noqa: PTH114
        return "it is a symbolic link to something that is not there"
    return _reason(error)


def _unfit(mode: int) -> str | None:
    return None if stat.S_ISREG(mode) else _SPECIAL.get(stat.S_IFMT(mode), "it is neither a file nor a folder")


def _locked(named: _Named) -> str | None:
    effective = os.access in os.supports_effective_ids
    return None if os.access(named.path, os.R_OK, effective_ids=effective) else _ERRORS[errno.EACCES]


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _hidden(name: str) -> bool:
    return name.startswith(".")


_LONE = regex("[\ud800-\udfff]")


def shown(path: str) -> str:
    """`path` as it can be written anywhere: a byte of its name that is not UTF-8 becomes `\\xff`."""
    return path if path.isascii() else _LONE.sub(lambda match: f"\\x{ord(match[0]) & 0xFF:02x}", path)
