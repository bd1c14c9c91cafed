"""The section `[agent]`: who the agent is, whom it trusts, and the limits of its automatic mail."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator

from support_agent.config.mail_servers import OptionalPath
from support_agent.core.frozen import Frozen
from support_agent.core.levels import AUTHENTICATED, CUSTOMER


class AgentSettings(Frozen):
    """The agent's identity in its mails, whom it trusts to authenticate senders, and its limits."""

    address: str = ""
    """The address that customers write to: From and Reply-To of every mail that the agent sends."""
    name: Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$")] = "Support"
    aliases: tuple[str, ...] = ()
    """Further addresses that reach this mailbox."""
    authserv_ids: tuple[Annotated[str, Field(pattern=r"^[^\s;\"()=]+$")], ...] = ()
    """authserv-id of our own border server: its topmost Authentication-Results is believed (RFC 8601)."""
    believes_results_at: Literal["anywhere", "top"] = "anywhere"
    """Where this field is believed. "anywhere": the topmost one counts; "top": only one at the top of the mail, above
    each Received field and each other server's Authentication-Results. "anywhere" needs a border server that adds the
    field to each mail or removes foreign ones; otherwise a forged field is believed when ours adds none."""
    believes_results_without_id: bool = False
    """Believe the topmost Authentication-Results without an authserv-id, which Exchange Online writes; only if the
    border server removes all such fields from arriving mails."""
    alignment: Literal["strict", "relaxed"] = "strict"
    """Without a DMARC policy, an spf or dkim pass for exactly the From domain proves the sender; with "relaxed" a pass
    for another domain of the same organisation does, too, unless the domain forbids it (RFC 7489, section 3.1)."""
    arc_sealers: tuple[Annotated[str, Field(pattern=r"^[^\s@]+\.[^\s@]+$")], ...] = ()
    """Domains of forwarders whose authentication results are trusted if our server reports arc=pass (RFC 8617)."""
    verify_dkim: bool = False
    """Verify DKIM signatures ourselves, with DNS queries, if the border server reports nothing about them."""
    dkim_timeout_s: Annotated[float, Field(gt=0, le=60)] = 5.0
    """Longest wait for one DNS answer."""
    dkim_max_signatures: Annotated[int, Field(ge=1, le=20)] = 4
    """How many signatures of a mail are looked up, its From domain's first; up to two policies come on top."""
    secret: SecretStr = SecretStr("")
    """Key for the Message-ID and origin headers; at least 32 characters; `init` writes `secret.key`."""
    secret_file: OptionalPath = None
    """A file with only that key; `secret` wins."""
    previous_secrets: tuple[SecretStr, ...] = ()
    """Keys that `secret` has replaced: they sign nothing new, and what they signed is still recognised. Take one out
    when its packets' commands have expired (`desk.key_valid_h`) and no bounce of its mails can come any more."""
    previous_secret_files: tuple[Path, ...] = ()
    """Files with one such key each."""
    answers_from_level: Annotated[int, Field(ge=AUTHENTICATED, le=CUSTOMER)] = AUTHENTICATED
    """Lowest sender level that gets answers; a person gets the mails of lower levels. 1 also answers senders whose
    domain has no DMARC, some of them forged; their answers hold public documents and nothing of the mail."""
    acknowledges_from_level: Annotated[int, Field(ge=AUTHENTICATED, le=CUSTOMER)] = AUTHENTICATED
    """Lowest sender level that gets an acknowledgement that a person has the case; for lower levels only the desk gets
    a packet."""
    spam_verdicts: tuple[Annotated[str, Field(pattern=r"^[!-9;-~]+:\s*\S")], ...] = (
        "X-Spam-Flag: YES",
        "X-Spam-Status: Yes",
    )
    """Spam verdicts of our own server, as "Name: word". A mail is spam, and never answered, if its topmost field of
    that name begins with the word or has it between semicolons ("X-Forefront-Antispam-Report: SFV:SPM"). Empty: no
    verdict is believed."""
    max_received: Annotated[int, Field(ge=5, le=200)] = 50
    """A mail with more Received fields is in a loop between servers and gets no answer (S11)."""
    max_hops: Annotated[int, Field(ge=1, le=20)] = 3
    """A mail that answers the last of so many automatic mails in a row is in a loop and gets no answer (S11)."""
    max_mails_per_case: Annotated[int, Field(ge=1, le=1000)] = 5
    """Most automatic mails (answers and acknowledgements) in one case. Further mails go to the desk, and their sender
    gets no reply: it may be an auto-responder without machine headers (RFC 3834, section 2)."""
    max_mails_per_sender_a_day: Annotated[int, Field(ge=1, le=100_000)] = 10
    """The same limit for all cases of a sender within 24 hours."""
    max_packets_per_sender_a_day: Annotated[int, Field(ge=1, le=100_000)] = 50
    """Most packets to the desk about one sender within 24 hours, notices of mails that could not be handled included; a
    person who sends each photo in a mail of its own stays below. The first mail over the limit makes one more packet,
    which says so; further mails are filed, and `doctor` counts them. The limit also holds for notices to a staff member
    about replies that were not passed on and commands that were not carried out."""
    max_mails_per_hour: Annotated[int, Field(ge=1, le=1_000_000)] = 200
    """Most automatic mails to all senders and to the desk, notices included, within an hour. Over the limit all
    automatic mail waits until the hour has room again, and the desk is notified once (RFC 3834, section 2)."""
    identical_answer_days: Annotated[int, Field(ge=0, le=3650)] = 7
    """For this many days a sender does not get the same answer again in another case, because it did not help or a
    machine asks; a person gets the question. 0: other cases may repeat it at once. A case never repeats an answer."""
    max_participants_per_case: Annotated[int, Field(ge=1, le=1000)] = 20
    """Most addresses that may continue a case: its customer and the first ones that participants write to."""
    paused: bool = False
    """Send no automatic mail to customers. Mails that a rule escalates still reach the desk; all others wait.
    `support-agent pause` does the same without a restart."""
    pause_file: Path = Path("paused")
    """While this file exists, the agent is paused; the file's first line is the reason."""

    @field_validator("pause_file")
    @classmethod
    def _is_no_folder(cls, path: Path) -> Path:
        """Refuse "", which is the configuration's own folder: it always exists."""
        if not path.name:
            raise ValueError("write the name of a file, or leave it out")
        return path

    @property
    def secrets(self) -> tuple[SecretStr, ...]:
        """The keys whose signatures count, the one that signs first."""
        return (self.secret, *self.previous_secrets)

    @property
    def can_identify(self) -> bool:
        """Whether any sender can reach a level above 0."""
        return bool(self.authserv_ids) or self.believes_results_without_id or self.verify_dkim

    def may_answer(self, level: int) -> bool:
        """Whether a sender of this level gets answers (S13)."""
        return level >= self.answers_from_level

    def may_acknowledge(self, level: int) -> bool:
        """Whether a sender of this level gets acknowledgements (S13)."""
        return level >= self.acknowledges_from_level
