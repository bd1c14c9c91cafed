"""What becomes of an error while a duty makes or sends a mail for the desk; each try is checked with the stages."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from support_agent.errors import PermanentError, TransientError
from support_agent.outbound.sender import errors_logged


@pytest.mark.parametrize(
    ("error", "code"), [(PermanentError("no", code="template_missing"), "template_missing"), (KeyError(), "unexpected")]
)
def test_an_error_of_a_mail_for_the_desk_is_logged_and_the_worker_goes_on(error: Exception, code: str) -> None:
    with capture_logs() as logs, errors_logged("digest_failed", of="a week"):
        raise error
    assert logs == [{"event": "digest_failed", "log_level": "critical", "code": code, "of": "a week"}]


def test_an_error_that_passes_is_left_to_the_next_round() -> None:
    with pytest.raises(TransientError), capture_logs() as logs, errors_logged("digest_failed"):
        raise TransientError("the store is locked", code="locked")
    assert logs == []
