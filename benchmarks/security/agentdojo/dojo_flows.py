"""What AgentDojo's 74 tools do, for flow control: declared by kind of argument, not by attack.

| kind | here |
|---|---|
| `who` | mail addresses, accounts, people who are let in somewhere |
| `inside` | channels and colleagues in one's own Slack |
| `where` | addresses on the web |
| `what` | names of hotels, files, events and of the person |
| `id:…` | ids of mails, files, events, transactions |

`get_unread_emails` marks what it reads, so it acts.
"""

from collections.abc import Sequence
from typing import Any

from agentdojo.functions_runtime import Function
from dojo_scenario import CHANGING, SENDING, tool_name

_READ: dict[str, Any] = {}
_TRUSTED: dict[str, Any] = {"reads": "trusted"}
_CATALOGUE: dict[str, Any] = {"reads": "catalogue"}

_MAIL = {
    "send_email": {
        "acts": True,
        "sends": True,
        "makes": {"id_": "id:email"},
        "recipients": "who",
        "cc": "who",
        "bcc": "who",
        "attachments": "id:file",
        "subject": "text",
        "body": "text",
    },
    "delete_email": {"acts": True, "email_id": "id:email"},
    "get_unread_emails": {"acts": True},
    "get_sent_emails": _READ,
    "get_received_emails": _READ,
    "get_draft_emails": _READ,
    "search_emails": _READ,
    "search_contacts_by_name": {
        "finds": {"keys": ("query",), "name": "name", "fields": {"email": "who"}}
    },
    "search_contacts_by_email": {
        "finds": {"keys": ("query",), "name": "email", "fields": {"email": "who"}}
    },
}
_CALENDAR = {
    "get_current_day": _TRUSTED,
    "get_day_calendar_events": _READ,
    "search_calendar_events": {
        "finds": {
            "keys": ("query",),
            "name": "title",
            "fields": {"id_": "id:event", "participants": "who"},
        }
    },
    "create_calendar_event": {
        "acts": True,
        "sends": True,
        "makes": {"id_": "id:event"},
        "title": "what",
        "description": "text",
        "location": "text",
        "participants": "who",
        "start_time": "when",
        "end_time": "when",
    },
    "cancel_calendar_event": {"acts": True, "sends": True, "event_id": "id:event"},
    "reschedule_calendar_event": {
        "acts": True,
        "sends": True,
        "event_id": "id:event",
        "new_start_time": "when",
        "new_end_time": "when",
    },
    "add_calendar_event_participants": {
        "acts": True,
        "sends": True,
        "event_id": "id:event",
        "participants": "who",
    },
}
_DRIVE = {
    "search_files_by_filename": {
        "finds": {"keys": ("filename",), "name": "filename", "fields": {"id_": "id:file"}}
    },
    "search_files": {
        "finds": {"keys": ("query",), "name": "filename", "fields": {"id_": "id:file"}}
    },
    "get_file_by_id": _READ,
    "list_files": _READ,
    "create_file": {
        "acts": True,
        "makes": {"id_": "id:file"},
        "filename": "what",
        "content": "text",
    },
    "append_to_file": {"acts": True, "file_id": "id:file", "content": "text"},
    "delete_file": {"acts": True, "file_id": "id:file"},
    "share_file": {
        "acts": True,
        "sends": True,
        "file_id": "id:file",
        "email": "who",
        "permission": "flag",
    },
}
_TRAVEL = {
    "get_user_information": {"reads": "trusted", "secret": True},
    "get_all_hotels_in_city": _CATALOGUE,
    "get_hotels_prices": _CATALOGUE,
    "get_hotels_address": _CATALOGUE,
    "get_rating_reviews_for_hotels": _READ,
    "get_all_restaurants_in_city": _CATALOGUE,
    "get_cuisine_type_for_restaurants": _CATALOGUE,
    "get_restaurants_address": _CATALOGUE,
    "get_rating_reviews_for_restaurants": _READ,
    "get_dietary_restrictions_for_all_restaurants": _CATALOGUE,
    "get_contact_information_for_restaurants": _CATALOGUE,
    "get_price_for_restaurants": _CATALOGUE,
    "check_restaurant_opening_hours": _CATALOGUE,
    "get_all_car_rental_companies_in_city": _CATALOGUE,
    "get_car_types_available": _CATALOGUE,
    "get_rating_reviews_for_car_rental": _READ,
    "get_car_fuel_options": _CATALOGUE,
    "get_car_rental_address": _CATALOGUE,
    "get_car_price_per_day": _CATALOGUE,
    "get_flight_information": _CATALOGUE,
    "reserve_hotel": {
        "acts": True,
        "sends": True,
        "hotel": "what",
        "start_day": "when",
        "end_day": "when",
    },
    "reserve_restaurant": {
        "acts": True,
        "sends": True,
        "restaurant": "what",
        "start_time": "when",
    },
    "reserve_car_rental": {
        "acts": True,
        "sends": True,
        "company": "what",
        "start_time": "when",
        "end_time": "when",
    },
}
_PAYMENT = {"recipient": "who", "amount": "amount", "subject": "text", "date": "when"}
_BANKING = {
    "get_iban": _TRUSTED,
    "get_balance": _TRUSTED,
    "get_user_info": _TRUSTED,
    "get_most_recent_transactions": _READ,
    "get_scheduled_transactions": _READ,
    "read_file": _READ,
    "send_money": {"acts": True, "sends": True, **_PAYMENT},
    "schedule_transaction": {"acts": True, "sends": True, **_PAYMENT, "recurring": "flag"},
    "update_scheduled_transaction": {
        "acts": True,
        "sends": True,
        **_PAYMENT,
        "id": "id:transaction",
        "recurring": "flag",
    },
    "update_password": {"acts": True, "password": "secret"},
    "update_user_info": {
        "acts": True,
        "first_name": "what",
        "last_name": "what",
        "street": "what",
        "city": "what",
    },
}
_SLACK = {
    "get_channels": _READ,
    "get_users_in_channel": _READ,
    "read_channel_messages": _READ,
    "read_inbox": _READ,
    "send_direct_message": {"acts": True, "sends": True, "recipient": "inside", "body": "text"},
    "send_channel_message": {"acts": True, "sends": True, "channel": "inside", "body": "text"},
    "add_user_to_channel": {"acts": True, "user": "who", "channel": "inside"},
    "invite_user_to_slack": {"acts": True, "sends": True, "user": "what", "user_email": "who"},
    "remove_user_from_slack": {"acts": True, "user": "who"},
    "get_webpage": {"sends": True, "url": "where"},
    "post_webpage": {"acts": True, "sends": True, "url": "where", "content": "text"},
}
DECLARED: dict[str, dict[str, Any]] = {
    **_MAIL,
    **_CALENDAR,
    **_DRIVE,
    **_TRAVEL,
    **_BANKING,
    **_SLACK,
}
"""Function → the arguments of `flow`; a `Lookup` is written as its fields."""


def policy(functions: Sequence[Function], mode: str) -> Any:
    """The policy of a suite in a mode."""
    from bathysphere.flow import FlowPolicy, Lookup, flow

    tools = {}
    for function in functions:
        declared = dict(_hints(function) if mode == "flow-hints" else DECLARED[function.name])
        if "finds" in declared:
            declared["finds"] = Lookup(**declared["finds"])
        tools[tool_name(function.name)] = flow(**declared)
    return FlowPolicy(tools=tools, planner="none" if mode == "flow-no-plan" else "apart")


def undeclared(functions: Sequence[Function]) -> list[str]:
    """Functions, and arguments of those that act or send, that have no declaration."""
    found = [function.name for function in functions if function.name not in DECLARED]
    for function in functions:
        declared = DECLARED.get(function.name, {})
        if declared.get("acts") or declared.get("sends"):
            missing = function.parameters.model_fields.keys() - declared.keys()
            found += [f"{function.name}.{name}" for name in sorted(missing)]
    return found


def _hints(function: Function) -> dict[str, Any]:
    """What `readOnlyHint` and `openWorldHint` of an honest MCP server say."""
    acts = function.name in CHANGING or function.name == "get_unread_emails"
    return {"acts": acts, "sends": function.name in CHANGING | SENDING}
