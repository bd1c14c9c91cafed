"""Look up TXT records in the DNS, within a bounded time.

Invariant: "no such record" and "no answer" are never confused. Checked by tests/integration/mail/test_dns_lookup.py,
with a name server on the loopback interface.
"""

from __future__ import annotations

from dataclasses import dataclass

from support_agent.errors import TransientError


@dataclass(frozen=True)
class DnsLookup:
    """A `TxtLookup` (`mail.senders.dkim_check`) that asks these name servers; with none given, those of the system."""

    nameservers: tuple[str, ...] = ()
    port: int = 53

    def __call__(self, name: str, timeout_s: float) -> tuple[bytes, ...]:
        import dns.exception
        import dns.name
        import dns.resolver

        try:
            absolute = dns.name.from_text(name)
        except dns.exception.DNSException:
            return ()  # not a valid DNS name
        try:
            resolver = dns.resolver.Resolver(configure=not self.nameservers)
            if self.nameservers:
                resolver.nameservers, resolver.port = list(self.nameservers), self.port
            answer = resolver.resolve(absolute, "TXT", lifetime=timeout_s, search=False)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return ()
        except (dns.exception.DNSException, OSError) as error:
            raise TransientError(f"the DNS did not answer for {name}: {type(error).__name__}", code="dns") from error
        return tuple(b"".join(record.strings) for record in answer)
