"""Signals that end the command, as Ctrl-C does: what is temporary is removed first."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPT = signal.SIGINT
OTHERS = [  # not every system has all of them
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
]

received: list[int] = []


def stop(number: int, frame: FrameType | None) -> None:
    received.append(number)
    raise KeyboardInterrupt


def catch() -> None:
    """Raise KeyboardInterrupt at SIGTERM and SIGHUP, too.

    A signal that is ignored, as under nohup, stays ignored.
    """
    for number in OTHERS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, stop)


def release() -> None:
    """Let every signal end the process at once: nothing is left to tidy up."""
    for number in (INTERRUPT, *OTHERS):
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, signal.SIG_DFL)


def exit_code() -> int:
    """What a shell reports for a process that the signal ended."""
    return 128 + (received[0] if received else INTERRUPT)


@contextmanager
def held() -> Iterator[None]:
    """Deliver signals at the end of this short block, not in the middle of it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    former = signal.pthread_sigmask(signal.SIG_BLOCK, {INTERRUPT, *OTHERS})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
