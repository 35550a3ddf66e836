"""Writing to the database does not allow running code in a process that reads it."""

import asyncio
import base64
import contextlib
import secrets
import sys
from pathlib import Path
from uuid import uuid4

import ormsgpack
import psycopg
import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde import jsonplus

sys.path.insert(0, str(Path(__file__).parents[1] / "server"))

from test_walls import graph
from workspace_town import drop, own_database

from bathysphere.engine.database.pool import open_pool
from bathysphere.engine.graphs import Graphs
from bathysphere.middleware import effects
from bathysphere.middleware.payments import metering

pytestmark = [pytest.mark.services, pytest.mark.timeout(60)]


@pytest.fixture(scope="module")
def database():
    found = own_database()
    yield found
    drop(found)


def payloads(file: Path) -> dict[str, tuple[str, bytes]]:
    """Values that create a file if read unsafely, one per way to name a call."""
    command, module, name = f"touch {file}", "os", "system"
    packed = {
        jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG: (module, name, command),
        jsonplus.EXT_CONSTRUCTOR_POS_ARGS: (module, name, (command,)),
        jsonplus.EXT_CONSTRUCTOR_KW_ARGS: (module, name, {"command": command}),
        jsonplus.EXT_METHOD_SINGLE_ARG: ("os", "path", command, "os.system"),
        jsonplus.EXT_PYDANTIC_V1: (module, name, {"command": command}, None),
        jsonplus.EXT_PYDANTIC_V2: (module, name, {"command": command}, "model_validate_json"),
    }
    found = {
        f"ext {code}": ("msgpack", ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(value))))
        for code, value in packed.items()
    }
    call = b'{"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["%s"]}'
    found["json"] = ("json", call % command.encode())
    found["pickle"] = ("pickle", b"cposix\nsystem\n(S'%s'\ntR." % command.encode())
    return found


KINDS = list(payloads(Path("x")))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("table", ["checkpoint_blobs", "checkpoint_writes", "pending sends"])
async def test_code_planted_in_checkpoints_is_not_run(database, tmp_path, table, kind):
    thread, file = str(uuid4()), tmp_path / secrets.token_hex(4)
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    graphs = Graphs({"plain": graph})
    tag, data = payloads(file)[kind]
    async with open_pool(database) as pool:
        bound = graphs.bind("plain", checkpointer=AsyncPostgresSaver(pool))
        await bound.ainvoke({"items": ["x"]}, config)
        async with pool.connection() as connection:
            if table == "checkpoint_blobs":
                await connection.execute(
                    "UPDATE checkpoint_blobs SET type = %s, blob = %s WHERE thread_id = %s",
                    (tag, data, thread),
                )
            else:
                channel = "__pregel_tasks" if table == "pending sends" else "items"
                await connection.execute(
                    "INSERT INTO checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id,"
                    " task_id, idx, channel, type, blob) SELECT thread_id, checkpoint_ns,"
                    " checkpoint_id, 'planted', 99, %s, %s, %s FROM checkpoints"
                    " WHERE thread_id = %s",
                    (channel, tag, data, thread),
                )
        again = graphs.bind("plain", checkpointer=AsyncPostgresSaver(pool))
        # A value that cannot be read may be an error; it must not be a call.
        await asyncio.gather(again.aget_state(config), return_exceptions=True)
        await asyncio.gather(_history(again, config), return_exceptions=True)
    assert not file.exists()


async def _history(bound, config):
    return [state async for state in bound.aget_state_history(config)]


@pytest.mark.parametrize("kind", KINDS)
def test_code_planted_in_a_stored_result_or_answer_is_not_run(tmp_path, kind):
    """`engine.effects.result` and `payments.charges.memo`."""
    file = tmp_path / "ran"
    tag, data = payloads(file)[kind]
    readers = [
        lambda: effects._read({"kind": tag, "data": base64.b64encode(data).decode()}),
        lambda: metering._read(tag.encode() + b"\0" + data),
    ]
    for read in readers:
        with contextlib.suppress(NotImplementedError, ValueError, TypeError):
            read()
    assert not file.exists()


def test_the_payloads_work_with_the_default_serializer(tmp_path):
    permissive = jsonplus.JsonPlusSerializer(allowed_msgpack_modules=True, pickle_fallback=True)
    live = set()
    for kind in KINDS:
        file = tmp_path / kind.replace(" ", "-")
        permissive.loads_typed(payloads(file)[kind])
        live |= {kind} if file.exists() else set()
    assert live == {"ext 0", "ext 1", "ext 2", "ext 4", "ext 5", "pickle"}


def test_every_bytea_column_is_known(database):
    """A new column needs a case here: what reads it, and how."""
    with psycopg.connect(database.url) as connection:
        rows = connection.execute(
            "SELECT table_schema || '.' || table_name || '.' || column_name"
            " FROM information_schema.columns WHERE data_type = 'bytea'"
            " AND table_schema NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
    assert {row[0] for row in rows} == READ_BY_THE_SAVER | READ_BY_METERING | NEVER_DESERIALIZED


READ_BY_THE_SAVER = {
    "public.checkpoint_blobs.blob",
    "public.checkpoint_writes.blob",
    "engine.writes_before.blob",  # restored to checkpoint_writes, and read there
}
READ_BY_METERING = {"payments.charges.memo"}
NEVER_DESERIALIZED = {
    "engine.audit_people.salt",
    "engine.file_changes.before",
    "identity.api_keys.digest",
    "payments.proofs.proof",
    "payments.swaps.body",
    "payments.swaps.outputs",
    "payments.vault.proof",
}
