"""Operators as users write them, for tests."""

from typing import Any


class Swing:
    """How far apart the values of a window are."""

    def __init__(self, scale: int = 1) -> None:
        self.scale = scale

    def on_flush(self, key: Any, rows: Any) -> Any:
        values = [row["v"] for row in rows]
        return [{"swing": self.scale * (max(values) - min(values))}]


class Silent:
    def on_flush(self, key: Any, rows: Any) -> None:
        return None


class Generator:
    def on_insert(self, key: Any, row: Any, rows: Any) -> Any:
        yield {"swing": float(len(rows))}
        yield {"swing": None}


class Raising:
    def on_trigger(self, key: Any, rows: Any) -> Any:
        raise SystemExit("over")


class Wrong:
    """Sends what its parameter names."""

    def __init__(self, sent: str) -> None:
        self.sent = sent

    def on_trigger(self, key: Any, rows: Any) -> Any:
        return {
            "a name": [{"other": 1}],
            "a text": [{"swing": "x"}],
            "NaN": [{"swing": float("nan")}],
            "a truth": [{"swing": True}],
            "no mapping": [1],
            "no list": 5,
        }[self.sent]


class NoHandler:
    pass


class NotMade:
    def __init__(self) -> None:
        raise KeyError("scale")

    def on_flush(self, key: Any, rows: Any) -> None: ...
