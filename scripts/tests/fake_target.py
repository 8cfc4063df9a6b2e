#!/usr/bin/env python3
"""Behaves like a libFuzzer target as seen from outside. FAKE_PLAN steers it: words joined by commas.

find:N   the first N fuzzing launches write a crash file and exit 77 (the token alternates between two signatures)
unconfirmed  what these launches write is not confirmed
exit:N   a launch that has written one ends with N instead, below 0 by that signal
vanish   the end comes by exit code 0 before its time      slow     what is written is an input that took long
late     as hang, but in the middle of confirming: a crash file is named before the exit
deaf     as hang, with a crash file written, unnamed (or unconfirmed:1), by one who does not hear signals; after a minute it writes `outlived`
shorten:S for S seconds, when a crash file has been written
breaks   the crash file says so       empty    the crash file is empty      hang   run until a signal comes, then exit 72      usage   exit 1 at once
A replayed file fails if it says `crash`, and on a twin if it says `breaks`; it runs until it is killed if it says `endless`, and cannot be read if it says `syntax`.
There are no fibers.
"""

import json
import os
import signal
import subprocess
import sys
import time

plan = dict(word.partition(":")[::2] for word in os.environ.get("FAKE_PLAN", "").split(",") if word)
flags = dict(word[1:].split("=", 1) for word in sys.argv[1:] if word.startswith("-"))
places = [word for word in sys.argv[1:] if not word.startswith("-")]


def say(text):
    print(text, file=sys.stderr, flush=True)


def fail(token, content, code=77):
    kind, how = ("unconfirmed", "Unconfirmed") if "unconfirmed" in plan else ("crash", "Test")
    path = flags["artifact_prefix"] + f"{kind}-{token}"
    with open(path, "w") as file:
        file.write(content)
    time.sleep(float(plan.get("shorten", 0)))
    say("FINDING\n    double-delete")
    say(f"DEDUP_TOKEN: {token}")
    say(f"artifact_prefix='{flags['artifact_prefix']}'; {how} unit written to {path}")
    code = int(plan.get("exit", code))
    if code < 0:
        os.kill(os.getpid(), -code)
    sys.exit(code)


for name, valid in (("TWIN", "double_delete"), ("CARRIER", "thread")):
    if os.environ.get(f"HANDOFF_{name}", valid) != valid:
        say(f"HANDOFF_{name}: expected one of {valid}, found '{os.environ[f'HANDOFF_{name}']}'")
        sys.exit(1)
if os.environ.get("HANDOFF_DESCRIBE"):
    print(
        json.dumps(
            {
                "name": os.path.basename(sys.argv[0]),
                "summary": "Pretends.",
                "carrier": "fiber",
                "operations": [
                    {
                        "name": "give",
                        "arguments": [
                            {"name": "box", "values": 4},
                            {"name": "kind", "values": 2, "value_names": ["old", "new"]},
                        ],
                    }
                ],
                "twins": [{"name": "double_delete", "breach": "deletes twice", "detector": "ledger"}],
            }
        )
    )
    sys.exit(0)
if "usage" in plan:
    say("no such folder")
    sys.exit(1)
if places and os.path.isfile(places[0]):
    with open(places[0]) as file:
        content = file.read()
    if "syntax" in content:
        say(f"{places[0]}:2: expected an operation, found 'syntax'")
        sys.exit(1)
    if os.environ.get("HANDOFF_PRINT_TEXT"):
        print(f"handoff case 1\n# twin: {os.environ.get('HANDOFF_TWIN', 'safe')}" + "\n# breaks" * ("breaks" in content))
        sys.exit(0)
    if "endless" in content:
        subprocess.Popen(["sleep", "60"])  # must not outlive us either
        with open(places[0] + ".started", "w") as file:
            file.write(str(os.getpid()))
        time.sleep(60)
    if "breaks" in content and "HANDOFF_TWIN" in os.environ:
        say("FINDING\n  kind:     double-delete\n  target:   exchange\n  rule:     R1")
        say("DEDUP_TOKEN: double-delete--R1")
        sys.exit(77)
    if "crash" not in content:
        say(f"{places[0]}: the switch on line 7 was never reached")
        sys.exit(0)
    say("FINDING\n    double-delete")
    say(f"DEDUP_TOKEN: double-delete--{os.environ.get('HANDOFF_TWIN', 'safe')}")
    sys.exit(77)
if not places:  # libFuzzer does without a corpus
    places = [os.getcwd()]
if "deaf" in plan:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("unconfirmed-d",) if "unconfirmed" in plan else ("crash-d", "crash-empty"):
        with open(flags["artifact_prefix"] + name, "w") as file:
            file.write("" if "empty" in name else "crash")
if "late" in plan:
    signal.signal(signal.SIGINT, lambda *_: fail("c", "crash", 72))
count = os.path.join(places[0], "launches")
with open(count, "a+") as file:  # a byte a launch
    launches = file.tell()
    file.write(".")
say("INFO: Running with entropic power schedule (0xFF, 100).")
say("#100\tNEW    cov: 42 ft: 60 corp: 7/90b lim: 4 exec/s: 50 rss: 33Mb L: 5/9 MS: 1 Custom-")
if "late" in plan or "deaf" in plan:
    time.sleep(60)
    with open(os.path.join(places[0], "outlived"), "w"):
        pass
if "vanish" in plan:
    sys.exit(0)
if "slow" in plan:
    with open(flags["artifact_prefix"] + "slow-unit-a", "w") as file:
        file.write("slow")
    say(f"artifact_prefix='{flags['artifact_prefix']}'; Test unit written to {file.name}")
if "hang" in plan:
    signal.signal(signal.SIGINT, lambda *_: sys.exit(72))
    time.sleep(60)
if launches < int(plan.get("find", 0)):
    fail(("a::b", "c")[launches % 2], "" if "empty" in plan else "breaks" if "breaks" in plan else "crash")
say("#2000\tDONE   cov: 43 ft: 61 corp: 8/99b lim: 4 exec/s: 1000 rss: 33Mb")
