"""Open a bucket from its configuration."""

from bathysphere.backends.object_store.config import BucketConfig
from bathysphere.backends.object_store.objects import StoredObjects
from bathysphere.core.errors import ConfigError, missing_extra


def open_bucket(config: BucketConfig) -> StoredObjects:
    """Open a bucket without reading or writing anything yet.

    Raises:
        ConfigError: The configuration is incomplete or invalid.
    """
    if config.kind == "local":
        from bathysphere.backends.object_store.local import LocalObjects

        if config.folder is None:
            hint = "set BATHYSPHERE_STORAGE_FOLDER"
            raise ConfigError("A local bucket needs a folder", hint=hint)
        return LocalObjects(config.folder)
    try:
        from bathysphere.backends.object_store.obstore_client import ObstoreObjects, open_store
        from bathysphere.backends.object_store.tolerant_listing import raw_lister
    except ImportError as error:
        raise missing_extra("an object store", "storage") from error
    if config.kind != "memory" and not config.name:
        hint = "set BATHYSPHERE_STORAGE_BUCKET"
        raise ConfigError("The bucket has no name", hint=hint)
    return ObstoreObjects(open_store(config), raw_list=raw_lister(config), tries=config.tries)
