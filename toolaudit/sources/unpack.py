"""Compressed bytes become plain ones: gzip, Zstandard, bzip2 and xz, told by what they begin with.

Loaded only when such bytes are met. Nothing here raises on content: a stream that cannot be unpacked further comes to its end, and its
`failure` says why. Memory is bounded by the pieces that are asked for, and time by `RATIO`.
"""

from __future__ import annotations

import bz2
import io
import lzma
import re
import sys
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO, Protocol

from msgspec import Struct

from toolaudit.regex import regex
from toolaudit.sources.records import Partial

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BUFFER = 1 << 20
LEVELS = 3
"""So many compressions within one another are undone."""
FLOOR = 1 << 30
"""So many bytes may come out of any source, however small it is."""
RATIO = 2_000
"""So many bytes for each compressed one may come out of it besides. deflate cannot reach it; a log in which each line repeats all
earlier ones reaches some hundreds under Zstandard; only what is made to exhaust its reader is beyond."""
WHOLE = 100
"""The same, for what is wanted in one piece of memory: a document over several lines."""
MEMORY = 256 << 20
"""The largest dictionary, in bytes, that xz data may ask for; Zstandard's own limit is 128 MB."""

_STEP = 1 << 18
_FIRST = 1 << 13
_CAREFUL = 1 << 6
_LEAST = 1 << 16
_PIECE = 1 << 18  # larger ones the system gives, and takes back, each for itself


class Decoder(Protocol):
    """What undoes the compression of one member (a frame, a stream): the protocol of `bz2.BZ2Decompressor`."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class Codec(Struct, frozen=True):
    """One way of compressing."""

    name: str
    make: Callable[[], Decoder]
    error: type[Exception]
    magic: re.Pattern[bytes] | None = None
    """What a member begins with; None where nothing but the one member is looked for."""


class Refused(Exception):
    """Bytes that are not unpacked; the message is one clear sentence."""


class Budget:
    """How much may come out of one source, whatever it holds and however often."""

    def __init__(self) -> None:
        self.taken = 0
        self.given = 0

    def spent(self) -> bool:
        """Whether more has come out than any honest source gives."""
        return self.given > max(FLOOR, RATIO * self.taken)


def unpacked(stream: BinaryIO, head: bytes, budget: Budget, *, packed: bool = False, keep: bool = False) -> tuple[BinaryIO, bytes]:
    """`stream` with its compressions undone, and what it begins with; `head` is what it begins with now.

    `packed` when what it is made of has been counted, `keep` when it stays open as what comes out of it is closed.
    Raises Refused for one that is compressed too often, or in a way that cannot be undone here.
    """
    for _ in range(LEVELS):
        codec = _codec(head)
        if codec is None:
            return stream, head
        reader = io.BufferedReader(Unpacking(codec, stream, budget, packed=packed, keep=keep), BUFFER)
        stream, head, packed, keep = reader, reader.peek(), True, False
    if _codec(head) is not None:
        raise Refused(f"it is compressed more than {LEVELS} times over")
    return stream, head


def failure_of(stream: object) -> str | None:
    """Why a stream came to its end too early; None when it did not."""
    raw = getattr(stream, "raw", stream)
    return raw.failure if isinstance(raw, Partial) else None


class Metered(Partial):
    """A raw stream that says so when it was to be read into memory beyond what is sane."""

    def __init__(self, budget: Budget) -> None:
        super().__init__()
        self.budget = budget

    def readall(self) -> bytes:
        """All the rest, in one piece: of what is made to exhaust its reader, only the beginning."""
        pieces, size = [], 0
        while size < self.most and (piece := self.read(_PIECE)):
            pieces.append(piece)
            size += len(piece)
            if size > max(FLOOR, WHOLE * self.budget.taken):
                self.fail(f"it unpacks to a document of more than {FLOOR:,} bytes and {WHOLE} times its size", torn=False)
                break
        return b"".join(pieces)

    def fail(self, reason: str, *, torn: bool = True) -> None:
        """Come to the end, for the first reason that is given."""
        if self.failure is None:
            self.failure, self.torn = reason, torn

    def blame(self, source: object, otherwise: str | None) -> None:
        """Come to the end for what ended `source`, which this is made from; else for another reason, if there is one."""
        raw = getattr(source, "raw", source)
        if isinstance(raw, Partial) and raw.failure is not None:
            self.fail(raw.failure, torn=raw.torn)
        elif otherwise is not None:
            self.fail(otherwise)


class Unpacking(Metered):
    """The plain bytes of a compressed stream, its members one after another. It closes the stream with itself, unless told to `keep` it."""

    def __init__(self, codec: Codec, source: BinaryIO, budget: Budget, *, packed: bool = False, keep: bool = False) -> None:
        super().__init__(budget)
        self._codec = codec
        self._source = source
        self._packed = packed
        self._keep = keep
        self._decoder: Decoder | None = None
        self._data = b""
        self._at = 0
        self._step, self._most = _FIRST, _STEP
        self._ended = False
        self._begun = False
        self._start: int | None = None  # where the member begins in the source, if it can be gone back to
        self._out = 0  # bytes that have come out of the member
        self._told = 0  # of these, the ones that were given before, at a first attempt

    def close(self) -> None:
        if not (self.closed or self._keep):
            self._source.close()
        super().close()

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill `buffer`, in part: enough that what is decided from the beginning does not depend on how the stream was compressed."""
        view = memoryview(buffer)
        filled = 0
        while filled < min(len(view), _LEAST) and (piece := self._piece(min(len(view) - filled, _PIECE))):
            view[filled : filled + len(piece)] = piece
            filled += len(piece)
        return filled

    def _piece(self, most: int) -> bytes:
        """The next bytes, at most `most`; none at the end."""
        while not self._ended:
            if self.budget.spent():
                self.fail(f"it unpacks to more than {RATIO:,} times its size", torn=False)
                break
            if self._decoder is None and not self._next():
                break
            try:
                piece = self._decoded(most)
            except self._codec.error as error:
                if self._again():
                    continue
                self.fail(self._damage(error))
                break
            self._out += len(piece)
            if self._told:
                piece, self._told = piece[self._told :], max(0, self._told - len(piece))
            if piece:
                self.budget.given += len(piece)
                return piece
        return b""

    def _decoded(self, most: int) -> bytes:
        decoder, data = self._decoder, b""
        assert decoder is not None
        if decoder.needs_input:
            if not self._has(1):
                self.blame(self._source, f"its {self._codec.name} data ends too early")
                return b""
            data = self._data[self._at : self._at + self._step]
            self._at += len(data)
            self._step = min(2 * self._step, self._most)
        piece = decoder.decompress(data, most)
        if decoder.eof:
            self._at -= len(decoder.unused_data)
            self._decoder = None
        return piece

    def _next(self) -> bool:
        """Begin the next member, if there is one. Steps begin small, for what a step reads beyond a small member is copied back."""
        while self._has(1) and self._begun and self._data[self._at] == 0:  # what pads a tape, or an xz file
            self._at = len(self._data) - len(self._data[self._at :].lstrip(b"\0"))
        magic = self._codec.magic
        if not self._has(10) and self._begun and self._at == len(self._data):
            self._ended = True
            self.blame(self._source, None)
            return False
        if self._begun and (magic is None or not magic.match(self._data, self._at)):
            self.fail(f"its {self._codec.name} data ends, and something else follows")
            return False
        self._begun, self._step, self._most, self._decoder = True, _FIRST, _STEP, self._codec.make()
        self._start = self._source.tell() - len(self._data) + self._at if self._source.seekable() else None
        self._out = 0
        return True

    def _again(self) -> bool:
        """After damage: go through the member once more in small steps, for a decoder that refuses a step keeps what it made of it."""
        if self._start is None:
            return False
        try:
            self._source.seek(self._start)
        except OSError:
            return False
        self._start, self._data, self._at = None, b"", 0
        self._step = self._most = _CAREFUL
        self._told, self._out, self._decoder = self._out, 0, self._codec.make()
        return True

    def _has(self, count: int) -> bool:
        """Whether so many bytes of the source are at hand, after reading on when they are not."""
        while len(self._data) - self._at < count:
            try:
                more = self._source.read(_STEP)
            except OSError as error:
                self.fail((error.strerror or "it cannot be read").lower())
                return False
            if not more:
                return False
            self.budget.taken += 0 if self._packed else len(more)
            self._data, self._at = self._data[self._at :] + more, 0
        return True

    def _damage(self, error: Exception) -> str:
        if "memory" in str(error).lower():
            return f"its {self._codec.name} data asks for more memory than is sane"
        return f"its {self._codec.name} data is damaged, and ends for that"

    def fail(self, reason: str, *, torn: bool = True) -> None:
        self._ended, self._decoder = True, None
        super().fail(reason, torn=torn)


# ---------------------------------------------------------------------------------------------------------------- codecs


def _codec(head: bytes) -> Codec | None:
    """What `head` is the beginning of."""
    return next((make(magic) for magic, make in _CODECS if magic.match(head)), None)


def _gzip(magic: re.Pattern[bytes]) -> Codec:
    """By ISA-L, in a third of the time; by zlib where that is not installed."""
    try:
        from isal.igzip_lib import DECOMP_GZIP, IgzipDecompressor, IsalError
    except ImportError:
        return Codec("gzip", lambda: Zlib(31), zlib.error, magic)
    return Codec("gzip", lambda: IgzipDecompressor(flag=DECOMP_GZIP), IsalError, magic)  # type: ignore[arg-type]


def deflate() -> Codec:
    """Bare deflate, as a zip archive holds it."""
    try:
        from isal.igzip_lib import DECOMP_DEFLATE, IgzipDecompressor, IsalError
    except ImportError:
        return Codec("zip", lambda: Zlib(-15), zlib.error)
    return Codec("zip", lambda: IgzipDecompressor(flag=DECOMP_DEFLATE), IsalError)  # type: ignore[arg-type]


def bzip2(magic: re.Pattern[bytes] | None = None) -> Codec:
    """bzip2."""
    return Codec("bzip2", bz2.BZ2Decompressor, OSError, magic)


def zstandard(magic: re.Pattern[bytes] | None = None) -> Codec:
    """Zstandard. Raises Refused where this Python has no support for it."""
    try:
        if sys.version_info >= (3, 14):
            from compression.zstd import ZstdDecompressor, ZstdError
        else:
            from backports.zstd import ZstdDecompressor, ZstdError
    except ImportError:
        raise Refused("it is a Zstandard file, and this Python cannot unpack it: `pip install backports.zstd`, or pipe it in") from None
    return Codec("Zstandard", ZstdDecompressor, ZstdError, magic)


def _xz(magic: re.Pattern[bytes]) -> Codec:
    return Codec("xz", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, MEMORY), lzma.LZMAError, magic)


_CODECS: tuple[tuple[re.Pattern[bytes], Callable[[re.Pattern[bytes]], Codec]], ...] = (
    (regex(rb"\x1f\x8b"), _gzip),
    (regex(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), zstandard),
    (regex(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), bzip2),
    (regex(rb"\xfd7zXZ\0"), _xz),
)


class Zlib:
    """zlib under the protocol of the others."""

    def __init__(self, wbits: int) -> None:
        self._inner = zlib.decompressobj(wbits)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        most = max(0, max_length)
        piece = self._inner.decompress(self._inner.unconsumed_tail + data, most)
        self.needs_input = not self._inner.unconsumed_tail and (not most or len(piece) < most)
        return piece
