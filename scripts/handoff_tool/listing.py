"""`list`: the targets in short, or all that there is to know about some."""

from typing import Any

from handoff_tool.places import command
from handoff_tool.targets import CANARY, Target


def data(chosen: dict[str, Target]) -> dict[str, Any]:
    return {
        "targets": [
            {
                "name": target.name,
                "sanitizers": list(target.binaries),
                "carrier": target.carrier,
                "summary": target.summary,
                "operations": target.operations,
                "twins": target.twins,
            }
            for target in chosen.values()
        ]
    }


def overview(chosen: dict[str, Target]) -> str:
    lines = []
    for target in chosen.values():
        if not target.name.startswith(CANARY):
            lines += [_head(target), *([f"    {target.summary}"] if target.summary else [])]
            lines += [f"    twins: {', '.join(target.twin_names())}"] if target.twins else []
    canaries = [target.name for target in chosen.values() if target.name.startswith(CANARY)]
    lines += [f"canaries, a planted bug each: {', '.join(canaries)}"] if canaries else []
    unbuilt = any(not target.binaries for target in chosen.values())
    lines.append(f"'{command()} list TARGET' {'builds one and ' if unbuilt else ''}shows operations and twins.")
    return "\n".join(lines)


def details(chosen: dict[str, Target]) -> str:
    """Operations as they are written in a text case, and what each twin does wrong and who notices."""
    lines = []
    for target in chosen.values():
        lines += [_head(target), f"    {target.summary}", "  operations (an argument left out has its first value):"]
        lines += [f"    {_operation(operation)}" for operation in target.operations]
        lines += ["  twins (the detector that notices):"]
        lines += [f"    {twin['name']}: {twin.get('breach', '')} ({twin.get('detector', '')})" for twin in target.twins]
    return "\n".join(lines)


def _head(target: Target) -> str:
    how = f"{', '.join(target.binaries)}; {target.carrier}s" if target.binaries else "not built"
    return f"{target.name}  ({how})"


def _operation(operation: dict[str, Any]) -> str:
    words = [operation["name"]]
    for argument in operation["arguments"]:
        names = argument.get("value_names")
        words.append(f"{argument['name']}={'|'.join(names) if names else '0..' + str(argument['values'] - 1)}")
    return " ".join(words)
