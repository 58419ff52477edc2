"""Work that goes on while somebody else waits for nothing."""
import threading
import weakref


class _Worker(threading.Thread):
    """One that keeps no program from its end."""


class Background:
    """Does pieces of work one after the other on a thread of its own, which ends when there is none left.

    What was asked for last is done first, and of more than `most` that wait the oldest is dropped. `do(piece, is_over)` is
    to return soon once `is_over()` says true: the program ends, and waits for such threads alone. A method is not kept alive
    for it.
    """

    def __init__(self, do, most):
        self._do, self._most = weakref.WeakMethod(do), most
        self._lock = threading.Lock()
        self._waiting, self._piece = [], None
        self._thread = None

    def renew(self):
        """In a process that was forked, which has no such thread."""
        self._lock = threading.Lock()
        self._thread = self._piece = None

    def is_at(self, piece):
        """Whether its thread does that, or is going to."""
        with self._lock:
            return self._thread is not None and self._thread.is_alive() and (piece == self._piece or piece in self._waiting)

    def want(self, piece):
        """Whether there is a thread for it; where none can be started, the piece waits for one of a later call."""
        with self._lock:
            if piece in self._waiting:
                self._waiting.remove(piece)
            self._waiting.append(piece)
            del self._waiting[:-self._most]
            if self._thread is None or not self._thread.is_alive():
                thread = _Worker(target=self._work, name="isomer")
                try:
                    thread.start()
                except RuntimeError:
                    self._thread = None
                    return False
                self._thread = thread
            return True

    def _work(self):
        while True:
            with self._lock:
                if not self._waiting or self._is_over():
                    self._thread = self._piece = None
                    return
                self._piece, do = self._waiting.pop(), self._do()
            if do is not None:
                do(self._piece, self._is_over)

    @staticmethod
    def _is_over():
        return not any(thread.is_alive() and not thread.daemon and not isinstance(thread, _Worker)
                       for thread in threading.enumerate())
