"""Reads one web address within limits; the only module of the fact room that connects to the web.

Invariant: it connects only to public addresses and to the origins in the settings, independent of search results,
redirects and name servers: a host is resolved once, checked, and connected to by this address. An address is public
only if every address embedded in it (NAT64, 6to4, Teredo) is public, too. Requests have no cookie, proxy or password
from the environment; redirects and the size of an answer, packed and unpacked, are limited. Checked by
tests/integration/facts/test_web_client.py and, for what is public, tests/unit/facts/web/test_public_addresses.py.
Source: the registries of special addresses (RFC 6890), NAT64 (RFC 6052), 6to4 (RFC 3056), Teredo (RFC 4380).
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple, TypeVar

import httpx

from support_agent.errors import TransientError
from support_agent.tools.fact_room import MAX_ADDRESS_CHARACTERS

T = TypeVar("T")
Resolver = Callable[[str, int], Sequence[str]]
MayRead = Callable[[str], bool]

MAX_REDIRECTS = 5
MAX_TRIED = 3
"""Most addresses to try per host."""
MAX_SHOWN = 200
PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9._:-]+")
"""A host in ASCII: a name (punycode), or a literal address."""
NAT64 = IPv6Network("64:ff9b::/96")
UNICAST = IPv6Network("2000::/3")
"""The IPv6 range for hosts of the internet (RFC 4291, section 2.4, and IANA's registry)."""
ZLIB_OR_GZIP = 47
"""`wbits` of zlib: the largest window, with the format from the header."""


def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a host from the system's resolver; a literal address is its own result.

    Raises:
        OSError: there is no such host, or the resolver does not answer.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_public(text: str) -> bool:
    """Whether this literal address, with or without a zone, is one of the public internet's hosts."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return False
    return all(_is_public(each) for each in (address, *_carried(address)))


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        return address in NAT64 or (address in UNICAST and address.is_global)
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _carried(address: IPv4Address | IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses embedded in this one, as a gateway would read them."""
    if isinstance(address, IPv4Address):
        return ()
    nat64 = IPv4Address(int(address) & 0xFFFFFFFF) if address in NAT64 else None
    return tuple(each for each in (address.sixtofour, *(address.teredo or ()), nat64) if each is not None)


class BadStatus(TransientError):
    """The server's status was not 200; `status` has it."""

    def __init__(self, where: str, status: int) -> None:
        super().__init__(f"{_shown(where)} answered HTTP {status}", code="web")
        self.status = status


class HttpResponse(NamedTuple):
    """An answer: its address (after redirects), media type and charset ("": none), and body."""

    address: str
    media_type: str
    charset: str
    body: bytes


class FetchLimits(NamedTuple):
    """Limits of a request: seconds per read or connect, and bytes of an answer; and the user agent."""

    timeout_s: float
    max_bytes: int
    user_agent: str


def anything(address: str) -> bool:
    """`MayRead` without a rule."""
    return True


class WebClient:
    """Reads addresses. May be used from several event loops; holds no connection."""

    def __init__(self, limits: FetchLimits, *, trusted: Iterable[str] = (), resolver: Resolver = resolve) -> None:
        """Set the bounds.

        Args:
            trusted: Origins ("http://host:port") that need not be public.
            resolver: Returns a host's addresses; may block, but does not delay a cancelled caller.
        """
        self._limits = limits
        self._trusted = frozenset(origin for origin in map(origin_of, trusted) if origin)
        self._resolver = resolver

    async def get(self, address: str, kinds: frozenset[str], *, may_read: MayRead = anything) -> HttpResponse:
        """Read an address, following redirects.

        Args:
            kinds: Accepted media types; empty: any.
            may_read: Asked of the address, and of each that it redirects to.
        Raises:
            TransientError: it cannot or must not be read; `BadStatus` for the server's refusal.
        """
        at = address
        for _ in range(MAX_REDIRECTS + 1):
            if not may_read(at):
                raise _refused(at, "must not be read: another site's, or disallowed by robots.txt")
            response = await self._ask("GET", at, kinds, {}, b"")
            if isinstance(response, HttpResponse):
                return response
            at = response
        raise _refused(address, f"redirects more than {MAX_REDIRECTS} times")

    async def post(
        self, address: str, kinds: frozenset[str], *, headers: Mapping[str, str], body: bytes
    ) -> HttpResponse:
        """Send a body; redirects are not followed, as the headers may hold a key. Raises as `get`."""
        response = await self._ask("POST", address, kinds, headers, body)
        if isinstance(response, HttpResponse):
            return response
        raise _refused(address, "redirects: correct the setting")

    async def _ask(
        self, method: str, address: str, kinds: frozenset[str], headers: Mapping[str, str], body: bytes
    ) -> HttpResponse | str:
        """One request: the answer, or the address that it redirects to."""
        url = _parsed(address)
        failure: Exception | None = None
        for ip in await self._addresses(url):
            request = self._request(method, url, ip, headers, body)
            try:
                return await self._send(url, request, kinds)
            except httpx.ConnectError as error:
                failure = error
            except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError) as error:
                raise _refused(address, f"cannot be read: {type(error).__name__}") from None
        raise _refused(address, f"cannot be reached: {type(failure).__name__}") from None

    async def _addresses(self, url: httpx.URL) -> Sequence[str]:
        """The checked addresses to connect to."""
        host, port = url.raw_host.decode("ascii"), url.port or PORTS[url.scheme]
        is_trusted = origin_of(str(url)) in self._trusted
        if not is_trusted and url.port is not None:
            raise _refused(str(url), "names a port of its own")
        try:
            found = await apart(lambda: self._resolver(host, port))
        except (OSError, UnicodeError):
            raise _refused(str(url), "names no host that is known") from None
        allowed = [address for address in found if is_trusted or is_public(address)]
        if not allowed:
            raise _refused(str(url), "is not on the public internet: name it in search.private_origins if it is meant")
        return allowed[:MAX_TRIED]

    def _request(self, method: str, url: httpx.URL, ip: str, headers: Mapping[str, str], body: bytes) -> httpx.Request:
        """A request to the checked address, with the host name in `Host` and in TLS."""
        fixed = {
            "Host": url.netloc.decode("ascii"),
            "User-Agent": self._limits.user_agent,
            "Accept-Encoding": "gzip",
            "Connection": "close",
        }
        limits = httpx.Timeout(self._limits.timeout_s).as_dict()
        extensions = {"sni_hostname": url.raw_host.decode("ascii"), "timeout": limits}
        return httpx.Request(
            method, url.copy_with(host=ip), headers={**headers, **fixed}, content=body or None, extensions=extensions
        )

    async def _send(self, url: httpx.URL, request: httpx.Request, kinds: frozenset[str]) -> HttpResponse | str:
        where = str(url)
        async with httpx.AsyncHTTPTransport(verify=tls_context(), trust_env=False) as transport:
            response = await transport.handle_async_request(request)
            try:
                if response.status_code in {301, 302, 303, 307, 308} and "location" in response.headers:
                    return str(url.join(response.headers["location"]))
                if response.status_code != 200:
                    raise BadStatus(where, response.status_code)
                media_type, charset = _content_type(response.headers.get("content-type", ""))
                if kinds and media_type not in kinds:
                    raise _refused(where, f"does not answer with {' or '.join(sorted(kinds))}")
                return HttpResponse(where, media_type, charset, await self._body(where, response))
            finally:
                await response.aclose()

    async def _body(self, where: str, response: httpx.Response) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > self._limits.max_bytes:
                raise _refused(where, f"is longer than {self._limits.max_bytes} bytes")
        match response.headers.get("content-encoding", "identity").strip().lower():
            case "identity" | "":
                return bytes(body)
            case "gzip" | "x-gzip":
                return unpacked(where, bytes(body), self._limits.max_bytes)
        raise _refused(where, "is packed in a way that was not asked for")


def unpacked(where: str, packed: bytes, max_bytes: int) -> bytes:
    """The content of a gzip body.

    Raises:
        TransientError: the body is no gzip, is incomplete, or is longer than `max_bytes`.
    """
    unpacker = zlib.decompressobj(ZLIB_OR_GZIP)
    try:
        content = unpacker.decompress(packed, max_bytes + 1)
    except zlib.error:
        raise _refused(where, "is not packed as it says") from None
    if len(content) > max_bytes:
        raise _refused(where, f"is longer than {max_bytes} bytes when unpacked")
    if not unpacker.eof:
        raise _refused(where, "breaks off")
    return content


def origin_of(address: str) -> str:
    """ "scheme://host:port" of a web address, the port always there; "" where it is none."""
    try:
        url = _parsed(address)
    except TransientError:
        return ""
    return f"{url.scheme}://{url.raw_host.decode('ascii')}:{url.port or PORTS[url.scheme]}"


def plain_address(address: str) -> str:
    """An address, normalised and without a fragment; "" if it is no web address."""
    try:
        url = _parsed(address)
        return str(url.copy_with(raw_path=url.raw_path, fragment=None))
    except TransientError:
        return ""


def _parsed(address: str) -> httpx.URL:
    """A web address that may be requested; its resolution is not checked here."""
    if len(address) > MAX_ADDRESS_CHARACTERS:
        raise _refused(address, "is too long")
    try:
        url = httpx.URL(address)
        host = url.raw_host.decode("ascii")
    except (httpx.InvalidURL, UnicodeError, ValueError, TypeError):
        raise _refused(ascii(address[:MAX_SHOWN]), "is no address") from None
    if url.scheme not in PORTS or not _HOST.fullmatch(host) or url.userinfo:
        raise _refused(ascii(address[:MAX_SHOWN]), "is no address of a web page")
    return url


def _content_type(value: str) -> tuple[str, str]:
    """Media type and charset, in lower case; "" if missing."""
    media_type, *parameters = value.lower().split(";")
    for parameter in parameters:
        name, _, content = parameter.partition("=")
        if name.strip() == "charset":
            return media_type.strip(), content.strip().strip("\"'")
    return media_type.strip(), ""


def _refused(where: str, what: str) -> TransientError:
    return TransientError(f"{_shown(where)} {what}", code="web")


def _shown(address: str) -> str:
    """An address for an error message, without its query, which may hold the question."""
    return address.partition("?")[0][:MAX_SHOWN]


@cache
def tls_context() -> ssl.SSLContext:
    """The system's certificate authorities, read once."""
    return ssl.create_default_context()


async def apart(work: Callable[[], T]) -> T:
    """Do blocking work in its own thread; a cancelled caller does not wait for it.

    The loop would wait for its own threads at its end, even for a name server that never answers.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: Exception | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]  # None only where T may be None

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except Exception as raised:  # any error goes to the caller
            error = raised
        with suppress(RuntimeError):  # the loop is closed: no caller is left
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="web-work", daemon=True).start()
    return await future
