"""Back up a database to a file and restore it, with PostgreSQL's own programs.

A restore is one transaction: what was there is dropped, the backup is read, a new epoch begins. If
anything fails, the database is as before.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from bathysphere.core.errors import ConfigError, UpstreamError
from bathysphere.engine.database.epoch import BEGIN_EPOCH

_BEFORE = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'bathysphere_tenant') THEN
        CREATE ROLE bathysphere_tenant NOLOGIN;
    END IF;
    IF NOT pg_has_role(current_user, 'bathysphere_tenant', 'MEMBER') THEN
        EXECUTE format('GRANT bathysphere_tenant TO %I', current_user);
    END IF;
END $$;
DROP SCHEMA IF EXISTS engine, identity, payments, public CASCADE;
CREATE SCHEMA public;
GRANT USAGE ON SCHEMA public TO PUBLIC;
"""


def back_up(url: str, file: Path, *, programs: Path | None = None) -> None:
    """Write the whole database to a new file, as of one moment, in PostgreSQL's custom format.

    Raises:
        ConfigError: `pg_dump` is missing, or the file cannot be created.
        UpstreamError: It failed; the message is PostgreSQL's.
    """
    program = _find("pg_dump", programs)
    try:
        # Readable by the operator only: it contains everything.
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ConfigError(f"Cannot create {file}: {error.strerror}", hint="name another") from error
    try:
        with os.fdopen(descriptor, "wb") as output:
            _run([program, "--format=custom", "--no-owner", f"--dbname={url}"], stdout=output)
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def restore(url: str, file: Path, *, programs: Path | None = None) -> None:
    """Replace the contents of the database by a backup and begin a new epoch.

    Raises:
        ConfigError: `pg_restore` or `psql` is missing.
        UpstreamError: It failed, and nothing has changed; the message is PostgreSQL's.
    """
    reader, client = _find("pg_restore", programs), _find("psql", programs)
    with tempfile.TemporaryDirectory(prefix="bathysphere-restore-") as folder:
        before, script, after = (Path(folder) / name for name in ("0.sql", "1.sql", "2.sql"))
        _run([reader, "--no-owner", f"--file={script}", str(file)])
        before.write_text(_BEFORE, encoding="utf-8")
        after.write_text(BEGIN_EPOCH, encoding="utf-8")
        files = [f"--file={part}" for part in (before, script, after)]
        options = ["--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1"]
        _run([client, *options, f"--dbname={url}", *files])


def _find(name: str, programs: Path | None) -> str:
    found = shutil.which(name, path=str(programs) if programs is not None else None)
    if found is None:
        raise ConfigError(
            f"{name} is not installed",
            hint="install PostgreSQL's client programs, of the server's version or newer",
        )
    return found


def _run(command: list[str], *, stdout: object = subprocess.DEVNULL) -> None:
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, check=False)  # type: ignore[call-overload]  # noqa: S603
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise UpstreamError(f"{Path(command[0]).name} failed: {lines[0]}", hint="see its manual")
