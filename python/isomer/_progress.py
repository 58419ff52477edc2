"""What long work tells: to a function of the caller's, or as a line on a terminal or in a notebook."""
import os
import sys
import warnings

from ._errors import in_python

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def warn(sentence):
    """At the line that called the package."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, stacklevel=level)


class _Silent:
    doing = None

    def note(self, line):
        warn(in_python(line.removeprefix("isomer: ")))

    def close(self):
        pass


class _Called(_Silent):
    def __init__(self, function):
        self.doing = function


class _Line(_Silent):
    """A line that is drawn again: tqdm's where that is installed, which knows notebooks, or plain text."""

    def __init__(self):
        try:
            from tqdm.auto import tqdm
            self._bar = tqdm(total=1, bar_format="{desc}", leave=False)
        except ImportError:
            self._bar = None

    def doing(self, what, seconds_left):
        text = f"{seconds_left:.0f} s left: {what}" if seconds_left is not None else what
        if self._bar is not None:
            self._bar.set_description_str(text)
        else:
            print(f"\r\x1b[K{text[:79]}", end="", file=sys.stderr, flush=True)

    def close(self):
        if self._bar is not None:
            self._bar.close()
        else:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _can_draw():
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def progress_of(progress):
    """`progress`: a function of (what, seconds left or None), True, False, or None: where somebody looks."""
    if callable(progress):
        return _Called(progress)
    return _Line() if progress or (progress is None and _can_draw()) else _Silent()
