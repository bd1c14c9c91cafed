"""The closed-argument rule: each argument is a member of a finite set known before the model is asked.

`check_fields` runs when a tool class is defined, so an open tool fails at import. Allowed are `Literal`,
`Enum`, `bool`, `int` bounded on both sides, a member of a set the company defines (`MemberOf`) and a
pointer that a tool returned earlier for the same mail (`PointerTo`). Checked by
tests/unit/tools/test_closed.py, one case per forbidden kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Interval, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from support_agent.errors import ConfigError

MAX_MEMBERS = 1_000
"""An integer with more values than this is not a choice."""

SetName = Literal[
    "documents", "fields", "series", "records", "identifiers", "columns", "periods", "clarifications", "questions"
]
PointerKind = Literal["table", "number", "record"]
Members = tuple[str, ...] | tuple[int, ...] | tuple[bool, ...]


@dataclass(frozen=True)
class MemberOf:
    """The argument is a member of a set of the company, of the customer's records, or of the questions of the mail."""

    set_name: SetName


@dataclass(frozen=True)
class PointerTo:
    """The argument is a pointer to data of that kind, returned earlier for this mail."""

    kind: PointerKind


DocumentNumber = Annotated[int, MemberOf("documents")]
FieldName = Annotated[str, MemberOf("fields")]
SeriesName = Annotated[str, MemberOf("series")]
RecordKind = Annotated[str, MemberOf("records")]
RecordIdentifier = Annotated[str, MemberOf("identifiers")]
"""Of the customer's own records of any kind; `fetch_record` rejects identifiers of another kind."""
ColumnName = Annotated[str, MemberOf("columns")]
PeriodName = Annotated[str, MemberOf("periods")]
ClarificationNumber = Annotated[int, MemberOf("clarifications")]
QuestionNumber = Annotated[int, MemberOf("questions")]
TablePointer = Annotated[str, PointerTo("table")]
NumberPointer = Annotated[str, PointerTo("number")]
RecordPointer = Annotated[str, PointerTo("record")]


class OpenArgument(ConfigError):
    """A tool has an argument whose values are not a finite set known beforehand."""

    code = "open_argument"


def check_fields(tool: type[BaseModel]) -> None:
    """Refuse a tool with an open argument.

    Raises:
        OpenArgument: names the tool, the argument, its type, and what to write instead.
    """
    extra = tool.model_config.get("extra")
    if extra != "forbid" or not tool.model_config.get("frozen"):
        raise OpenArgument(f"tool {tool.__name__}: its model_config must keep extra='forbid' and frozen=True")
    for name, field in tool.model_fields.items():
        if _members_by_type(field) is None and marker_of(field) is None:
            raise OpenArgument(
                f"tool {tool.__name__}: argument {name!r} of type {field.annotation!r} is open: "
                "the model could write anything there. Use Literal, an Enum, bool, an int with ge and le, "
                "a company set such as DocumentNumber, or a pointer."
            )


def marker_of(field: FieldInfo) -> MemberOf | PointerTo | None:
    """The set or pointer kind that closes an argument; None if its type closes it, or nothing does."""
    markers = [entry for entry in field.metadata if isinstance(entry, MemberOf | PointerTo)]
    if len(markers) == 1 and field.annotation in (int, str):
        return markers[0]
    return None


def members_of(field: FieldInfo, sets: Mapping[MemberOf | PointerTo, Members]) -> Members:
    """Every value the argument may take now, in a fixed order.

    Args:
        field: A field that passed `check_fields`.
        sets: The current members of the company's sets and the pointers of this mail; a missing set is empty.
    """
    by_type = _members_by_type(field)
    if by_type is not None:
        return by_type
    marker = marker_of(field)
    return () if marker is None else sets.get(marker, ())


def _members_by_type(field: FieldInfo) -> Members | None:
    kind: Any = field.annotation
    if kind is bool:
        return (False, True)
    if get_origin(kind) is Literal:
        values = get_args(kind)
        return values if all(isinstance(value, str | int) for value in values) else None
    if isinstance(kind, type) and issubclass(kind, Enum):
        values = tuple(member.value for member in kind)
        return values if all(isinstance(value, str | int) for value in values) else None
    if kind is int:
        return _bounded(field.metadata)
    return None


def _bounded(metadata: Iterable[Any]) -> tuple[int, ...] | None:
    low: int | None = None
    high: int | None = None
    for entry in metadata:
        match entry:
            case Interval():
                return _bounded(part for part in entry)
            case Ge(ge=int(value)):
                low = value
            case Gt(gt=int(value)):
                low = value + 1
            case Le(le=int(value)):
                high = value
            case Lt(lt=int(value)):
                high = value - 1
            case _:
                continue
    if low is None or high is None or not 0 <= high - low < MAX_MEMBERS:
        return None
    return tuple(range(low, high + 1))
