"""The closed-argument rule: a tool with an open argument cannot be defined."""

# No `from __future__ import annotations`: the argument types of these tools are variables.

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, ClassVar, Literal, Optional, cast
from uuid import UUID

import pytest
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, SecretStr

from support_agent.errors import ConfigError
from support_agent.tools.base import Context, Ended, Tool, ToolKind
from support_agent.tools.closed import (
    MAX_MEMBERS,
    ClarificationNumber,
    DocumentNumber,
    FieldName,
    MemberOf,
    NumberPointer,
    OpenArgument,
    PeriodName,
    PointerTo,
    QuestionNumber,
    SeriesName,
    TablePointer,
    members_of,
)


class Size(StrEnum):
    SMALL = "s"
    LARGE = "l"


class Level(IntEnum):
    LOW = 0
    HIGH = 3


class Rate(Enum):
    HALF = 0.5


class Nested(BaseModel):
    number: Literal[1]


def define(annotation: Any, **config: Any) -> type[Tool]:
    """A tool class with one argument `argument` of that type."""

    class Example(Tool):
        model_config = cast(ConfigDict, config)
        name: ClassVar[str] = "example"
        kind: ClassVar[ToolKind] = ToolKind.ENDING

        argument: annotation

        def run(self, context: Context) -> Ended:
            return Ended(reason=None)

    return Example


OPEN = {
    "str": str,
    "str_without_marker": Annotated[str, "documents"],
    "str_with_pattern": Annotated[str, Field(pattern=r"^[a-z]$")],
    "str_of_bounded_length": Annotated[str, Field(max_length=1)],
    "str_with_two_markers": Annotated[str, MemberOf("fields"), PointerTo("table")],
    "secret": SecretStr,
    "url": AnyUrl,
    "bytes": bytes,
    "float": float,
    "float_with_bounds": Annotated[float, Field(ge=0, le=1)],
    "decimal": Decimal,
    "int": int,
    "int_without_upper_bound": Annotated[int, Field(ge=0)],
    "int_without_lower_bound": Annotated[int, Field(le=10)],
    "int_without_upper_bound_gt": Annotated[int, Field(gt=0)],
    "int_with_too_many_values": Annotated[int, Field(ge=1, le=MAX_MEMBERS + 1)],
    "int_with_no_value": Annotated[int, Field(ge=5, le=4)],
    "int_of_multiples": Annotated[int, Field(multiple_of=5)],
    "float_marked_as_member": Annotated[float, MemberOf("documents")],
    "list": list[Literal["a"]],
    "tuple": tuple[Literal["a"], ...],
    "set": set[Literal["a"]],
    "sequence": Sequence[Literal["a"]],
    "dict": dict[str, str],
    "mapping": Mapping[Literal["a"], Literal["a"]],
    "any": Any,
    "object": object,
    "none": None,
    "optional": Optional[Literal["a"]],  # noqa: UP045
    "optional_member": FieldName | None,
    "union": Literal["a"] | str,
    "union_of_closed": Literal["a"] | bool,
    "date": date,
    "datetime": datetime,
    "uuid": UUID,
    "nested_model": Nested,
    "callable": Callable[[], str],
    "type": type,
    "literal_with_none": Literal["a", None],
    "literal_of_bytes": Literal[b"a"],
    "enum_of_floats": Rate,
    "unresolved": "NoSuchType",
}


@pytest.mark.parametrize("kind", OPEN.values(), ids=OPEN)
def test_a_tool_with_an_open_argument_cannot_be_defined(kind: Any) -> None:
    """Promise 2: the model could write anything there, so the import fails and says what to use instead."""
    with pytest.raises(OpenArgument) as caught:
        define(kind)
    message = str(caught.value)
    assert "Example" in message
    assert "argument 'argument' of type " in message
    assert "classvar" not in message.lower()
    assert "Literal" in message
    assert "pointer" in message
    assert "\n" not in message
    assert isinstance(caught.value, ConfigError)
    assert caught.value.code == "open_argument"


@pytest.mark.parametrize(
    "config",
    [{"extra": "allow"}, {"extra": "ignore"}, {"frozen": False}],
    ids=["extra_allowed", "extra_ignored", "not_frozen"],
)
def test_a_tool_that_takes_more_arguments_or_changes_cannot_be_defined(config: dict[str, Any]) -> None:
    """An argument nobody declared, or one that is set later, would be open too."""
    with pytest.raises(OpenArgument, match=r"Example.*extra='forbid'.*frozen=True"):
        define(Literal["a"], **config)


def test_an_open_argument_beside_closed_ones_is_found_and_named() -> None:
    """Every argument is looked at, inherited ones too."""
    with pytest.raises(OpenArgument, match="'note'"):

        class Example(Tool):
            name: ClassVar[str] = "example"
            kind: ClassVar[ToolKind] = ToolKind.ENDING

            number: DocumentNumber
            note: str

    closed = define(Literal["a"])
    with pytest.raises(OpenArgument, match="'draft'"):

        class Heir(closed):  # type: ignore[misc, valid-type]
            draft: str = ""


def test_a_closed_argument_cannot_be_opened_again_in_a_subclass() -> None:
    """A subclass is checked like any other tool."""
    closed = define(Literal["a"])
    with pytest.raises(OpenArgument, match="'argument'"):

        class Heir(closed):  # type: ignore[misc, valid-type]
            argument: str


CLOSED = {
    "literal": (Literal["a", "b"], ("a", "b")),
    "literal_of_ints": (Literal[1, 2], (1, 2)),
    "str_enum": (Size, ("s", "l")),
    "int_enum": (Level, (0, 3)),
    "bool": (bool, (False, True)),
    "int_ge_le": (Annotated[int, Field(ge=1, le=3)], (1, 2, 3)),
    "int_gt_lt": (Annotated[int, Field(gt=1, lt=3)], (2,)),
    "int_negative": (Annotated[int, Field(ge=-1, lt=1)], (-1, 0)),
    "int_with_the_most_values": (
        Annotated[int, Field(ge=1, le=MAX_MEMBERS)],
        tuple(range(1, MAX_MEMBERS + 1)),
    ),
    "document": (DocumentNumber, (1, 7)),
    "field": (FieldName, ("plan",)),
    "series": (SeriesName, ("payments",)),
    "period": (PeriodName, ("2024",)),
    "clarification": (ClarificationNumber, (3,)),
    "question": (QuestionNumber, (1, 2)),
    "table": (TablePointer, ("@1",)),
    "number": (NumberPointer, ("@2",)),
}
SETS: dict[MemberOf | PointerTo, tuple[str, ...] | tuple[int, ...]] = {
    MemberOf("documents"): (1, 7),
    MemberOf("fields"): ("plan",),
    MemberOf("series"): ("payments",),
    MemberOf("periods"): ("2024",),
    MemberOf("clarifications"): (3,),
    MemberOf("questions"): (1, 2),
    PointerTo("table"): ("@1",),
    PointerTo("number"): ("@2",),
}


@pytest.mark.parametrize(("kind", "members"), CLOSED.values(), ids=CLOSED)
def test_a_closed_argument_has_a_finite_set_of_members_in_a_fixed_order(kind: Any, members: tuple[Any, ...]) -> None:
    """Each allowed kind is accepted at definition, and its members are known without asking the model."""
    field = define(kind).model_fields["argument"]
    assert members_of(field, SETS) == members
    assert [type(member) for member in members_of(field, SETS)] == [type(member) for member in members]


def test_a_set_that_is_not_there_has_no_members() -> None:
    """Where nothing was fetched yet there is no pointer to choose."""
    assert members_of(define(TablePointer).model_fields["argument"], {}) == ()


def test_a_tool_without_arguments_is_closed() -> None:
    """`finish` takes nothing."""

    class Nothing(Tool):
        name: ClassVar[str] = "nothing"
        kind: ClassVar[ToolKind] = ToolKind.ENDING

        def run(self, context: Context) -> Ended:
            return Ended(reason=None)

    assert Nothing().arguments == {}
