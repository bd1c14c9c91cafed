"""Runs the demo: answers the example company's mails over real IMAP and SMTP on this machine.

Only the servers are special: the worker, its store and its journey are the product's own, so the workspace it leaves
can be replayed. Checked by tests/acceptance/test_demo.py.
"""

from __future__ import annotations

import email
import shutil
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from email import policy
from pathlib import Path
from threading import Event
from typing import cast

from support_agent.app.workers import open_workers
from support_agent.config.loading import load
from support_agent.config.log import configure_log
from support_agent.config.settings import Settings
from support_agent.demo import read_mails
from support_agent.demo.servers import DemoServers
from support_agent.demo.workspace import CONFIG_FILE, init
from support_agent.errors import ConfigError
from support_agent.mail.message import parse
from support_agent.planner.plan import INTERNAL, call_text
from support_agent.store.records import MailRecord, MailStatus, mail_id_of
from support_agent.workflow.worker import Worker

LOOK_EVERY_S = 0.2
WIDTH = 100
COMPOSED = frozenset({"20-composed-question.eml"})
"""Mails that are answered with `planner.mode = "tools"`: the model composes their calls itself."""
MARK = ".demo"
"""An empty file in the demo's own workspaces, which may be deleted; what `init` writes for a company has none."""
CONSIDERED = 2
"""Number of runners-up shown with a call."""

Write = Callable[[str], None]


def run_demo(workspace: Path, now: datetime, write: Write) -> None:
    """Recreate the workspace, answer the mails, and print what happened to each.

    Raises:
        ConfigError: the folder holds something that is not a demo workspace.
    """
    _make_workspace(workspace, now)
    mails = read_mails()
    lines: list[list[str]] = []
    with DemoServers() as servers:
        settings = _settings(workspace, servers)
        configure_log(settings.log.model_copy(update={"level": "warning"}))
        write(f"{len(mails)} mails are sent to the mailbox. The model is loaded, then each is handled.")
        started = time.monotonic()
        for mode in ("guided", "tools"):
            own = tuple(mail for mail in mails if (mail[0] in COMPOSED) == (mode == "tools"))
            for _, raw in own:
                servers.deliver(raw)
            planner = settings.planner.model_copy(update={"mode": mode})
            with open_workers(settings.model_copy(update={"planner": planner})) as workers:
                lines += _watch(workers[""], servers, own, write)
        seconds = time.monotonic() - started
    write(_table(sorted(lines)))
    write(f"\n{len(mails)} mails in {seconds:.0f} s. Everything is stored in {workspace}/, for example:")
    config = workspace / CONFIG_FILE
    write(f"  support-agent cases --config {config}\n  support-agent why CASE --config {config}")
    write(f"  support-agent replay --all --config {config}")
    write(f"The desk's page, with what went to people:\n  support-agent desk --config {config}")


def _make_workspace(workspace: Path, now: datetime) -> None:
    if workspace.exists():
        if not (workspace / MARK).is_file():
            todo = "name another folder with --workspace, or delete it if an older version's demo made it"
            raise ConfigError(f"{workspace} is not a demo workspace: {todo}")
        shutil.rmtree(workspace)
    init(workspace, now.date())
    (workspace / MARK).touch()


def _settings(workspace: Path, servers: DemoServers) -> Settings:
    local = {"host": servers.host, "security": "plain", "user": servers.user, "password": servers.password}
    overrides = {
        **{f"imap.{key}": value for key, value in local.items()},
        "smtp.host": servers.host,
        "smtp.security": "plain",
        "imap.port": servers.imap_port,
        "smtp.port": servers.smtp_port,
        "imap.skip_existing": False,  # the mails arrive before the worker starts
        "autonomy.start": "auto",  # nobody is at the demo's desk
    }
    return load(workspace / CONFIG_FILE, overrides)


def _watch(worker: Worker, servers: DemoServers, mails: tuple[tuple[str, bytes], ...], write: Write) -> list[list[str]]:
    """Let the worker empty the mailbox, and print each mail's story as soon as it is handled."""
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="worker") as pool:
        work = pool.submit(worker.run_once, Event())
        lines = _report(worker, servers, mails, write, work)
        work.result()
    return lines


def _report(
    worker: Worker, servers: DemoServers, mails: tuple[tuple[str, bytes], ...], write: Write, work: Future[None]
) -> list[list[str]]:
    """Print the stories in the order in which the mails are handled; mails that were not come last."""
    lines: list[list[str]] = []
    waiting = {mail_id_of(raw): (name, raw) for name, raw in mails}
    while waiting:
        is_over = work.done()
        for mail_id, (name, raw) in tuple(waiting.items()):
            record = worker.store.mails.get(mail_id)
            if record is not None and (is_over or record.status is not MailStatus.NEW):
                del waiting[mail_id]
                write(_story(worker, servers, name, raw, record))
                lines.append(_line(worker, name, record))
        if is_over:
            break
        time.sleep(LOOK_EVERY_S)
    return lines


def _story(worker: Worker, servers: DemoServers, name: str, raw: bytes, record: MailRecord) -> str:
    message = parse(raw)
    plan = worker.store.plans.get(record.id)
    level = "" if record.level is None else f", level {record.level}"
    out = ["", "=" * WIDTH, f"{name}   from {message.from_.addr if message.from_ else '?'}{level}"]
    spent = f" ({plan.seconds:.1f} s, {plan.forward_passes} forward passes)" if plan else ""
    out += [f"  subject: {message.subject}", f"  outcome: {record.status.value}{spent}", ""]
    if record.screening_rule:
        out.append(f"  screened: rule {record.screening_rule}, {record.screening_verdict}: {record.why or ''}")
    for call in plan.calls if plan else ():
        if call.tool not in INTERNAL:
            out.append(f"  {call_text(call.tool, call.args):60} {call.confidence:5.2f}  {call.status.value}")
            votes = call.votes if isinstance(call.votes, list) else []
            for vote in votes[1 : 1 + CONSIDERED]:
                if isinstance(vote, dict):
                    out.append(f"      rather than {vote['key']!s:41} {cast(float, vote['probability']):5.2f}")
    for mail in worker.store.outbox.find(mail_id=record.id):
        if mail.kind.is_for_desk:
            out.append(f"  -> the desk has a {mail.kind.value} ({mail.recipient})")
            continue
        received = servers.received_by(mail.recipient)
        arrived = next((got for got in received if mail.message_id.encode() in got.raw), None)
        if arrived is None:
            out.append(f"  -> the {mail.kind.value} to {mail.recipient} did not arrive: {mail.status.value}")
            continue
        parsed = email.message_from_bytes(arrived.raw, policy=policy.default)
        body = parsed.get_body(("plain",))
        text = cast(str, body.get_content()) if body is not None else ""
        out += ["", f"  {mail.kind.value} as it arrived at {mail.recipient}: {parsed['Subject']}"]
        out += [f"  | {line}".rstrip() for line in text.strip().splitlines()]
    return "\n".join(out)


def _line(worker: Worker, name: str, record: MailRecord) -> list[str]:
    plan = worker.store.plans.get(record.id)
    sent = [
        f"{call_text(call.tool, call.args)} {call.confidence:.2f}"
        for call in (plan.calls if plan else ())
        if call.tool.startswith(("send_", "ask_")) and call.status.value == "done"
    ]
    why = record.screening_rule or (plan.reason if plan else None) or ""
    level = "-" if record.level is None else str(record.level)
    return [name, level, record.status.value, ", ".join(sent) or why, f"{plan.seconds if plan else 0:.1f}"]


def _table(lines: list[list[str]]) -> str:
    rows = [["mail", "level", "outcome", "sent, or why not", "s"], *lines]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n" + "\n".join([text[0], "-" * len(text[0]), *text[1:]])
