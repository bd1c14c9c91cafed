"""What was sent in a case, rendered again from what is stored, and compared byte by byte.

Checked by tests/journey/test_page_acts.py.
"""

from __future__ import annotations

from support_agent.desk_page.visit import Desk, Page, Result, Shown, Visit
from support_agent.ops.explain import why
from support_agent.ops.replay import chosen, replay


def replayed(desk: Desk, visit: Visit) -> Result:
    """Each mail of a case: whether it renders to the same bytes, its differences, and the source of each line."""
    case_id = visit.path["case"]
    found = replay(desk.store, chosen(desk.store, case=case_id))
    mails = tuple(mail for mail in why(desk.store, case_id) if not mail.kind.is_for_desk)
    return Shown("replay.html", {"case_id": case_id, "replayed": found, "mails": mails})


PAGES = (Page("/cases/{case}/replay", replayed),)
