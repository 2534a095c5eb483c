"""`wayside bench runs`: its arithmetic, its report, and that a small measurement is a real one."""

import json
from pathlib import Path

import pytest
from wayside.cli import main
from wayside.commands import bench_runs as bench
from wayside.commands.bench import Target, bench_lines, summary
from wayside.core.errors import WaysideError

MOUNTS = (("/", "ext4"), ("/run", "tmpfs"), ("/run/lock", "ext4"), ("/run/lock", "tmpfs"), ("/runner", "xfs"))


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ([1.0, 1.0, 9.0, 2.0, 2.0], [2.0]),
        ([4.0, 4.0, 1.0, 2.0], [0.375]),
        ([1.0, 100.0, 1.0, 1.0, 1.0, 100.0], [1.0]),
        ([0.0, 0.0, 1.0, 1.0], []),
        ([1.0, 1.0, 1.0], []),
        ([], []),
    ],
    ids=["grown", "shrunk", "medians", "no cost", "overlap", "none"],
)
def test_growth_is_the_last_over_the_first(costs, expected):
    compared = 3 if len(costs) == 6 else 2

    assert expected == bench.growth_ratio(costs, compared)


def test_a_wake_is_late_by_what_it_took_longer_and_never_early():
    assert [0.0, 3.0, 0.0] == pytest.approx(bench.lags_ms([0.0, 0.002, 0.007, 0.008], 0.002))
    assert [] == bench.lags_ms([1.0], 0.002)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/run/user/1", "tmpfs on /run"),
        ("/run/lock/x", "tmpfs on /run/lock"),
        ("/runner/x", "xfs on /runner"),
        ("/running/x", "ext4 on /"),
    ],
)
def test_the_file_system_is_that_of_the_deepest_mount(path, expected):
    assert expected == bench.file_system(Path(path), MOUNTS)


def test_no_folder_has_no_file_system():
    assert "none" == bench.file_system(None)
    assert "unknown" == bench.file_system(Path("/x"), ())


def test_every_target_must_be_met():
    targets = {"commit_ms": (Target("p50", 1), Target("p95", 5))}

    assert summary("commit_ms", [0.5] * 99 + [9], targets)["met"]
    assert not summary("commit_ms", [0.5] * 90 + [9] * 10, targets)["met"]
    assert not summary("commit_ms", [2.0] * 100, targets)["met"]


def test_a_percentile_that_has_a_target_is_reported():
    found = summary("lag_ms", list(range(1000)), {"lag_ms": (Target("p99", 10),)})

    assert 989.01 == found["p99"]
    assert {"p99": 10} == found["target"]
    line = bench_lines({"measures": {"lag_ms": found}, "stages": {}, "skipped": {}})[1]
    assert line.endswith("p99 989.01 ≤ 10 NOT MET")


def test_a_measure_without_samples_is_neither_met_nor_missed():
    found = summary("lag_ms", [], {"lag_ms": (Target("p99", 10),)})

    assert {"p50": None, "p95": None, "p99": None, "n": 0, "unit": "ms"} == found


def test_every_measure_has_a_part_and_every_target_a_measure():
    assert set(bench.TARGETS) == {name for names, _ in bench.PARTS for name in names}


async def test_many_turns_are_measured_and_nothing_is_left(tmp_path):
    told: list[str] = []
    report = await bench.bench_runs(
        tmp_path / "state" / "bench", turns=8, only=["admission_growth_ratio"], tell=told.append
    )

    assert {"admission_growth_ratio", "memory_growth_file_mb"} == set(report["measures"])
    assert (4, 4) == tuple(report["stages"][f"admission/{end}_ms"]["n"] for end in ("first", "last"))
    assert {} == report["skipped"]
    assert {"ram", "disk"} == set(report["where"])
    assert told
    assert [] == list((tmp_path / "state" / "bench").iterdir())


async def test_the_latency_is_that_of_each_turn_and_its_stages(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "VOICE_TURNS", 3)
    report = await bench.bench_runs(tmp_path, turns=4, only=["added_latency_ms"], tell=lambda _line: None)

    assert 3 == report["measures"]["added_latency_ms"]["n"]
    assert report["measures"]["added_latency_ms"]["p50"] > 0
    assert {"added/input_to_admitted_ms", "added/admitted_to_voice_ms"} == set(report["stages"])


async def test_what_was_not_spoken_is_no_figure(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "DELTAS", 1999)
    monkeypatch.setattr(bench, "DELTA", "too many words for one reply")
    report = await bench.bench_runs(tmp_path, turns=4, only=["loop_lag_ms"], tell=lambda _line: None)

    assert {} == report["measures"]
    assert "[bench.not_spoken]" in report["skipped"]["loop_lag_ms"]


async def test_where_there_is_no_ram_it_says_so_and_measures_the_rest(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "in_ram", lambda _path: False)
    monkeypatch.setattr(bench, "COMMITS", 3)
    only = ["commit_ram_ms", "commit_disk_ms"]
    report = await bench.bench_runs(tmp_path, turns=4, only=only, tell=lambda _line: None)

    assert 3 == report["measures"]["commit_disk_ms"]["n"]
    assert "[bench.no_ram]" in report["skipped"]["commit_ram_ms"]
    assert "none" == report["where"]["ram"]


async def test_a_folder_that_can_not_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WaysideError) as refused:
        await bench.bench_runs(tmp_path / "file" / "x", turns=4, only=[], tell=lambda _line: None)

    assert "bench.folder" == refused.value.code


def test_the_command_prints_the_same_form_as_the_voice_bench(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "COMMITS", 3)
    arguments = ["bench", "runs", "--json", "--folder", str(tmp_path), "--only", "commit_ram_ms"]

    assert 0 == main(arguments)
    report = json.loads(capsys.readouterr().out)
    assert {"measures", "stages", "skipped", "where"} == set(report)
    assert {"p50": 1, "p95": 5} == report["measures"]["commit_ram_ms"]["target"]
