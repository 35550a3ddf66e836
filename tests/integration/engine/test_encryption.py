"""Contents are encrypted in PostgreSQL, and open where they were stored and nowhere else."""

import asyncio
import secrets
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from uuid import uuid4
from zipfile import ZipFile

import pytest
from engine_rig import ALICE, BOB, Rig, clean

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "server"))

from encrypted_threads import (
    GRAPHS,
    answer,
    converse,
    encrypted,
    execute,
    new_key,
    state_of,
)
from planted_thread import hits

from bathysphere.engine.database.encryption_keys import recorded_keys
from bathysphere.engine.database.key_rotation import KeyRotation
from bathysphere.engine.errors import (
    DecryptionFailed,
    EncryptionKeyMissing,
    EncryptionKeyWrong,
    MessageSearchOff,
)
from bathysphere.server.personal_data import count_person, delete_person, export_person
from bathysphere.server.process.services import open_services

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
OLD, NEW = new_key("old"), new_key("new")


@pytest.fixture
def database(engine_database):
    clean(engine_database)
    execute(engine_database, "DELETE FROM engine.encryption_keys")
    yield engine_database
    execute(engine_database, "DELETE FROM engine.encryption_keys")


@asynccontextmanager
async def opened(database):
    async with open_services(database=database, graphs=GRAPHS) as services:
        yield Rig(services, {})


@asynccontextmanager
async def working(database):
    async with opened(database) as rig, rig.working():
        yield rig


@pytest.fixture
def word():
    return f"canary{secrets.token_hex(12)}"


async def rotate(database):
    async with opened(database) as rig:
        rotation = KeyRotation(rig.pool)
        rows = [progress.rows async for progress in rotation.run()]
        forgotten = await rotation.forget_unused()
        return rows[-1], forgotten, await rotation.count()


async def test_no_table_has_a_word_of_a_conversation(database, word):
    async with working(encrypted(database, OLD)) as rig:
        thread = await converse(rig, word)
        waiting = await rig.start(thread, "secret", work=None, input={"word": word})
        await rig.ended(waiting)
        copied = await rig.threads.copy(thread, to=uuid4(), owner=ALICE)
        values = {"word": word, "messages": [{"role": "user", "content": word}]}
        await rig.services.states.update(copied.thread_id, values, owner=ALICE)
        assert (await answer(rig, thread, word)).status == "success"
        state = await state_of(rig, thread)
    assert state["values"]["word"] == word
    assert state["values"]["answer"] == {"yes": word}
    assert state["values"]["number"] == 31337
    assert state["values"]["flag"] is True
    assert [word in str(each.content) for each in state["values"]["said"]].count(True) >= 3
    assert any(word in str(each.content) for each in state["values"]["messages"])
    assert hits(database, word) == []
    rows = execute(database, "SELECT checkpoint::text FROM checkpoints")
    assert not any("31337" in text for (text,) in rows)


async def test_an_open_question_and_a_waiting_answer_are_encrypted(database, word):
    async with working(encrypted(database, OLD)) as rig:
        thread = await converse(rig, word)
        assert hits(database, word) == []
        (question,) = (await state_of(rig, thread))["interrupts"]
        assert question["value"] == {"question": f"Is it {word}?"}
    async with opened(encrypted(database, OLD)) as rig:
        (name,) = await rig.answers.pending(thread, owner=ALICE, graph="secret")
        given = await rig.answers.submit(thread, {name: word}, owner=ALICE, graph="secret")
        assert given.run.work.resume == {name: word}
        again = await rig.runs.get(given.run.run_id, owner=ALICE)
        assert again.work.resume == {name: word}
    assert hits(database, word) == []


async def test_without_encryption_the_same_words_are_found(database, word):
    """The search for the words above finds what is stored in plain text."""
    async with working(database) as rig:
        await answer(rig, await converse(rig, word), word)
    tables = {
        "engine.runs",
        "engine.answers",
        "engine.effects",
        "engine.message_texts",
        "public.checkpoints",
        "public.checkpoint_blobs",
        "public.checkpoint_writes",
    }
    assert tables <= set(hits(database, word))


async def test_plain_rows_are_read_after_encryption_is_turned_on(database, word):
    async with working(database) as rig:
        thread = await converse(rig, word)
    async with working(encrypted(database, OLD)) as rig:
        assert (await answer(rig, thread, word)).status == "success"
        values = (await state_of(rig, thread))["values"]
        assert (values["word"], values["answer"]) == (word, {"yes": word})
        history = [state async for state, _ in rig.services.states.history(thread, owner=ALICE)]
        assert len(history) > 5


async def test_strictness_refuses_plain_rows_until_they_are_rewritten(database, word):
    async with working(database) as rig:
        thread = await converse(rig, word)
    strict = encrypted(database, OLD, is_strict=True)
    async with opened(strict) as rig:
        with pytest.raises(DecryptionFailed) as refused:
            await state_of(rig, thread)
        assert "encryption rotate" in refused.value.hint
    await rotate(strict)
    assert hits(database, word) == []
    async with working(strict) as rig:
        assert (await answer(rig, thread, word)).status == "success"
        assert (await state_of(rig, thread))["values"]["word"] == word


async def test_a_copy_of_a_thread_is_sealed_for_itself(database, word):
    async with working(encrypted(database, OLD)) as rig:
        thread = await converse(rig, word)
        copied = await rig.threads.copy(thread, to=uuid4(), owner=ALICE)
        await rig.threads.delete(thread, owner=ALICE)
        assert (await answer(rig, copied.thread_id, word)).status == "success"
        assert (await state_of(rig, copied.thread_id))["values"]["word"] == word


MOVES = {
    "a blob to another thread": """
        UPDATE checkpoint_blobs b SET type = o.type, blob = o.blob FROM checkpoint_blobs o
         WHERE b.thread_id = %(to)s AND o.thread_id = %(from)s AND b.channel = 'messages'
           AND o.channel = b.channel AND left(o.version, 32) = left(b.version, 32)""",
    "a blob to another channel": """
        UPDATE checkpoint_blobs b SET type = o.type, blob = o.blob FROM checkpoint_blobs o
         WHERE b.thread_id = %(to)s AND o.thread_id = b.thread_id
           AND b.channel = 'messages' AND o.channel = 'parts'""",
    "an older version of a channel": """
        UPDATE checkpoint_blobs b SET type = o.type, blob = o.blob FROM checkpoint_blobs o
         WHERE b.thread_id = %(to)s AND o.thread_id = b.thread_id
           AND b.channel = 'messages' AND o.channel = b.channel AND o.version < b.version""",
    "a write to another thread": """
        UPDATE checkpoint_writes w SET type = o.type, blob = o.blob FROM checkpoint_writes o
         WHERE w.thread_id = %(to)s AND o.thread_id = %(from)s
           AND w.channel = '__interrupt__' AND o.channel = w.channel""",
    "an inline string to another thread": """
        UPDATE checkpoints c SET checkpoint = jsonb_set(c.checkpoint, '{channel_values,word}',
                                       o.checkpoint #> '{channel_values,word}')
          FROM checkpoints o WHERE c.thread_id = %(to)s AND o.thread_id = %(from)s
           AND o.checkpoint #> '{channel_values,word}' IS NOT NULL""",
    "an inline string to another channel": """
        UPDATE checkpoints SET checkpoint = jsonb_set(checkpoint, '{channel_values,number}',
                                       checkpoint #> '{channel_values,word}')
         WHERE thread_id = %(to)s AND checkpoint #> '{channel_values,number}' IS NOT NULL""",
    "a byte of a blob": """
        UPDATE checkpoint_blobs SET blob = set_byte(blob, 20, get_byte(blob, 20) # 1)
         WHERE thread_id = %(to)s AND channel = 'messages'""",
    "a byte of a nonce": """
        UPDATE checkpoint_blobs SET blob = set_byte(blob, 0, get_byte(blob, 0) # 1)
         WHERE thread_id = %(to)s AND channel = 'messages'""",
    "a byte of a write": """
        UPDATE checkpoint_writes SET blob = set_byte(blob, 20, get_byte(blob, 20) # 1)
         WHERE thread_id = %(to)s""",
    "the end of a blob": """
        UPDATE checkpoint_blobs SET blob = substring(blob for length(blob) - 1)
         WHERE thread_id = %(to)s AND channel = 'messages'""",
    "everything but the start of a blob": """
        UPDATE checkpoint_blobs SET blob = substring(blob for 5)
         WHERE thread_id = %(to)s AND channel = 'messages'""",
    "the type of a blob": """
        UPDATE checkpoint_blobs SET type = 'bytes+aesgcm.old'
         WHERE thread_id = %(to)s AND channel = 'messages'""",
    "a delta's write to another thread": """
        UPDATE checkpoint_writes w SET type = o.type, blob = o.blob FROM checkpoint_writes o
         WHERE w.thread_id = %(to)s AND o.thread_id = %(from)s
           AND w.channel = 'said' AND o.channel = w.channel""",
}


@pytest.mark.parametrize("other", [ALICE, BOB], ids=["same tenant", "other tenant"])
async def test_what_was_moved_or_changed_is_refused(database, word, other):
    async with working(encrypted(database, OLD)) as rig:
        thread, source = await converse(rig, word), await converse(rig, word, owner=other)
        passed = []
        for what, move in MOVES.items():
            with kept_rows(database):
                async with rig.pool.connection() as connection:
                    values = {"to": str(thread), "from": str(source)}
                    assert (await connection.execute(move.encode(), values)).rowcount, what
                try:
                    await state_of(rig, thread)
                    passed.append(what)
                except DecryptionFailed as error:
                    assert "changed or moved" in error.hint
        assert passed == []
        assert (await state_of(rig, thread))["values"]["word"] == word
        execute(database, "UPDATE checkpoint_blobs SET blob = set_byte(blob, 20, 0)")
        execute(database, "UPDATE checkpoint_blobs SET blob = set_byte(blob, 21, 0)")
        with pytest.raises(DecryptionFailed):
            await rig.answers.pending(thread, owner=ALICE, graph="secret")
        run = await rig.ended(await rig.start(thread, "secret", input={"word": word}))
        assert (run.status, run.error["code"]) == ("error", "decryption_failed")


@contextmanager
def kept_rows(database):
    """Put the checkpoints back at the end."""
    tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
    for table in tables:
        execute(database, f"CREATE TABLE kept_{table} AS TABLE {table}")
    try:
        yield
    finally:
        for table in tables:
            execute(database, f"DELETE FROM {table}")
            execute(database, f"INSERT INTO {table} SELECT * FROM kept_{table}")
            execute(database, f"DROP TABLE kept_{table}")


MOVED_JSON = {
    "effect": "UPDATE engine.effects e SET result = o.result FROM engine.effects o"
    " WHERE e.thread_id = %s AND o.thread_id = %s",
    "answer": "UPDATE engine.answers a SET answer = o.answer FROM engine.answers o"
    " WHERE a.thread_id = %s AND o.thread_id = %s",
    "run": "UPDATE engine.runs r SET work = o.work FROM engine.runs o"
    " WHERE r.thread_id = %s AND o.thread_id = %s AND o.work ? 'sealed'",
}


async def test_inputs_effects_and_answers_are_bound_to_their_thread(database, word, tmp_path):
    async with working(encrypted(database, OLD)) as rig:
        threads = [await converse(rig, word) for _ in range(2)]
        for thread in threads:
            await answer(rig, thread, word)
        for what, move in MOVED_JSON.items():  # exported in the opposite order
            execute(database, move, *threads)
            with (
                ZipFile(tmp_path / "a.zip", "w") as archive,
                pytest.raises(DecryptionFailed, match=f"stored {what}"),
            ):
                await export_person(rig.services, ALICE, archive)


async def test_two_tenants_have_two_keys(database, word):
    encryption = encrypted(database, OLD).encryption
    kind, sealed = encryption.tenant("a").seal_typed("bytes", word.encode(), ("x",))
    assert encryption.tenant("a").open_typed(kind, sealed, ("x",)) == ("bytes", word.encode())
    with pytest.raises(DecryptionFailed):
        encryption.tenant("b").open_typed(kind, sealed, ("x",))
    async with working(encrypted(database, OLD)) as rig:
        hers, his = await converse(rig, word), await converse(rig, word, owner=BOB)
        assert (await state_of(rig, hers))["values"]["word"] == word
        assert (await state_of(rig, his, owner=BOB))["values"]["word"] == word


async def test_a_missing_or_wrong_key_is_named_at_the_start(database, word):
    async with working(encrypted(database, OLD)) as rig:
        thread = await converse(rig, word)
    for other in (database, encrypted(database, NEW)):
        with pytest.raises(EncryptionKeyMissing, match="'old' is missing"):
            async with opened(other):
                pass
        execute(database, "DELETE FROM engine.encryption_keys WHERE key_id = 'new'")
    with pytest.raises(EncryptionKeyWrong, match="'old'"):
        async with opened(encrypted(database, new_key("old"))):
            pass
    execute(database, "DELETE FROM engine.encryption_keys")
    async with opened(database) as rig:
        with pytest.raises(EncryptionKeyMissing, match="'old' is missing"):
            await state_of(rig, thread)
        with pytest.raises(EncryptionKeyMissing):
            await rig.runs.list_of_thread(thread, owner=ALICE)


async def test_everything_is_rewritten_with_a_new_key(database, word):
    async with working(database) as rig:
        plain = await converse(rig, word)
        await answer(rig, plain, word)
    async with working(encrypted(database, OLD)) as rig:
        thread = await converse(rig, word, owner=BOB)
        half = await answer(rig, thread, word, owner=BOB)
        assert half.status == "success"
    assert hits(database, word)
    rows, forgotten, counts = await rotate(encrypted(database, NEW, OLD))
    assert rows > 20
    assert forgotten == ["old"]
    assert {key for by_key in counts.values() for key in by_key} == {"new"}
    assert hits(database, word) == []
    assert (await rotate(encrypted(database, NEW)))[0] == 0
    async with working(encrypted(database, NEW, is_strict=True)) as rig:
        for found, owner in ((plain, ALICE), (thread, BOB)):
            values = (await state_of(rig, found, owner=owner))["values"]
            assert (values["word"], values["answer"]) == (word, {"yes": word})
            async for state, _ in rig.services.states.history(found, owner=owner, limit=50):
                assert state["values"].get("word", word) == word
        runs = await rig.runs.list_of_thread(plain, owner=ALICE)
        assert runs[-1].work.input["word"] == word


async def test_encryption_can_be_turned_off_again(database, word):
    async with working(encrypted(database, OLD)) as rig:
        thread = await converse(rig, word)
    _, forgotten, _ = await rotate(encrypted(database, "plain", OLD))
    assert forgotten == ["old"]
    async with working(database) as rig:
        assert (await answer(rig, thread, word)).status == "success"
        assert (await state_of(rig, thread))["values"]["word"] == word


async def test_keys_are_rotated_while_runs_go_on(database, word):
    async with working(encrypted(database, OLD, NEW)) as rig:
        threads = [await converse(rig, word) for _ in range(3)]
        new = encrypted(database, NEW, OLD)

        async def work() -> list[str]:
            ended = [await answer(rig, thread, word) for thread in threads]
            return [run.status for run in ended]

        async def turn() -> None:
            for _ in range(4):
                await rotate(new)

        statuses, _ = await asyncio.gather(work(), turn())
        assert statuses == ["success"] * 3
    await rotate(new)
    _, _, counts = await rotate(new)
    assert {key for by_key in counts.values() for key in by_key} == {"new"}
    async with working(encrypted(database, NEW)) as rig:
        for thread in threads:
            assert (await state_of(rig, thread))["values"]["answer"] == {"yes": word}


async def test_a_rotation_that_was_stopped_goes_on(database, word):
    async with working(database) as rig:
        for _ in range(3):
            await converse(rig, word)
    async with opened(encrypted(database, OLD)) as rig:
        rotation = KeyRotation(rig.pool)
        first = (await rig.threads.search(owner=ALICE))[0]
        done = await rotation._thread(str(first.thread_id), ALICE.tenant)
        assert done > 0
        assert hits(database, word)
    rows, _, _ = await rotate(encrypted(database, OLD))
    assert rows > 0
    assert hits(database, word) == []


async def test_a_person_can_be_exported_and_deleted(database, word, tmp_path):
    async with working(encrypted(database, OLD)) as rig:
        thread = await converse(rig, word)
        await answer(rig, thread, word)
        with ZipFile(tmp_path / "all.zip", "w") as archive:
            await export_person(rig.services, ALICE, archive)
        with ZipFile(tmp_path / "all.zip") as archive:
            states = archive.read(f"threads/{thread}.json").decode()
            assert f"found {word}" in states
            assert f"Is it {word}?" in states
            assert "31337" in states
            for name in ("runs", "answers", "effects"):
                assert word in archive.read(f"{name}.json").decode()
                assert "$sealed" not in archive.read(f"{name}.json").decode()
            assert "$sealed" not in states
        await delete_person(rig.services, ALICE)
        assert not await count_person(rig.services, ALICE)


async def test_message_search_is_off_unless_asked_for(database, word):
    async with working(database) as rig:
        await answer(rig, await converse(rig, word), word)
        assert await rig.services.messages.search(word, owner=ALICE)
    async with working(encrypted(database, OLD)) as rig:
        with pytest.raises(MessageSearchOff):
            await rig.services.messages.search(word, owner=ALICE)
    await rotate(encrypted(database, OLD))
    assert hits(database, word) == []
    async with working(encrypted(database, OLD, indexes_messages=True)) as rig:
        await answer(rig, await converse(rig, word), word)
        assert await rig.services.messages.search(word, owner=ALICE)
    assert hits(database, word) == ["engine.message_texts"]


async def test_the_key_that_encrypts_is_recorded(database):
    async with opened(encrypted(database, NEW, OLD)) as rig, rig.pool.connection() as connection:
        assert await recorded_keys(connection) == ["new"]


def test_a_place_cannot_be_spelled_in_two_ways(database):
    cipher = encrypted(database, OLD).encryption.tenant("t")
    kind, sealed = cipher.seal_typed("bytes", b"x", ("channel", "a", "b"))
    for place in (("channel", "a,b"), ("channel", "ab", ""), ("channel", "a", "b", "")):
        with pytest.raises(DecryptionFailed):
            cipher.open_typed(kind, sealed, place)
