"""How a client of PostgreSQL notices that the server's machine is gone: without a word, as after a failover or a sleep.

Checked by tests/integration/store/test_database.py and tests/integration/engine/test_launch_and_stop.py.
"""

from __future__ import annotations

import math

PROBE_S, PROBES = 5, 3
"""How often, and how many times, a machine is asked whether it is there."""


def noticed_within(timeout_s: float) -> dict[str, int]:
    """Parameters of libpq for a connection; the system's own limits are a quarter of an hour to two hours.

    Args:
        timeout_s: Seconds to connect, until sent bytes must have arrived, and of silence until the machine is asked.
    """
    return {
        "connect_timeout": math.ceil(timeout_s),
        "tcp_user_timeout": math.ceil(timeout_s * 1000),
        "keepalives_idle": math.ceil(timeout_s),
        "keepalives_interval": PROBE_S,
        "keepalives_count": PROBES,
    }
