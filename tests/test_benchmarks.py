"""The benchmarks run and print their ratios. What they measure is judged by people, on a quiet machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.report import Aim, Measure, Report

ROOT = Path(__file__).parent.parent
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="a process is measured as Linux tells of it")


def quick(name: str, *more: str) -> str:
    """What a small run prints."""
    command = [sys.executable, "-m", f"benchmarks.{name}", "--quick", *more]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True, timeout=100).stdout


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize(("name", "reports"), [("fanout", 1), ("append", 1), ("attach", 2), ("judging", 1)])
def test_a_benchmark_runs_and_tells_its_ratios(name: str, reports: int) -> None:
    """Every variant has every number, and each ratio of times is a number too. (So few subscribers may find
    room in memory that a server has already.)"""
    found: list[dict[str, Any]] = msgspec.json.decode(quick(name, "--json"))
    assert len(found) == reports
    for one in found:
        measured = [set(sample) for sample in one["medians"].values()]
        assert measured
        assert all(names == measured[0] for names in measured)
        ratios = {ratio["ratio"]: ratio["value"] for ratio in one["ratios"]}
        assert ratios
        assert all(value > 0 for title, value in ratios.items() if not title.startswith("memory_kb"))


@LINUX
@pytest.mark.slow
def test_a_benchmark_shows_people_a_table() -> None:
    """Without --json: the numbers, the ratios, what was aimed at."""
    shown = quick("append")
    for words in ("events/s", "pipelined", "rate: ours / plain", "at least 8"):
        assert words in shown


def test_ratios_are_medians_of_the_ratios_within_a_round() -> None:
    """A round in which the machine was busy weighs on both sides of its ratio."""
    rounds = [
        {"ours": {"us": 1.0}, "other": {"us": 2.0}},
        {"ours": {"us": 10.0}, "other": {"us": 40.0}},
        {"ours": {"us": 3.0}, "other": {"us": 3.0}},
    ]
    aim = Aim("us", "ours", "other", most=0.5)
    report = Report("a title", (Measure("us", "µs"),), (aim,), rounds)
    assert report.ratio(aim) == 0.5
    assert report.medians() == {"ours": {"us": 3.0}, "other": {"us": 3.0}}
    assert report.facts()["ratios"] == [
        {"ratio": "us: ours / other", "value": 0.5, "aim": "at most 0.5", "met": True}
    ]


def test_a_ratio_without_an_aim_is_neither_met_nor_missed() -> None:
    """It only tells; so does one that could not be measured."""
    assert Aim("us", "ours", "other").met(2.0) is None
    assert Aim("us", "ours", "other", most=1.0).met(None) is None
    assert Aim("us", "ours", "other", least=8.0).met(8.5) is True
    assert Aim("us", "ours", "other", least=8.0).met(7.0) is False
