"""Deciding a permission: policies of a thousand rules beside policies of ten, and what one call costs.

``python -m benchmarks.judging [--quick] [--json] [--rounds N]``
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from turnhub_permissions.engine import Engine, source_of

from benchmarks.report import Aim, Measure, Report, arguments, finish
from hub import Policies, PolicyBundle

MEASURES = (Measure("us", "CPU µs a call"), Measure("slow_us", "CPU µs, the slowest kind of call"))
AIMS = (
    Aim("us", "1000 rules", "10 rules", most=2.0),
    Aim("us", "1000 rules", "a millisecond", most=1.0),
    Aim("slow_us", "1000 rules", "a millisecond", most=1.0),
)
CALLS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("Bash", {"command": "git status"}),
    ("Bash", {"command": "tool-7 run test-3 --fast"}),
    ("Bash", {"command": "cat README.md | grep -n 'a b' | head -5"}),
    ("Bash", {"command": "cd src && pytest -x 2>&1 | tail -20"}),
    ("Bash", {"command": "git commit -m \"$(cat <<'EOF'\nA message\n\nof some lines\nEOF\n)\""}),
    ("Bash", {"command": "find . -name '*.py' -exec rm -rf {} \\;"}),
    ("Read", {"file_path": "docs/a/b/c.md"}),
    ("Edit", {"file_path": "src/deep/down/x.py"}),
    ("WebFetch", {"url": "https://host-9.example.com/x"}),
    ("mcp__server__tool", {"x": 1}),
)


def policy(count: int) -> PolicyBundle:
    """A policy of so many rules of all kinds, a third of which deny."""
    kinds = (
        "Bash(tool-{0} run test-{0}:*)",
        "Bash(tool-{0} * --fast)",
        "Read(dir-{0}/**/*.md)",
        "Edit(src-{0}/**)",
        "WebFetch(domain:host-{0}.example.com)",
        "mcp__server-{0}",
        "Bash(git step-{0}:*)",
    )
    rules = [kinds[number % len(kinds)].format(number) for number in range(count)]
    return PolicyBundle(
        name="p", extends=("reads",), allow=tuple(rules[::2]), deny=tuple(rules[1::3]), ask=tuple(rules[3::6])
    )


def engine(count: int) -> Engine:
    """An engine with that policy."""
    policies = Policies(where="here", configured={"p": policy(count)}, offered={}, givers={}, used={})
    return Engine(source_of(policies))


def measured(count: int, repeats: int) -> dict[str, float]:
    """What a call costs under a policy of so many rules, over all kinds of calls."""
    judge = engine(count)
    chosen, cwd, home = judge.policy("p"), str(Path.cwd()), str(Path.home())
    slowest, begun = [], time.process_time()
    for tool, given in CALLS:
        times = []
        for _ in range(repeats):
            start = time.process_time()
            judge.judge(chosen, tool, given, cwd, home=home)
            times.append(time.process_time() - start)
        slowest.append(median(times))
    seconds = time.process_time() - begun
    return {"us": seconds / repeats / len(CALLS) * 1e6, "slow_us": max(slowest) * 1e6}


def main() -> None:
    """Run as the command line says."""
    asked = arguments(__doc__).parse_args()
    rounds, repeats = (1, 20) if asked.quick else (5, 200)
    samples = [
        {
            "10 rules": measured(10, repeats),
            "1000 rules": measured(1000, repeats),
            "a millisecond": {"us": 1000.0, "slow_us": 1000.0},
        }
        for _ in range(asked.rounds or rounds)
    ]
    title = f"{len(CALLS)} kinds of calls, {repeats} times each; the slowest: its median"
    finish([Report(title, MEASURES, AIMS, samples)], as_json=asked.json)


if __name__ == "__main__":
    main()
