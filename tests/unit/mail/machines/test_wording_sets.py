"""What the rules about wording make of the mails written to develop them: none of it may get worse unseen."""

from __future__ import annotations

import pytest

from tests.wording import tallies

READ = {tally.kind: tally for tally in tallies("development")}


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        ("absence", 76, 120),  # 8 more, of people who left a company, are told by the fitted vote
        ("away_customer", 0, 10),
        ("closing", 55, 80),
        ("not_closing", 0, 2),
        ("quotation", 46, 55),
        ("near_quotation", 25, 25),
    ],
)
def test_made_mails_are_read_as_well_as_when_the_rules_were_written(kind: str, least: int, most: int) -> None:
    """Notices and closings go to a person, customers who are away or still ask do not, quotations are told apart."""
    assert least <= READ[kind].found <= most, READ[kind]
