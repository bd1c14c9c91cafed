"""What an answer of an OpenAI-compatible server that is none means: which error it is, and what to do.

Used by both clients, `planner.openai`, which chooses, and `facts.openai_writer`, which writes internal drafts. Checked
by tests/unit/planner/test_openai.py and tests/unit/facts/test_openai_writer.py.
"""

from __future__ import annotations

from support_agent.errors import ConfigError, PermanentError, SupportAgentError, TransientError

MOST_TOKENS = 10_000_000
"""Of one request; a server that counts more, or fewer than none, counts wrong, and no budget could hold by it."""


def error_of_status(status: int, base_url: str, name: str) -> SupportAgentError:
    """The error for an HTTP status above 299; it repeats no text of a mail or a reply.

    Args:
        status: What the server answered.
        base_url: The setting `model.base_url`.
        name: The setting `model.name`.
    """
    answered = f"the model's server at {base_url} answered {status}"
    if status in (401, 403):
        return ConfigError(f"{answered}: check model.api_key and what it may use")
    if status == 404:
        return ConfigError(f"{answered}: check model.base_url, which often ends in /v1, and model.name ({name})")
    if status < 400:
        return ConfigError(f"{answered}, a redirect: set model.base_url to where it points")
    if status >= 500 or status in (408, 409, 425, 429):
        return TransientError(answered, code="model")
    todo = "use a model that can call tools and whose context holds the request"
    return PermanentError(f"{answered}: {todo}", code="model_request")


def no_connection(base_url: str) -> TransientError:
    """The error where nobody answers."""
    return TransientError(f"no connection to the model's server at {base_url}", code="model")


def check_server(base_url: str, name: str) -> None:
    """Refuse settings that cannot be those of a server.

    Raises:
        ConfigError: no URL, or no name.
    """
    if not base_url.startswith(("http://", "https://")):
        raise ConfigError(f"model.base_url is {base_url!r}: write a URL such as http://localhost:8000/v1")
    if not name:
        raise ConfigError("model.name is empty: write the name of a model that model.base_url serves")
