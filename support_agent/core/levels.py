"""The four sender levels, what a sender of each level may get, and how addresses are compared.

0 unknown: no check that we believe passed, or DMARC failed. A person reads the mail; the sender gets no reply.
1 authenticated by SPF or DKIM, but not for the From domain. The sender gets public documents, and no text of the mail:
  no subject, In-Reply-To or References, because an id may hold any words and From may name a third party. Our own
  addresses get no automatic mail at this level.
2 proven for the From domain, by DMARC or an aligned pass (RFC 7489). The same, with the mail's subject and in its
  thread.
3 a customer: proven, and known to the company. Also values of the customer's account, and documents for customers.

The settings `agent.answers_from_level` and `agent.acknowledges_from_level` decide which levels are answered and
acknowledged at all.

Invariant: code names levels only by these constants. Checked by tests/unit/mail/senders/test_identity.py
and, for what each level gets, by tests/unit/mail/senders/test_level_oracle.py.
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
    """An address for comparisons: only A to Z become lower case.

    `str.lower` turns the KELVIN SIGN (U+212A) into an ASCII "k", and so into somebody else's address.
    """
    return address.translate(_ASCII_LOWER)
