"""Positions: one order, whatever form a client sends them back in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bathysphere.server.errors import InvalidRequest
from bathysphere.server.protocol.position import WIDTH, Position

positions = st.builds(Position.of_part, st.integers(0, 2**53 // WIDTH), st.integers(0, 2 * WIDTH))
STATUSES = ("completed", "failed", "interrupted", "started", "running")


@given(position=positions)
def test_a_client_of_protocol_v2_brings_back_what_it_got(position):
    assert Position.from_seq(position.seq) == position


@given(one=positions, other=positions)
def test_numbers_are_in_the_order_of_positions(one, other):
    assert (one.seq < other.seq) == (one < other)


@given(position=positions)
def test_whoever_is_at_the_end_of_an_entry_has_seen_all_of_it_and_nothing_of_the_next(position):
    end = Position.end_of(position.entry)
    assert position <= end < Position(position.entry + 1)


@pytest.mark.parametrize("status", STATUSES)
def test_a_run_status_comes_after_the_messages_it_ends(status):
    last_message = Position.of_part(7, WIDTH - 4)
    assert last_message < Position.of_status(7, status) <= Position.end_of(7)


@pytest.mark.parametrize("sent", [None, "", "-1", "0", "-7"])
def test_a_client_of_the_older_stream_that_saw_nothing_gets_all(sent):
    assert Position.from_last_event_id(sent).entry == 0


def test_a_client_of_the_older_stream_goes_on_after_the_entry_it_saw():
    assert Position.from_last_event_id("12") == Position.end_of(12)
    assert Position.from_last_event_id("9" * 30).entry == 2**62


@pytest.mark.parametrize("sent", ["12@5", "x", "1.5"])
def test_something_that_is_not_an_id_is_refused(sent):
    with pytest.raises(InvalidRequest, match="Last-Event-ID"):
        Position.from_last_event_id(sent)
