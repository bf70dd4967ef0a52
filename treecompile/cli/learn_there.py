"""Learn in a database: what is shown meanwhile, and what is kept if it is stopped."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treecompile.cli.options import read_options
from treecompile.cli.talk import LevelBar, tell
from treecompile.errors import EngineError

if TYPE_CHECKING:
    from treecompile.ir import Program


ENDS = [  # not every system has all of them
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@dataclass(frozen=True, slots=True)
class There:
    place: tuple[str | None, str, str, str]  # as `open_place` takes it
    no_temporary_tables: bool
    state: Path | None  # the file in which a run is kept that was stopped


@contextmanager
def learning_there(
    there: There, quiet: bool, options: dict[str, Any]
) -> Iterator[Program]:
    """What is learned in the database that has the table, or in DuckDB from files.

    When it has been written, nothing else is left of the run. If it is interrupted, or
    the database gives up, the message says what is kept.
    """
    from treecompile.in_database.journal import Journal

    journal = Journal(there.state) if there.state else None
    try:
        with _stoppable():
            program = _learn(there, journal, quiet, options)
    except KeyboardInterrupt:
        kept = journal.kept() if journal else ""
        raise KeyboardInterrupt(kept) from None
    except EngineError as error:
        if journal and (kept := journal.kept()):
            raise EngineError(f"{error}; {kept}") from None
        raise
    yield program
    if journal:
        journal.finish()


@contextmanager
def _stoppable() -> Iterator[None]:
    """To be told to end, or to lose the terminal, is an interrupt as Ctrl-C is.

    So what was made for the run is removed. What is ignored stays so, as by nohup.
    """
    former = {}
    if threading.current_thread() is threading.main_thread():
        for number in ENDS:
            if signal.getsignal(number) is signal.SIG_DFL:
                former[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _learn(there: There, journal: Any, quiet: bool, options: dict[str, Any]) -> Program:
    from treecompile.in_database.learn import learn
    from treecompile.in_database.levels import Level, Listener
    from treecompile.in_database.places import open_place
    from treecompile.in_database.validation import validation_of

    file, held_out = options.pop("validation"), options.pop("validation_table")
    columns, how = read_options(options)

    def shown(level: Level) -> None:
        bar.level(level.number, level.nodes, level.rows)

    with ExitStack() as stack:
        place = stack.enter_context(open_place(*there.place))
        rows = stack.enter_context(validation_of(place, file, held_out))
        bar = stack.enter_context(LevelBar(quiet, how.max_depth))
        learned = learn(
            place.store,
            place.relation,
            columns,
            how,
            place.source,
            bar.start,
            rows,
            Listener(shown, partial(tell, quiet)),
            temporary_tables=not there.no_temporary_tables,
            journal=journal,
        )
        bar.finish()
    tell(quiet, *learned.notes)
    return learned.program
