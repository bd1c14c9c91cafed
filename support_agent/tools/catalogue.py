"""The catalogue of all tools, and the validation of a call from its name and arguments.

Invariant: the planner creates calls only through `validated`; a number, name or pointer that is not in its set at that
moment is rejected, never corrected or converted. Checked by
tests/unit/tools/test_catalogue.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from support_agent.errors import ToolCallRejected
from support_agent.tools.answers import (
    AskClarification,
    SendAccountField,
    SendAggregate,
    SendDocument,
    SendTable,
)
from support_agent.tools.base import Context, Tool
from support_agent.tools.closed import members_of
from support_agent.tools.data import Aggregate, Calculate, FetchSeries, Filter, Sort
from support_agent.tools.ending import Escalate, Finish
from support_agent.tools.facts import FindDocuments, FindEvidence
from support_agent.tools.records import FetchRecord, SendRecord

TOOLS: Mapping[str, type[Tool]] = {
    tool.name: tool
    for tool in (
        SendDocument,
        SendAccountField,
        SendTable,
        SendAggregate,
        SendRecord,
        AskClarification,
        FetchSeries,
        FetchRecord,
        Filter,
        Sort,
        Aggregate,
        Calculate,
        FindDocuments,
        FindEvidence,
        Escalate,
        Finish,
    )
}


def validated(name: str, arguments: Mapping[str, Any], context: Context) -> Tool:
    """The call, if the tool exists and every argument is currently a member of its set.

    Raises:
        ToolCallRejected: unknown tool (code `unknown_tool`), wrong shape (`arguments`), or not a member
            (`not_a_member`).
    """
    tool = TOOLS.get(name)
    if tool is None:
        raise ToolCallRejected(f"there is no tool {name!r}; the tools are {', '.join(TOOLS)}", code="unknown_tool")
    try:
        text = json.dumps(dict(arguments))
    except (TypeError, ValueError) as error:
        raise ToolCallRejected(f"{name}: the arguments are not JSON", code="arguments") from error
    try:
        call = tool.model_validate_json(text, strict=True)  # as JSON: an enum is given by its value
    except ValidationError as error:
        where = ", ".join(".".join(map(str, part["loc"])) for part in error.errors())
        raise ToolCallRejected(f"{name}: wrong arguments ({where})", code="arguments") from error
    sets = context.sets()
    for argument, field in tool.model_fields.items():
        value = call.arguments[argument]
        if not any(value == member and type(value) is type(member) for member in members_of(field, sets)):
            raise ToolCallRejected(f"{name}: {argument} {value!r} is not in its set", code="not_a_member")
    return call
