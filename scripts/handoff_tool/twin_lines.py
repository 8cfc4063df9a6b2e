"""Which lines of a subject only a broken twin reaches; told from the source, never from what happened to run.

Twins stand beside the safe code as `if (Has(Defect::kX)) wrong; else right;`. A line is a twin's own when all of it lies in

1. what such a condition guards: the statement behind `if (Has(...))`, also with more conditions joined by `&&`; the `else` of
   `if (!Has(...))`, also with more joined by `||`, and what follows in the same block where that `if` always leaves it;
2. a verdict: a statement that calls `Fail(...)`, which ends the run, so that no clean run can reach it;
3. a function that is named nowhere in its file but in 1 and 2.

Whatever the rule does not recognise (a defect kept in a variable, a choice by `?:`) counts as the subject's: it errs on the hard
side.
"""

import re

_BLANKED = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>\"(?:\\.|[^\"\\\n])*\"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+')", re.DOTALL
)
_DEFECT = "Has(Defect::"
_SPACE = re.compile(r"\s*")
_HEAD = re.compile(r"(if|for|while|switch)\b[^(]*")
_ELSE = re.compile(r"\s*else\b")
_LEAVES = re.compile(r"(?:^|[{};])\s*(?:return|continue|break|throw)\b[^;{}]*;\s*\}?$")
# A definition at the start of a line: what it returns, its name, and a parameter list that ends before a brace.
_FUNCTION = re.compile(
    r"^(?:[\w:<>*&,\[\]]+ )*?[\w:<>*&,\[\]]* ?[*&]?(?:\w+::)*(?P<name>\w+)\((?=[^;{}]*\)[^;{}]*\{)", re.MULTILINE
)

Extent = tuple[int, int]  # offsets: from, to


def blanked(source: str) -> str:
    """The same length and lines, without comments, and with texts that no longer look like code."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " " if match["comment"] else "x", match[0])

    return _BLANKED.sub(blank, source)


def _close(code: str, start: int) -> int:
    """The bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(code)):
        depth += (code[i] in "({[") - (code[i] in ")}]")
        if depth == 0:
            return i
    return len(code) - 1


def _block_end(code: str, start: int) -> int:
    """The brace that closes the block around `start`."""
    i = start
    while i < len(code) and code[i] not in ")}]":
        i = _close(code, i) + 1 if code[i] in "({[" else i + 1
    return i


def _statement_end(code: str, start: int) -> int:
    """Behind the statement that begins at or after `start`, an `else` included."""
    start = _SPACE.match(code, start).end()  # type: ignore[union-attr]
    if code[start : start + 1] == "{":
        return _close(code, start) + 1
    if head := _HEAD.match(code, start):
        end = _statement_end(code, _close(code, head.end()) + 1)
        other = _ELSE.match(code, end)
        return _statement_end(code, other.end()) if head[1] == "if" and other else end
    while start < len(code) and code[start] != ";":
        start = _close(code, start) + 1 if code[start] in "({[" else start + 1
    return start + 1


def _guarded(code: str) -> list[Extent]:
    extents = []
    for match in re.finditer(r"\bif\s*\(", code):
        close = _close(code, match.end() - 1)
        condition = code[match.end() : close]
        end = _statement_end(code, close + 1)
        if "||" not in condition and any(part.strip().startswith(_DEFECT) for part in condition.split("&&")):
            extents.append((close + 1, end))
        elif "&&" not in condition and any(part.strip().startswith("!" + _DEFECT) for part in condition.split("||")):
            if other := _ELSE.match(code, end):
                extents.append((other.end(), _statement_end(code, other.end())))
            elif _LEAVES.search(code[close + 1 : end]):
                extents.append((end, _block_end(code, end)))
    return extents


def _verdicts(code: str) -> list[Extent]:
    extents = []
    for match in re.finditer(r"(?:\boracle::)?\bFail\(", code):
        before = code[: match.start()].rstrip()[-1:]
        if before in "{;}:)":  # a statement, not a declaration
            end = _statement_end(code, match.start())
            brace = _SPACE.match(code, end).end()  # type: ignore[union-attr]
            # A brace right behind it is never reached either, unless an `if` without braces guards the verdict alone.
            extents.append((match.start(), brace + 1 if code[brace : brace + 1] == "}" and before in "{;}" else end))
    return extents


def _inside(extents: list[Extent], start: int, end: int) -> bool:
    return any(first <= start and end <= last for first, last in extents)


def _functions(code: str, extents: list[Extent]) -> list[Extent]:
    """Functions all of whose mentions lie in `extents`, and that have one."""
    found = []
    for match in _FUNCTION.finditer(code):
        end = _close(code, code.index("{", _close(code, match.end() - 1))) + 1
        mentions = [m for m in re.finditer(rf"\b{match['name']}\b", code) if m.start() != match.start("name")]
        if mentions and all(_inside(extents, m.start(), m.end()) for m in mentions):
            found.append((match.start(), end))
    return found


def twin_lines(source: str) -> set[int]:
    """Numbers, from 1, of the lines that are a twin's own."""
    code = blanked(source)
    extents = [*_guarded(code), *_verdicts(code)]
    while more := [extent for extent in _functions(code, extents) if extent not in extents]:
        extents += more
    own = set()
    start = 0
    for number, line in enumerate(code.splitlines(keepends=True), 1):
        places = [start + i for i, letter in enumerate(line) if not letter.isspace()]
        if places and all(_inside(extents, place, place + 1) for place in places):
            own.add(number)
        start += len(line)
    return own
