"""Writes a new workspace: configuration, policies, templates, accounts and the example's database.

Invariant: nothing that exists is overwritten, and `check` passes on what is written. Checked by
tests/acceptance/test_workspace.py, also from a wheel.
"""

from __future__ import annotations

import secrets
import shutil
from datetime import date
from pathlib import Path

from support_agent.config.packaged_files import packaged
from support_agent.demo.seed import seed
from support_agent.errors import ConfigError

CONFIG_FILE = "support-agent.toml"
DATABASE_FILE = "harborfile.sqlite3"
SECRET_FILE = "secret.key"
SECRET_BYTES = 32

CONFIG = """\
# support-agent.toml: what most people set, in sections; docs/settings.md has them all.
# Unknown keys are errors; `support-agent check` reports them.
# Each key can be given as an environment variable too: SUPPORT_AGENT__IMAP__PASSWORD=...
# Paths count from this file. What is commented out shows its default.

[company]
name = "Harborfile"            # how the answers sign
policies = "policies"          # numbered documents: the only long text a customer is ever sent
templates = "templates"        # the words around them
accounts = "accounts.toml"     # which account values may be sent, and the queries that read them
# locale = "en"                # of the documents, and of customers whose own is not known or not in templates/
# notice = "bottom"            # or "top": where an answer says that a machine (AI) put it together

[agent]
address = "support@harborfile.example"   # From and Reply-To of every answer
name = "Harborfile Support"
# aliases = ["help@harborfile.example"]  # further addresses that reach this mailbox
# The authserv-id that YOUR OWN border server writes into Authentication-Results (RFC 8601). Only its topmost header
# is believed. Without one every sender has level 0 and every mail goes to the desk.
authserv_ids = ["mx.harborfile.example"]
# believes_results_at = "anywhere" # "top": only above every Received field, for a server that adds none to some mail
# verify_dkim = false          # true: check DKIM signatures ourselves, by DNS, where that server says nothing of them
# alignment = "strict"         # or "relaxed": without DMARC, spf and dkim of another name of the same organisation do
# arc_sealers = []             # forwarders whose results are believed, where that server reports arc=pass
# believes_results_without_id = false  # true for Exchange Online, which writes no authserv-id
# answers_from_level = 1       # lowest sender level that gets answers: 2 is DMARC pass; 3 known customers only
# acknowledges_from_level = 1  # lowest sender level that is notified that a person has the case
# max_letters_per_case = 5     # automatic mails in one case; above, its mail goes to the desk without a reply
# max_letters_per_sender_a_day = 10   # the same for one sender
# max_packets_per_sender_a_day = 50   # packets about one sender; mail above is only filed, the desk is notified once
# max_letters_per_hour = 200   # the same for all; above, everything automatic waits and the desk is notified once
# identical_answer_days = 7    # days before the same answer may be sent in another case; in one case never twice
# paused = false               # true, or a file "paused" beside this one: no automatic mail to customers
secret_file = "secret.key"     # key of our Message-IDs; keep it, and keep it secret

[desk]
address = "desk@harborfile.example"      # people: what cannot be answered goes here, by mail
# staff = ["ada@harborfile.example"]     # whose replies to a packet are passed on, besides the desk address

[imap]
host = ""                      # for example "imap.example.com"
# port = 993
# security = "tls"             # or "starttls"; "plain" for loopback only
# user = "support@harborfile.example"
# password = ""                # better: SUPPORT_AGENT__IMAP__PASSWORD
# auth = "password"            # or "xoauth2" (Gmail, Microsoft 365): see [oauth]
# folder = "INBOX"
# move_handled_to = ""         # a folder into which mail is moved once it is recorded; empty: it stays
# skip_existing = false        # true: the first start ignores the mails that are in the folder already
# poll_interval_s = 30.0       # how often the folder is read, also if the server announces mail
# sent_copies = "agent"        # "provider" where the sending server files copies itself (Gmail, Microsoft 365); "none"

[smtp]
host = ""                      # for example "smtp.example.com"
# port = 465
# security = "tls"
# user = "support@harborfile.example"
# password = ""                # better: SUPPORT_AGENT__SMTP__PASSWORD
# auth = "password"            # or "xoauth2": see [oauth]
# asks_delivery_reports = false  # true: ask for a report of each delivery; it confirms uncertain ones

[oauth]                        # access tokens for auth = "xoauth2"; docs/gmail-and-microsoft-365.md has this for both
# token_url = ""
# client_id = ""
# client_secret_file = ""      # a file with nothing else in it
# refresh_token_file = ""      # the same; it must be writable. Empty: the application signs in by itself
# scope = ""

[model]
# planner = "llama"            # the embedded model; "openai" for any OpenAI-compatible server:
# base_url = "http://127.0.0.1:8000/v1"
# name = "qwen2.5"
# path = ""                    # a GGUF file of your own

[planner]
# mode = "guided"              # "tools": the model composes the calls itself, step by step; for larger models
# threshold_answer = 0.6      # how sure a choice must be, 0..1; below: a person
# threshold_floor = 0.5        # no threshold that `support-agent calibrate` fits to this company is lower
# max_s = 120.0                # time for one mail; reaching it escalates

[facts]                        # what retrieves the sentences that answer
# retrieve = "doubtful"        # where the search alone is not sure; or "always", "never"
# policy = "always"            # how far evidence is retrieved; or "self_ask", "never", "trained"

[grading]
# threshold_document = 0.4     # how likely a passage must help to be used, 0..1; 0 switches a grader off
# drafts = false               # true: the passages must also support a draft, which nobody is sent; slower
# max_tokens = 20000           # most tokens for the grades and drafts of one mail

[search]                       # the web beside the documents; questions are sent to these services
# sources = []                 # "google" (Serper), "duckduckgo", "wikipedia", "searxng", "site" (your own)

[store]
url = "sqlite:///support-agent.sqlite3"  # or postgresql://user@host/name

[chroma]
path = "chroma"                # or url = "http://127.0.0.1:8000"

[log]
# format = "console"           # or "json"
"""


def init(directory: Path, today: date) -> tuple[Path, ...]:
    """Write a workspace with the example company.

    Args:
        directory: Created if it is missing.
        today: The example's series end on this day.
    Returns:
        The paths that were written.
    Raises:
        ConfigError: a file of the same name exists; then nothing is written.
    """
    names = (CONFIG_FILE, "policies", "templates", "accounts.toml", DATABASE_FILE, SECRET_FILE)
    there = [name for name in names if (directory / name).exists()]
    if there:
        raise ConfigError(f"{directory} has {', '.join(there)} already: choose an empty folder")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        ignore = shutil.ignore_patterns("__pycache__", ".*")
        shutil.copytree(packaged("policies"), directory / "policies", ignore=ignore)
        shutil.copytree(packaged("templates"), directory / "templates", ignore=ignore)
        accounts = Path(__file__).parent / "accounts.toml"
        shutil.copyfile(accounts, directory / "accounts.toml")
        seed(directory / DATABASE_FILE, today)
        key = directory / SECRET_FILE
        key.touch(mode=0o600)
        key.write_text(secrets.token_urlsafe(SECRET_BYTES) + "\n", encoding="ascii")
        (directory / CONFIG_FILE).write_text(CONFIG, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{directory}: {error.strerror or error}: choose a folder that can be written") from error
    return tuple(directory / name for name in names)
