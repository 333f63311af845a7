"""Objects beyond this machine: what lies below an address, and the bytes of an object, read in ranges so that memory stays bounded.

`s3://`, `gs://`, `az://` and the web are read with obstore, which takes its credentials from the environment; `hf://` with the file
system of huggingface_hub. What fails ends as one sentence, made here: the libraries' own texts quote addresses, and the query of an
address may be a key to it.
"""

from __future__ import annotations

import errno
import functools
import io
import os
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from msgspec import Struct

from toolaudit.errors import InputError
from toolaudit.sources.files import BUFFER, Unusable, _hidden
from toolaudit.sources.files import shown as _shown
from toolaudit.sources.records import Twice

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from obstore.store import ObjectStore

BLOCK = 8 << 20
"""Bytes that one request asks for."""
GLANCE = 1 << 20
"""Bytes that a request asks for where reading jumps about: what is read next then lies elsewhere."""

_BUCKETS = ("s3", "gs", "az")
_WEB = ("https", "http")
_SCHEMES = tuple(f"{name}://" for name in (*_BUCKETS, *_WEB, "hf"))

Fetch: TypeAlias = "Callable[[int, int], bytes | memoryview]"
"""The bytes from one offset up to another. Raises whatever its library does."""


class RemoteObject(Struct, frozen=True):
    """An object that can be read."""

    url: str
    """What opens it: it may hold a secret, so that `shown(url)` is what people are told."""
    size: int
    """In bytes."""


class RemoteError(OSError):
    """Reading an object failed halfway; the text is one sentence without address or secret."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EIO, reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


def is_url(path: str) -> bool:
    """Whether `path` is an address that this module reads, not a path of this machine."""
    return path.startswith(_SCHEMES)


def shown(url: str) -> str:
    """`url` as it may be told: without the query, fragment and user of a web address, which may hold secrets."""
    scheme, rest = url.split("://", 1)
    if scheme in _WEB:
        host, slash, path = re.split(r"[?#]", rest, maxsplit=1)[0].partition("/")
        rest = host.rpartition("@")[2] + slash + path
    return _shown(f"{scheme}://{rest}")


def listed(url: str) -> Iterator[RemoteObject | Unusable]:
    """What `url` names: one object, or all that lies below it, in the order of the store, which is that of the bytes of the names.

    An address that ends in `/` is a folder; any other names an object if there is one, else a folder. Hidden names below it are
    passed over, and so are the empty objects by which some programs mark a folder. Raises InputError where a library is missing.
    """
    try:
        if not url.endswith("/") and (whole := _object(url)) is not None:
            yield whole
            return
        empty = True
        for item in _unmarked(_below(url)):
            empty = False
            if not any(map(_hidden, item.url[len(url.rstrip("/")) + 1 :].split("/"))):
                yield item
        if empty:
            yield Unusable(shown(url), "there is no such object, and nothing lies below it", True)
    except Exception as error:  # noqa: BLE001 - the libraries share no type of error, and none may end as a traceback
        yield _unusable(url, error)


def size_of(url: str) -> int | Unusable:
    """The size of an object in bytes. Raises InputError where a library is missing."""
    try:
        found = _object(url)
    except Exception as error:  # noqa: BLE001
        return _unusable(url, error)
    return found.size if found is not None else Unusable(shown(url), _ABSENT, True)


def open_url(url: str, size: int | None = None, *, until: int | None = None) -> BinaryIO | Unusable:
    """A seekable stream of the bytes of an object; reading it raises RemoteError where that fails.

    `size` in bytes spares asking for it. `until` is the offset up to which the caller means to read: nothing behind it is read
    ahead, though it may still be asked for. About 17 MB are held at most: a block, the next one, and a buffer. Raises InputError
    where a library is missing.
    """
    if size is None:
        found = size_of(url)
        if isinstance(found, Unusable):
            return found
        size = found
    try:
        fetch = _fetch(url)
    except Exception as error:  # noqa: BLE001
        return _unusable(url, error)
    return io.BufferedReader(_Ranges(fetch, size, size if until is None else min(until, size)), BUFFER)


# ------------------------------------------------------------------------------------------------------------------ in ranges


class _Ranges(Twice):
    """An object as a raw stream. Reading on fetches the next block beforehand, in a thread of its own; jumping about does not."""

    def __init__(self, fetch: Fetch, size: int, until: int) -> None:
        self.fetch = fetch
        self.size = size
        self.until = until
        self.at = 0
        self.start = 0
        """Where `block` stands."""
        self.block = memoryview(b"")
        self.ahead: Future[memoryview] | None = None
        """What follows `block`, on its way."""
        self.thread: ThreadPoolExecutor | None = None
        self.begun = False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence]
        if at < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self.at = at
        return at

    def readinto(self, buffer: WriteableBuffer) -> int:
        into = memoryview(buffer).cast("B")
        if self.at >= self.size or not into:
            return 0
        if not self.start <= self.at < self.start + len(self.block):
            self._turn()
        part = self.block[self.at - self.start :][: len(into)]
        into[: len(part)] = part
        self.at += len(part)
        return len(part)

    def close(self) -> None:
        if self.thread is not None:
            self.thread.shutdown(wait=False, cancel_futures=True)
        self.block, self.ahead = memoryview(b""), None
        super().close()

    def _turn(self) -> None:
        """Make `block` the one that begins where reading is."""
        onward = self.at == self.start + len(self.block)
        ahead, self.ahead = self.ahead, None
        straight = onward or not self.begun
        self.block = memoryview(b"")  # before the next one comes: three would be held otherwise
        if onward and ahead is not None:
            self.block = ahead.result()
        else:
            self.block = self._get(self.at, self.at + (BLOCK if straight else GLANCE))
        self.start, self.begun = self.at, True
        end = self.start + len(self.block)
        if straight and end < self.until:
            self.thread = self.thread or ThreadPoolExecutor(1, "toolaudit-ahead")
            self.ahead = self.thread.submit(self._get, end, min(end + BLOCK, self.until))

    def _get(self, start: int, end: int) -> memoryview:
        end = min(end, self.size)
        try:
            block = memoryview(self.fetch(start, end)).cast("B")
        except Exception as error:  # noqa: BLE001
            # from None: the library's own text, which a traceback would show, quotes the address
            raise RemoteError(_reason(error)) from None
        if len(block) != end - start:
            raise RemoteError(f"it ends too early: {len(block):,} bytes came where {end - start:,} were asked for")
        return block


# ---------------------------------------------------------------------------------------------------------------- the stores


def _object(url: str) -> RemoteObject | None:
    """The one object that `url` names; None where there is none."""
    scheme, bucket, key = _parts(url)
    if scheme == "hf":
        return _hub_object(url)
    if scheme in _BUCKETS and not key:
        return None
    obstore = _obstore()
    try:
        if scheme in _BUCKETS:
            return RemoteObject(url, obstore.head(_bucket(scheme, bucket), key)["size"])
        return RemoteObject(url, _web_size(_web(url)))
    except FileNotFoundError:
        return None


def _web_size(store: ObjectStore) -> int:
    """How long what a web address gives is. It is got, not asked for its head: an address that is signed may be signed for that alone."""
    try:
        return int(_obstore().get(store, "", options={"range": (0, 1)}).meta["size"])
    except FileNotFoundError:
        raise
    except Exception as error:
        if _status(error) == 416:  # nothing has no first byte
            return 0
        raise


def _below(url: str) -> Iterator[RemoteObject]:
    scheme, bucket, key = _parts(url)
    if scheme == "hf":
        yield from _hub_below(url)
        return
    if scheme in _WEB:
        if url.endswith("/"):
            raise RemoteError("a folder of the web cannot be listed: name what lies in it")
        raise FileNotFoundError
    for chunk in _obstore().list(_bucket(scheme, bucket), prefix=key.rstrip("/") or None):
        for meta in chunk:
            yield RemoteObject(f"{scheme}://{bucket}/{meta['path']}", meta["size"])


def _unmarked(found: Iterator[RemoteObject]) -> Iterator[RemoteObject]:
    """Without the empty objects that stand for the folder of what follows them; a store gives their names without the `/` at the end."""
    last: RemoteObject | None = None
    for item in found:
        if last is not None and (last.size or not item.url.startswith(f"{last.url}/")):
            yield last
        last = item
    if last is not None:
        yield last


def _fetch(url: str) -> Fetch:
    """What gets ranges of an object. Once a part has come, the others must be of the same version, where the store knows versions."""
    scheme, bucket, key = _parts(url)
    if scheme == "hf":
        return _hub_fetch(url)
    obstore = _obstore()
    store = _bucket(scheme, bucket) if scheme in _BUCKETS else _web(url)
    same: dict[str, str] = {}

    def fetch(start: int, end: int) -> bytes | memoryview:
        got = obstore.get(store, key, options={"range": (start, end), **same})
        tag = got.meta["e_tag"]
        if tag is not None and not tag.startswith("W/"):  # a weak one matches nothing
            same.setdefault("if_match", tag)
        return memoryview(got.bytes())

    return fetch


def _parts(url: str) -> tuple[str, str, str]:
    """Scheme, bucket and key; on the web the whole address says what is meant, and the key is empty."""
    scheme, rest = url.split("://", 1)
    bucket, _, key = rest.partition("/")
    return (scheme, bucket, key) if scheme in _BUCKETS else (scheme, "", "")


_RETRIES: Any = {"max_retries": 6, "retry_timeout": timedelta(seconds=60)}
"""About six seconds in all: enough for a store that is asked too often, not too much for an address that is mistyped."""


def _bucket(scheme: str, bucket: str) -> ObjectStore:
    return _stores(scheme, bucket, os.getpid())


@functools.lru_cache(maxsize=16)
def _stores(scheme: str, bucket: str, _process: int) -> ObjectStore:
    """A store is kept with its connections, for many small objects; not across processes, which cannot share them."""
    store = _obstore().store
    kind: Any = {"s3": store.S3Store, "gs": store.GCSStore, "az": store.AzureStore}[scheme]
    made: ObjectStore = kind(bucket, retry_config=_RETRIES)
    return made


def _web(url: str) -> ObjectStore:
    """A store of one object: its whole address, for the query of a signed one belongs to each request."""
    options: Any = {"allow_http": url.startswith("http://")}
    made: ObjectStore = _obstore().store.HTTPStore.from_url(url, client_options=options, retry_config=_RETRIES)
    return made


def _obstore() -> ModuleType:
    try:
        import obstore.store
    except ImportError as error:
        raise _missing("obstore") from error
    return obstore


def _missing(library: str) -> InputError:
    return InputError(
        f"what lies beyond this machine is read with {library}, which is not installed", "pip install 'toolaudit-cli[remote]'"
    )


# ------------------------------------------------------------------------------------------------------- the Hugging Face hub


def _hub() -> Any:
    try:
        return import_module("huggingface_hub").HfFileSystem()
    except ImportError as error:
        raise _missing("huggingface_hub") from error


def _hub_object(url: str) -> RemoteObject | None:
    try:
        found = _hub().info(url.removeprefix("hf://"))
    except FileNotFoundError:
        return None
    return RemoteObject(url, found["size"]) if found["type"] == "file" else None


def _hub_below(url: str) -> Iterator[RemoteObject]:
    found = _hub().find(url.removeprefix("hf://").rstrip("/"), detail=True)
    yield from (RemoteObject(f"hf://{path}", found[path]["size"]) for path in sorted(found))


def _hub_fetch(url: str) -> Fetch:
    # "none": what is read ahead is decided here
    file = _hub().open(url.removeprefix("hf://"), "rb", cache_type="none")
    one_at_a_time = threading.Lock()

    def fetch(start: int, end: int) -> bytes:
        with one_at_a_time:
            file.seek(start)
            data: bytes = file.read(end - start)
            return data

    return fetch


# --------------------------------------------------------------------------------------------------------------------- words

_ABSENT = "there is no such object"
_DENIED = "it may not be read: the store denies it to these credentials"
_KEYLESS = "it may not be read: the store wants credentials, which it takes from the environment"

_STATUS = {
    400: "it cannot be read: the store refuses the request, for instance because of its region or its credentials",
    401: _KEYLESS,
    403: _DENIED,
    404: "there is no such object or bucket",
    410: _ABSENT,
    412: "it was changed while it was being read",
    416: "it was changed while it was being read",
    429: "it cannot be read: the store is asked too often",
}

_KINDS = {
    "FileNotFoundError": _ABSENT,
    "PermissionDeniedError": _DENIED,
    "PermissionError": _DENIED,
    "UnauthenticatedError": _KEYLESS,
    "PreconditionError": _STATUS[412],
    "NotSupportedError": "it cannot be read: the server sends no parts of it, so it must be fetched first",
    "InvalidPathError": "it cannot be read: a name has an empty part or one of dots alone, which is not supported",
    "GatedRepoError": "it may not be read: access to it must be asked for on the hub",
    "RepositoryNotFoundError": "there is no such repository, or these credentials may not see it",
    "LocalTokenNotFoundError": _KEYLESS,
}

_TRANSPORT = {
    "Connect": "it cannot be read: no connection to the store can be made",
    "Timeout": "it cannot be read: the store does not answer in time",
    "Decode": "it cannot be read: the answer of the store breaks off or makes no sense",
}


def _unusable(url: str, error: Exception) -> Unusable:
    return Unusable(shown(url), _reason(error), True)


def _reason(error: Exception) -> str:
    """Why, in a sentence of our own: of the error only its kind and a number are taken. Raises what is a fault of this program."""
    if isinstance(error, (InputError, TypeError, AttributeError, NameError, LookupError, AssertionError)):
        raise error
    if isinstance(error, RemoteError):
        return error.reason
    known = next((_KINDS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _KINDS), None)
    if known is not None:
        return known
    status = _status(error)
    if status is not None:
        return _STATUS.get(status, f"it cannot be read: the store answers with status {status}")
    kind = re.search(r"\bkind: (Connect|Timeout|Decode)\b", str(error))
    if kind is not None:
        return _TRANSPORT[kind[1]]
    name = type(error).__name__
    return next(
        (text for part, text in _TRANSPORT.items() if part in name), "it cannot be read: the address or its settings are not understood"
    )


def _status(error: Exception) -> int | None:
    """The status that a store answered with, which obstore says in its text only."""
    response = getattr(error, "response", None)
    if isinstance(code := getattr(response, "status_code", None), int):
        return code
    found = re.search(r"\bstatus code: (\d{3})\b", str(error))
    return int(found[1]) if found else None
