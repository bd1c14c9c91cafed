"""The configuration file of the tests' Dovecot, as version 2.3 (Debian 12) or 2.4 (Debian 13) writes it."""

from __future__ import annotations

import getpass
import grp
import os
import pwd
from pathlib import Path
from typing import NamedTuple

from tests.servers.certificates import Certificates

PASSWORD = "correct-horse"
NEW_FORM = (2, 4)
"""The first version with other names for most settings, which must be the first line."""


class Setup(NamedTuple):
    """A server; what is empty is as Dovecot does it."""

    folder: Path
    imap_port: int
    imaps_port: int
    certificates: Certificates
    password: str = PASSWORD
    capability: str = ""
    """Instead of what it says it can do."""
    sent_folder: str = ""
    """The folder that it marks as the one for sent mail."""
    acl_file: Path | None = None
    """Who may do what with which folder."""
    token_url: str = ""
    """Where it asks whose an access token is; the token is added."""


def mail_user() -> tuple[int, int]:
    """uid and gid that own the mailboxes: a system user where we are root, else ourselves."""
    if os.geteuid() == 0:
        return pwd.getpwnam("mail").pw_uid, grp.getgrnam("mail").gr_gid
    return os.geteuid(), os.getegid()


def configuration(setup: Setup, version: tuple[int, ...]) -> str:
    """The text of the file."""
    special = _new(setup) if version >= NEW_FORM else _old(setup)
    return f"{special}\n{_common(setup)}"


def _common(setup: Setup) -> str:
    internal, login = ("dovecot", "dovenull") if os.geteuid() == 0 else (getpass.getuser(),) * 2
    sent = f'  mailbox "{setup.sent_folder}" {{\n    auto = create\n    special_use = \\Sent\n  }}'
    return f"""
base_dir = {setup.folder}/run
state_dir = {setup.folder}/state
log_path = {setup.folder}/log
protocols = imap
listen = 127.0.0.1
default_internal_user = {internal}
default_internal_group = {grp.getgrgid(pwd.getpwnam(internal).pw_gid).gr_name}
default_login_user = {login}
first_valid_uid = 1
first_valid_gid = 1
ssl = yes
auth_mechanisms = plain login {"xoauth2" if setup.token_url else ""}
auth_failure_delay = 0
postmaster_address = postmaster@example.net
lda_mailbox_autocreate = yes
{"mail_plugins = acl" if setup.acl_file else ""}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {setup.imap_port}
  }}
  inet_listener imaps {{
    port = {setup.imaps_port}
    ssl = yes
  }}
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service auth {{
  unix_listener auth-postfix {{
    mode = 0666
  }}
  unix_listener auth-userdb {{
    mode = 0666
  }}
}}
service stats {{
  unix_listener stats-writer {{
    mode = 0666
  }}
}}
protocol imap {{
  {f"imap_capability = {setup.capability}" if setup.capability else ""}
  mail_max_userip_connections = 50
}}
namespace inbox {{
  inbox = yes
{sent if setup.sent_folder else ""}
}}
"""


def _old(setup: Setup) -> str:
    uid, gid = mail_user()
    tokens = setup.folder / "oauth2.conf"
    if setup.token_url:
        tokens.write_text(f"tokeninfo_url = {setup.token_url}\nintrospection_mode = get\nusername_attribute = email\n")
    oauth = f"passdb {{\n  driver = oauth2\n  mechanisms = xoauth2\n  args = {tokens}\n}}"
    return f"""
mail_location = maildir:~/Maildir
ssl_cert = <{setup.certificates.certificate}
ssl_key = <{setup.certificates.key}
passdb {{
  driver = static
  args = password={setup.password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={setup.folder}/mail/%Lu allow_all_users=yes
}}
{f"plugin {{{chr(10)}  acl = vfile:{setup.acl_file}{chr(10)}}}" if setup.acl_file else ""}
{oauth if setup.token_url else ""}
"""


def _new(setup: Setup) -> str:
    uid, gid = mail_user()
    oauth = f"""
passdb oauth2 {{
  mechanisms_filter = xoauth2
}}
oauth2 {{
  tokeninfo_url = {setup.token_url}
  introspection_mode = get
  username_attribute = email
}}
"""
    return f"""dovecot_config_version = 2.4.0
dovecot_storage_version = 2.4.0
mail_driver = maildir
mail_path = ~/Maildir
mail_inbox_path = ~/Maildir
ssl_server_cert_file = {setup.certificates.certificate}
ssl_server_key_file = {setup.certificates.key}
passdb static {{
  password = {setup.password}
}}
userdb static {{
  fields {{
    uid = {uid}
    gid = {gid}
    home = {setup.folder}/mail/%{{user | lower}}
  }}
  allow_all_users = yes
}}
{f"acl_driver = vfile{chr(10)}acl_global_path = {setup.acl_file}" if setup.acl_file else ""}
{oauth if setup.token_url else ""}
"""
