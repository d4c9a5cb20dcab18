"""Measurements of the hub beside what it is compared with, as ratios within one run. See docs/benchmarks.md."""
