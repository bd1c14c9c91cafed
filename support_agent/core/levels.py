"""How well a sender is known: four levels, what each is enough for, and when two addresses are one.

0 unknown: nothing that we believe passed, or DMARC did not. A person reads the mail, and the sender hears nothing.
1 authenticated by SPF or DKIM, but not for the From domain. Gets the documents for everyone, and no word of the mail's:
  not its subject, and no In-Reply-To and References either, as an id may hold any words and From may name a third
  party. Nothing automatic goes to an address of our own.
2 proven for the From domain, by DMARC or an aligned pass (RFC 7489). The same, under the own subject and in the own
  thread.
3 a customer: proven, and known to the company. Also the own account's values, and the documents for customers.

Which of them are answered and acknowledged at all is set by `agent.answers_from_level` and
`agent.acknowledges_from_level`.

Invariant: a level is compared and given by these names. Checked by tests/unit/mail/senders/test_identity.py
and, for what each gets, by tests/unit/mail/senders/test_level_oracle.py.
"""

from __future__ import annotations

import string
from typing import Annotated

from pydantic import Field

UNKNOWN = 0
AUTHENTICATED = 1
PROVEN = 2
CUSTOMER = 3

Level = Annotated[int, Field(ge=UNKNOWN, le=CUSTOMER)]

_ASCII_LOWER = {ord(letter): letter.lower() for letter in string.ascii_uppercase}


def lower_address(address: str) -> str:
    """An address as it is compared: only A to Z in lower case.

    `str.lower` makes an ASCII "k" of the KELVIN SIGN (U+212A), and so the address of somebody else.
    """
    return address.translate(_ASCII_LOWER)
