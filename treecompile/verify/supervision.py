"""Does work in a process of its own, so that an engine can crash without harm.

A large text may bring down a database library that runs in this process: its parser
overflows the stack, or nothing can interrupt it.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe
from typing import Any, TypeVar

Done = TypeVar("Done")
GRACE = 10.0  # seconds that an engine has to end a query by itself

in_own_process = False


class EndedError(Exception):
    """The process ended before its work was done."""

    def __init__(self, number: signal.Signals | int) -> None:
        self.signal = number
        super().__init__(getattr(number, "name", f"exit code {number}"))


def supervised(work: Callable[[], Done]) -> Done:
    """Do work in a child process, and return its result or raise its exception."""
    if not hasattr(os, "fork"):  # Windows: without supervision
        return work()
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(work, sender), daemon=False)
    process.start()
    sender.close()
    try:
        is_done, result = receiver.recv()
        process.join()  # the child may have a session to end
    except EOFError:
        process.join()
        code = process.exitcode or 0
        raise EndedError(signal.Signals(-code) if code < 0 else code) from None
    finally:
        process.kill()
        process.join()
        receiver.close()
    if is_done:
        return result  # type: ignore[no-any-return]
    raise result


def _child(work: Callable[[], Any], sender: Pipe) -> None:
    global in_own_process
    in_own_process = True
    atexit._clear()  # forget the exit functions of the parent
    try:
        outcome = True, work()
    except Exception as error:
        outcome = False, error
    sender.send(outcome)
    sender.close()
    atexit._run_exitfuncs()  # multiprocessing does not run them


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """End this process, if it is a child, when a step takes longer than it may."""
    if not in_own_process:
        yield
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds + GRACE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
