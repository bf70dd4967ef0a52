"""`python -m treecompile` is `treecompile`."""

from __future__ import annotations

import gc
import io
import os
import sys
import warnings

LEAST_MEMORY = 160 << 20  # bytes


def run() -> None:
    """Run the command. A signal while it loads ends it like a signal later."""
    try:
        _run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        exec("")  # see `cli.failures`
        from treecompile.model.signals import exit_code

        sys.exit(exit_code())
    except Exception as error:  # it cannot be loaded, perhaps for want of memory
        reason = " ".join(str(error).split()) or type(error).__name__
        sys.stderr.write(f"Error: cannot start: {reason}\n")
        sys.exit(2)


def _run() -> None:
    from treecompile.model import signals

    signals.catch()
    try:
        _open_streams()
        _be_quiet()
        _spare_memory()
        # A large model is a million objects, none of them garbage.
        gc.set_threshold(100_000, 10, 10)
        from treecompile.cli import main

        main(prog_name="treecompile")
    finally:
        signals.release()


def _open_streams() -> None:
    """Put something in the place of a closed stream.

    Otherwise the next file that is opened gets its number, and is read or written
    instead. What is put there fails like a closed stream; only messages are discarded.
    """
    for number, name, flags in (
        (0, "stdin", os.O_WRONLY),
        (1, "stdout", os.O_RDONLY),
        (2, "stderr", os.O_WRONLY),
    ):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, name) is None:
            raw = io.FileIO(number, "w" if number else "r", closefd=False)
            buffer = io.BufferedWriter(raw) if number else io.BufferedReader(raw)
            setattr(sys, name, io.TextIOWrapper(buffer, encoding="utf-8"))


def _be_quiet() -> None:
    """No warnings of libraries: users could do nothing about them."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
        sys.unraisablehook = lambda unraisable: None


def _spare_memory() -> None:
    """Where memory is limited, libraries start no threads, which need much of it.

    With too little, numpy would end the process while it is loaded.
    """
    try:
        import resource
    except ImportError:
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        if limit < LEAST_MEMORY:
            raise MemoryError(
                f"{limit >> 20} MB of address space (ulimit -v): allow at least"
                f" {LEAST_MEMORY >> 20} MB"
            )
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")


if __name__ == "__main__":
    run()
