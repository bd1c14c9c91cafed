"""What the commands share: being stopped by a signal."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

STOPPED_ELSEWHERE = """
import signal, threading, time
from support_agent.cli.options import stopped_by_signal

stop = stopped_by_signal()
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])  # of this thread alone
print("ready", flush=True)
stop.wait()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_a_program_whichever_thread_receives_it(number: signal.Signals) -> None:
    """Failure: the main thread waits, another thread received the signal, and the program never ends."""
    with subprocess.Popen([sys.executable, "-c", STOPPED_ELSEWHERE], stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == "ready\n"
            program.send_signal(number)
            assert program.wait(timeout=60) == 0
        finally:
            program.kill()
