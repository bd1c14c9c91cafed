"""A position in a folder of the mailbox, shared by the mailbox, the worker and the store (S30, S31)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AwareDatetime, ConfigDict, Field

from support_agent.core.frozen import Frozen

Unsigned32 = Annotated[int, Field(ge=0, lt=2**32)]
UNBOUNDED = 2**32 - 1


class Cursor(Frozen):
    """All mails up to and including `last_uid` are recorded; UIDs mean nothing under another `uid_validity`.

    `rescan_until`: up to this UID the folder is read a second time, because it was renumbered.
    `in_doubt_until`: up to this UID a store that was lost may have handled the mails; `UNBOUNDED` until the folder is
    opened again.
    `left_before`: mails that arrived earlier are ignored, also after a renumbering; None: no mail is ignored.
    Source: RFC 3501, section 2.3.1.1.
    """

    model_config = ConfigDict(from_attributes=True)

    folder: str
    uid_validity: Unsigned32
    last_uid: Unsigned32
    rescan_until: Unsigned32 = 0
    in_doubt_until: Unsigned32 = 0
    left_before: AwareDatetime | None = None
