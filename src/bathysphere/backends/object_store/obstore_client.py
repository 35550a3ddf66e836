"""A bucket accessed with obstore's sync API. The only module that calls obstore.

obstore's own retries are off: they repeat a write whose response was lost, and then mistake the
first success for another client's write. Here every write puts an id into the object's metadata,
together with the ids of earlier writes; after a lost response they tell whether the write
succeeded.
"""

import random
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    InvalidPathError,
    NotSupportedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import AzureStore, GCSStore, MemoryStore, S3Store

from bathysphere.backends.object_store.config import BucketConfig
from bathysphere.backends.object_store.objects import (
    Changed,
    Expect,
    Listing,
    Meta,
    StorageFailed,
    StoredObject,
    Version,
)
from bathysphere.backends.object_store.tolerant_listing import RawList

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_T = TypeVar("_T")
_FAILED = (BaseError, OSError)
_HOPELESS = (PermissionDeniedError, UnauthenticatedError, PermissionError, NotSupportedError)
_WRITES = "bathysphere"
"""The metadata key for the ids of writes; valid in every store."""
_WRITE_IDS = 12
_BACKOFF = (0.05, 0.2, 0.5, 1.2)
"""Google allows one write per second to an object, so the last delays are longer than that."""
_CHUNK = 1 << 20
_FAN_OUT_FROM = 5_000


def open_store(config: BucketConfig) -> "ObjectStore":
    """Create the obstore client of a bucket."""
    common: Any = {
        "client_options": {
            "timeout": timedelta(seconds=config.timeout_seconds),
            "allow_http": bool(config.endpoint and config.endpoint.startswith("http://")),
        },
        "retry_config": {"max_retries": 0, "retry_timeout": timedelta(seconds=60)},
    }
    if config.kind == "memory":
        return MemoryStore()
    if config.kind == "gcs":
        key = config.service_account_key
        return GCSStore(config.name, config={"service_account_key": key} if key else {}, **common)
    if config.kind == "s3":
        keys = {"access_key_id": config.access_key, "secret_access_key": config.secret_key}
        given: Any = {name: value for name, value in keys.items() if value}
        if config.endpoint:
            given |= {"endpoint": config.endpoint, "virtual_hosted_style_request": False}
        return S3Store(config.name, region=config.region, **given, **common)
    keys = {"account_name": config.access_key, "account_key": config.secret_key}
    given = {name: value for name, value in keys.items() if value}
    if config.endpoint:
        given["endpoint"] = config.endpoint
    return AzureStore(config.name, **given, **common)


class ObstoreObjects:
    """A bucket in GCS, S3, Azure or memory."""

    def __init__(
        self, store: "ObjectStore", *, raw_list: RawList | None = None, tries: int = 5
    ) -> None:
        self._store = store
        self._raw_list = raw_list
        self._tries = tries
        self._sizes: dict[str, int] = {}

    def get(self, key: str, *, most: int | None = None) -> StoredObject | None:
        """Return an object, or None."""

        def read() -> StoredObject | None:
            try:
                found = obstore.get(self._store, key)
                meta = _meta(found.meta)
                is_wanted = most is None or meta.size <= most
                data = bytes(found.bytes()) if is_wanted else b""
            except FileNotFoundError:
                return None
            return StoredObject(data, meta, str(found.attributes.get(_WRITES, "")))

        return self._try(read)

    def head(self, key: str) -> Meta | None:
        """Return the metadata of an object without reading it."""

        def look() -> Meta | None:
            try:
                return _meta(obstore.head(self._store, key))
            except FileNotFoundError:
                return None

        return self._try(look)

    def chunks(self, meta: Meta, start: int) -> Iterator[bytes]:
        """Yield the object's bytes from an offset, at this version only."""
        place = start
        while place < meta.size:
            end = min(place + _CHUNK, meta.size)
            yield self._chunk(meta, place, end)
            place = end

    def _chunk(self, meta: Meta, start: int, end: int) -> bytes:
        def read() -> bytes:
            options: Any = {"range": (start, end)}
            if meta.version.e_tag:
                options["if_match"] = meta.version.e_tag
            try:
                return bytes(obstore.get(self._store, meta.key, options=options).bytes())
            except (PreconditionError, FileNotFoundError) as error:
                raise Changed("the file changed while it was read") from error

        return self._try(read)

    # ── writing ──

    def put(self, key: str, data: bytes, *, expect: Expect = None, writes: str = "") -> Version:
        """Store an object, or raise `Changed` if it is not at the expected version."""
        if isinstance(expect, Version) and not expect.token:
            raise StorageFailed("the store returned no version; nothing was changed")
        own = secrets.token_hex(6)
        past = ",".join([own, *writes.split(",")][:_WRITE_IDS]).rstrip(",")
        is_known = True
        for wait in self._waits():
            try:
                return self._put(key, data, expect, past)
            except (AlreadyExistsError, PreconditionError, FileNotFoundError) as error:
                if not is_known and (landed := self._landed(key, own)) is not None:
                    return landed
                raise Changed("the file changed since it was read") from error
            except _HOPELESS as error:
                raise _failed(error) from error
            except _FAILED as error:
                if (landed := self._landed(key, own)) is not None:
                    return landed
                is_known = False
                if wait is None:
                    raise StorageFailed(
                        f"the store did not confirm the write: {type(error).__name__}",
                        hint="read the file before trying again",
                    ) from error
                time.sleep(wait)
        raise AssertionError("unreachable")

    def _put(self, key: str, data: bytes, expect: Expect, past: str) -> Version:
        mode: Any = "overwrite"
        if expect == "absent":
            mode = "create"
        elif expect is not None:
            named = {"e_tag": expect.e_tag, "version": expect.number}
            mode = {name: value for name, value in named.items() if value}
        made = obstore.put(
            self._store, key, data, mode=mode, attributes={_WRITES: past}, use_multipart=False
        )
        return Version(made["e_tag"], made["version"])

    def _landed(self, key: str, own: str) -> Version | None:
        """Return the object's version if our write succeeded; None if it did not, or is unknown."""
        try:
            found = obstore.get(self._store, key, options={"head": True})
        except _FAILED:
            return None
        if own not in str(found.attributes.get(_WRITES, "")).split(","):
            return None
        return _meta(found.meta).version

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; missing ones are ignored."""

        def remove(key: str) -> None:
            try:
                obstore.delete(self._store, key)
            except FileNotFoundError:
                return

        if len(keys) == 1:
            self._try(lambda: remove(keys[0]))
            return
        with ThreadPoolExecutor(16, thread_name_prefix="delete") as pool:
            for done in [pool.submit(self._try, lambda k=key: remove(k)) for key in keys]:
                done.result()

    # ── listing ──

    def listing(self, prefix: str) -> Listing:
        """List all objects whose key begins with the prefix and a slash."""
        try:
            if self._sizes.get(prefix, 0) >= _FAN_OUT_FROM:
                listing = self._fan_out(prefix)
            else:
                listing = Listing(self._list_all(prefix))
        except InvalidPathError as error:
            listing = self._raw(prefix, error, is_deep=True)
        self._sizes[prefix] = len(listing.metas)
        return listing

    def folder(self, prefix: str) -> Listing:
        """List the objects and folders directly under the prefix."""
        try:
            found = self._try(lambda: obstore.list_with_delimiter(self._store, prefix))
        except InvalidPathError as error:
            return self._raw(prefix, error, is_deep=False)
        return Listing([_meta(meta) for meta in found["objects"]], list(found["common_prefixes"]))

    def _list_all(self, prefix: str) -> list[Meta]:
        metas = self._try(lambda: obstore.list(self._store, prefix).collect())
        return sorted(map(_meta, metas), key=lambda meta: meta.key)

    def _fan_out(self, prefix: str) -> Listing:
        """List the folders of a large prefix in parallel."""
        top = self.folder(prefix)
        metas = list(top.metas)
        with ThreadPoolExecutor(16, thread_name_prefix="list") as pool:
            for listed in pool.map(self._list_all, top.folders):
                metas += listed
        return Listing(sorted(metas, key=lambda meta: meta.key), [], top.strange)

    def _raw(self, prefix: str, error: Exception, *, is_deep: bool) -> Listing:
        if self._raw_list is None:
            raise _failed(error) from error
        return self._raw_list(prefix, is_deep)

    # ── patience ──

    def _waits(self) -> list[float | None]:
        waits = [_BACKOFF[min(n, len(_BACKOFF) - 1)] for n in range(self._tries - 1)]
        return [*(random.uniform(wait / 2, wait) for wait in waits), None]  # noqa: S311  # jitter

    def _try(self, operation: Callable[[], _T]) -> _T:
        """Retry an idempotent operation until it succeeds or the error is permanent."""
        for wait in self._waits():
            try:
                return operation()
            except InvalidPathError:
                raise
            except _HOPELESS as error:
                raise _failed(error) from error
            except _FAILED as error:
                if wait is None:
                    raise _failed(error) from error
                time.sleep(wait)
        raise AssertionError("unreachable")


def _meta(given: Any) -> Meta:
    version = Version(given["e_tag"], given["version"])
    return Meta(given["path"], given["size"], version, given["last_modified"])


def _failed(error: Exception) -> StorageFailed:
    # The error's own text contains hosts and keys, and the model reads this message.
    return StorageFailed(f"storage error: {type(error).__name__}")
