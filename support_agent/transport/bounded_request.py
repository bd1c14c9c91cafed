"""One web request for a sign-in, bounded as a whole.

Invariant: no redirect is followed, an answer is bounded in size and in time as a whole, nothing is unpacked, and no
error repeats what was sent or answered. Checked by tests/unit/transport/test_openid.py and test_oauth.py.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from support_agent.errors import ConfigError, TransientError

if TYPE_CHECKING:
    import httpx2


class RequestLimits(NamedTuple):
    """Of the whole answer; `setting` is the one to check where the server's certificate cannot be verified."""

    timeout_s: float
    max_bytes: int
    setting: str


def ask(
    method: str,
    where: str,
    limits: RequestLimits,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> tuple[int, bytes]:
    """One request: the answer's status and body.

    An event loop of its own bounds the whole answer: a server that sends a byte now and then would never exceed a limit
    on the wait for the next one.

    Raises:
        ConfigError: the certificate cannot be verified.
        TransientError: no answer in time, or one that is too long.
    """
    import httpx2  # here: nothing but a sign-in needs it, and it takes its time to import

    async def read() -> tuple[int, bytes]:
        given = {"Accept": "application/json", "Accept-Encoding": "identity", **(headers or {})}
        async with (
            asyncio.timeout(limits.timeout_s),
            httpx2.AsyncClient(
                transport=transport,
                timeout=limits.timeout_s,
                follow_redirects=False,
                verify=ssl.create_default_context() if transport is None else True,  # a given transport has its own
            ) as client,
            client.stream(method, where, data=form, headers=given) as response,
        ):
            body = b""
            async for part in response.aiter_raw():
                body += part
                if len(body) > limits.max_bytes:
                    raise TransientError(f"{where} sent more than {limits.max_bytes} bytes")
            return response.status_code, body

    try:
        return asyncio.run(read())
    except (TimeoutError, httpx2.TimeoutException):
        raise TransientError(f"{where} did not answer within {limits.timeout_s:g} s") from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            raise ConfigError(f"the certificate of {where} cannot be verified: check {limits.setting}") from None
        raise TransientError(f"{where} cannot be used now: {type(error).__name__}") from None
