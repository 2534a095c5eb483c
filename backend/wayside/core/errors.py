"""The root of every error Wayside raises on purpose, with a stable code that people and machines can look up."""


class WaysideError(Exception):
    """A fault of the world, told in one line.

    `code` is stable (`stt.timeout`); `remedy` says what to do; `retryable` says whether the same call may work later.
    """

    def __init__(self, code: str, message: str, *, remedy: str = "", retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy
        self.retryable = retryable

    @property
    def advice(self) -> str:
        """Message and remedy as sentences, for people."""
        return " ".join(part if part[-1] in ".?!" else f"{part}." for part in (self.message, self.remedy) if part)
