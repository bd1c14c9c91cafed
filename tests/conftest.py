"""Fixtures shared by all tests; the real servers live in `tests/servers`, one file each."""

pytest_plugins: list[str] = [
    "tests.servers.postgres",
    "tests.servers.databases",
    "tests.servers.certificates",
    "tests.servers.dovecot",
    "tests.servers.postfix",
    "tests.servers.llama",
    "tests.servers.openai",
]
