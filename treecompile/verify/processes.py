"""Runs artefacts in processes of their own, for a limited time.

A large text may bring down a database library that runs in this process: its parser
overflows the stack, or nothing can interrupt it.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any, TypeVar

from treecompile.model.errors import OptionError

TIMEOUT = 600.0  # seconds for one run of an artefact
MOST_SECONDS = 10_000_000  # with more, the timers of some systems fail
GRACE = 10.0  # seconds that an engine has to end a query by itself
SUPERVISED = "treecompile verify"  # the name of a supervised process

Done = TypeVar("Done")


class RefusedError(Exception):
    """The artefact cannot be run: it is wrong, not the request."""


def check_timeout(timeout: float) -> None:
    if not 0 < timeout <= MOST_SECONDS:
        raise OptionError(
            f"timeout={timeout:g}: expected a number of seconds above 0, and at most"
            f" {MOST_SECONDS:,}"
        )


def not_in_time(timeout: float) -> str:
    return f"it did not end within {timeout:g} seconds (see timeout)"


def execute(
    command: Sequence[str],
    folder: Path,
    timeout: float,
    given: str | Path = os.devnull,
    answers: str | Path = os.devnull,
) -> None:
    """Run a program to its end, or raise RefusedError with the reason.

    It reads `given` and writes to `answers`; its errors are in errors.txt.
    """
    errors = folder / "errors.txt"
    with (
        open(given, "rb") as rows,
        open(answers, "wb") as out,
        open(errors, "wb") as said,
    ):
        try:
            done = subprocess.run(
                command,
                stdin=rows,
                stdout=out,
                stderr=said,
                cwd=folder,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            raise RefusedError(not_in_time(timeout)) from None
    if done.returncode < 0:
        raise RefusedError(f"it was ended: {signal.strsignal(-done.returncode)}")
    if done.returncode:
        lines = errors.read_text("utf-8", errors="replace").strip().splitlines()
        raise RefusedError(lines[-1] if lines else "it ended without a message")


def supervised(work: Callable[[], Done], timeout: float = TIMEOUT) -> Done:
    """Do work in a child process, and return its result or raise its exception."""
    if not hasattr(os, "fork"):  # Windows: without supervision
        return work()
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(work, sender), name=SUPERVISED)
    process.start()
    sender.close()
    try:
        is_done, result = receiver.recv()
        process.join()  # the child may have a session to end
    except EOFError:
        process.join()
        code = process.exitcode or 0
        if code == -signal.SIGALRM:
            raise RefusedError(not_in_time(timeout)) from None
        reason = signal.strsignal(-code) if code < 0 else f"exit code {code}"
        raise RefusedError(
            f"the engine ended ({reason}): the artefact is too much for it"
        ) from None
    finally:
        process.kill()
        process.join()
        receiver.close()
    if is_done:
        return result  # type: ignore[no-any-return]
    raise result


def _child(work: Callable[[], Any], sender: Pipe) -> None:
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
    """End a supervised process when a step takes longer than it may."""
    if multiprocessing.current_process().name != SUPERVISED:
        yield
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds + GRACE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
