"""A DKIM signer for tests, written without the library that verifies: RFC 6376 in a few lines, each tag in one's hand.

Keys are made from a seed, so that a run is like the one before; they protect nothing.
"""

from __future__ import annotations

import base64
import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from support_agent.errors import TransientError

SIGNED = ("from", "to", "subject", "date", "message-id")
MIME = ("mime-version", "content-type", "content-transfer-encoding")
SHA256_INFO = bytes.fromhex("3031300d060960864801650304020105000420")
"""DigestInfo of SHA-256 before the digest (RFC 8017, section 9.2)."""


class Key(NamedTuple):
    """An RSA key; `record` is what a domain publishes."""

    modulus: int
    private: int
    record: bytes

    def sign(self, data: bytes) -> str:
        """RSASSA-PKCS1-v1_5 with SHA-256, in base64."""
        length = (self.modulus.bit_length() + 7) // 8
        info = SHA256_INFO + hashlib.sha256(data).digest()
        padded = b"\x00\x01" + b"\xff" * (length - len(info) - 3) + b"\x00" + info
        number = pow(int.from_bytes(padded, "big"), self.private, self.modulus)
        return base64.b64encode(number.to_bytes(length, "big")).decode()


@cache
def make_key(bits: int = 1024, seed: int = 1) -> Key:
    """A key of so many bits."""
    source = random.Random(bits * 1000 + seed)
    exponent = 65537
    while True:
        p, q = _prime(source, bits // 2), _prime(source, bits - bits // 2)
        order = (p - 1) * (q - 1)
        if (p * q).bit_length() == bits and order % exponent:
            break
    return Key(p * q, pow(exponent, -1, order), b"v=DKIM1; k=rsa; p=" + public_key(p * q, exponent))


def public_key(modulus: int, exponent: int) -> bytes:
    """The p= of a key record: SubjectPublicKeyInfo in base64."""
    rsa = _der(0x30, _integer(modulus) + _integer(exponent))
    algorithm = _der(0x30, bytes.fromhex("06092a864886f70d0101010500"))
    return base64.b64encode(_der(0x30, algorithm + _der(0x03, b"\x00" + rsa)))


def sign(
    raw: bytes,
    key: Key,
    domain: str,
    *,
    selector: str = "s1",
    signed: Sequence[str] | None = None,
    canonical: str = "relaxed/relaxed",
    tags: Mapping[str, str | None] | None = None,
) -> bytes:
    """The mail with a signature on top.

    Args:
        signed: Names of the fields; one that is not there, or is named once more than it is there, may not be added.
            None: `SIGNED`, and those of MIME that the mail has.
        tags: Put in, or instead of those that would be there; None: without that tag.
    """
    head, _, body = raw.partition(b"\r\n\r\n")
    if signed is None:
        signed = (*SIGNED, *(name for name in MIME if f"\r\n{name}:" in f"\r\n{head.decode().lower()}"))
    by_head, by_body = canonical.split("/")
    wanted: dict[str, str | None] = {
        "v": "1",
        "a": "rsa-sha256",
        "c": canonical,
        "d": domain,
        "s": selector,
        "h": ":".join(signed),
        "bh": base64.b64encode(hashlib.sha256(_body(body, by_body)).digest()).decode(),
        **(tags or {}),
        "b": "",
    }
    value = " " + "; ".join(f"{name}={text}" for name, text in wanted.items() if text is not None)
    fields = [field.encode() for field in re.split(r"\r\n(?![ \t])", head.decode())]
    covered = []
    for name in signed:
        found = [field for field in fields if field.lower().startswith(name.encode() + b":")]
        if found:
            covered.append(_field(found[-1], by_head) + b"\r\n")
            fields.remove(found[-1])
    unsigned = _field(b"DKIM-Signature:" + value.encode(), by_head)
    return f"DKIM-Signature:{value}{key.sign(b''.join(covered) + unsigned)}\r\n".encode() + raw


class Names:
    """A `TxtLookup` with the records of a few names; keeps what was asked; `silent` names are not answered."""

    def __init__(self, records: Mapping[str, bytes | tuple[bytes, ...]], *, silent: Sequence[str] = ()) -> None:
        self.records = dict(records)
        self.silent = set(silent)
        self.asked: list[tuple[str, float]] = []

    def __call__(self, name: str, timeout_s: float) -> tuple[bytes, ...]:
        self.asked.append((name, timeout_s))
        if name in self.silent:
            raise TransientError("the DNS did not answer", code="dns")
        found = self.records.get(name, ())
        return (found,) if isinstance(found, bytes) else found


def _field(field: bytes, canonical: str) -> bytes:
    if canonical == "simple":
        return field
    name, _, value = field.partition(b":")
    return name.lower().strip() + b":" + b" ".join(value.split())


def _body(body: bytes, canonical: str) -> bytes:
    lines = body.split(b"\r\n")
    if canonical == "relaxed":
        lines = [re.sub(rb"[ \t]+", b" ", line).rstrip(b" ") for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    text = b"".join(line + b"\r\n" for line in lines)
    return text or (b"\r\n" if canonical == "simple" else b"")


def _prime(source: random.Random, bits: int) -> int:
    while True:
        candidate = source.getrandbits(bits) | (3 << (bits - 2)) | 1
        if all(candidate % small for small in (3, 5, 7, 11, 13)) and _is_probably_prime(candidate, source):
            return candidate


def _is_probably_prime(number: int, source: random.Random) -> bool:
    """Miller and Rabin, ten rounds."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for _ in range(10):
        power = pow(source.randrange(2, number - 1), odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    octets = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(octets)]) + octets + content


def _integer(number: int) -> bytes:
    return _der(0x02, number.to_bytes(number.bit_length() // 8 + 1, "big"))
