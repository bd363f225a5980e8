"""Cut the text of an expression into words, keys, texts, numbers and signs.

SQL's lexical rules are sqlglot's. Its parser is not used: it keeps no positions, rewrites what it
reads (`x NOT IN`, `CASE x`, types), and takes far more than expressions have.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from windowing.model.expressions.errors import ExpressionError

_SIGNS = frozenset(("=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "||", *"()[],."))
_WORD = re.compile(r"\$?[^\W\d]\w*")
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")
_SAID_OTHERWISE = {
    "!=": "write <>",
    "==": "write =",
    "%": "write a mod b",
    "::": "write cast(x AS int)",
}


Kind = Literal["word", "key", "text", "number", "sign", "end"]
_QUOTES: Final[dict[str, Kind]] = {"'": "text", '"': "key"}


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of an expression.

    Attributes:
        kind: `key` is a name in double quotes, `text` a literal in single ones.
        text: without the quotation marks; a word as written.
        at, end: where it begins, and where it has ended.
    """

    kind: Kind
    text: str
    at: int
    end: int


def tokens_of(text: str) -> list[Token]:
    """Return the pieces of an expression, the last of kind `end`.

    Raises:
        ExpressionError: something that no expression has, such as a comment.
    """
    # Imported here: a file without expressions does not wait for it.
    from sqlglot.errors import TokenError  # noqa: PLC0415
    from sqlglot.tokens import Tokenizer  # noqa: PLC0415

    try:
        found = Tokenizer().tokenize(text)
    except TokenError:
        blanked = _QUOTED.sub(lambda match: " " * len(match[0]), text)
        opened = re.search("['\"]", blanked)
        msg = "a quotation mark is not closed: texts stand in single quotes, names in double ones, "
        msg += "and a mark inside is written twice, as 'it''s'"
        raise ExpressionError(msg, text, opened.start() if opened else 0) from None
    tokens, ended = list[Token](), 0
    for one in found:
        _refuse_comment(text, ended, one.start)
        at, ended = one.start, one.end + 1
        if kind := _kind(text[at:ended]):
            tokens.append(
                Token(kind, one.text if kind in ("text", "key") else text[at:ended], at, ended)
            )
            continue
        written = text[at:ended]
        advice = _SAID_OTHERWISE.get(written)
        advice = advice or 'names with other signs stand in double quotes, as "content-type"'
        raise ExpressionError(f"{written!r} is not part of expressions: {advice}", text, at)
    _refuse_comment(text, ended, len(text))
    return [*tokens, Token("end", "", len(text.rstrip()), len(text))]


def _kind(written: str) -> Kind | None:
    if written[0] in _QUOTES:
        return _QUOTES[written[0]]
    if written[0].isdecimal():
        return "number"
    if _WORD.fullmatch(written):
        return "word"
    return "sign" if written in _SIGNS else None


def _refuse_comment(text: str, begins: int, ends: int) -> None:
    between = text[begins:ends]
    if not between.isspace() and between:
        at = begins + len(between) - len(between.lstrip())
        msg = "comments are not part of expressions (-- begins one): use the file's own, after #"
        raise ExpressionError(msg, text, at)
