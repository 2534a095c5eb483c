"""`wayside bench voice`: the shape of its report and the parts that need no devices."""

from wayside.commands.bench import bench_lines, bench_voice, summary
from wayside.main import Place


async def test_memory_is_measured_and_reported_with_its_target(built_pack, tmp_path):
    place = Place(pack=built_pack, config=None, state=tmp_path)

    report = await bench_voice(place, only=["memory_growth_mb"], tell=lambda _line: None)

    measure = report["measures"]["memory_growth_mb"]
    assert {"p50", "p95", "n", "unit", "target", "met"} == set(measure)
    assert ("mb", 1) == (measure["unit"], measure["n"])
    assert {} == report["skipped"]
    assert any("memory_growth_mb" in line for line in bench_lines(report))


def test_a_missed_target_is_said():
    assert not summary("flush_ms", [10, 50, 90])["met"]
    assert summary("flush_ms", [10, 12, 14])["met"]
    assert "met" not in summary("rss_mb", [500])
