"""Where visits are kept: recoverable after a crash, set aside when unreadable, forgotten whole."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from run_examples import a_record, admission, an_input, open_files, ram_directory
from wayside.core.errors import WaysideError
from wayside.ports.run_store_memory import MemoryRunStore
from wayside.stores.sqlite import visits
from wayside.stores.sqlite.runs import MIGRATIONS, SqliteRunStore
from wayside.stores.sqlite.visits import VisitFolder, in_ram, ram_folder, swaps_to_disk


@pytest.fixture
def folder() -> Iterator[Path]:
    """In RAM, as visits are: closing waits for no disk there."""
    with ram_directory() as made:
        yield made / "visits"


async def left_behind(folder: Path, text: str = "who made it") -> Path:
    """A visit whose process died: its file is there with whatever the log held."""
    place = VisitFolder(folder)
    store = await place.open()
    await store.admit(admission(a_record(input=an_input(text=text))))
    await store.close()
    assert place.current is not None
    return place.current


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")


def damaged(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def text_file(path: Path) -> None:
    path.write_text("words, not a database" * 40)


async def test_a_visit_is_for_its_owner_alone(folder: Path) -> None:
    """Folder 0700, file, log and index 0600, whatever was there before."""
    folder.mkdir(mode=0o755)
    place = VisitFolder(folder)
    store = await place.open()
    await store.admit(admission(a_record()))
    modes = {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}
    await store.delete()

    assert store.durable
    assert {0o600} == modes
    assert 0o700 == stat.S_IMODE(folder.stat().st_mode)
    assert frozenset() == place.notices


async def test_a_visit_that_a_dead_process_left_is_taken_up(folder: Path) -> None:
    """D16. Its run is there to be resumed."""
    path = await left_behind(folder)
    place = VisitFolder(folder)
    store = await place.left_over()

    assert store is not None
    assert a_record() == await store.load("r1")
    assert place.current == path
    await store.delete()
    assert None is await VisitFolder(folder).left_over()


async def test_the_newest_visit_is_taken_up(folder: Path) -> None:
    old, new = await left_behind(folder, "old"), await left_behind(folder, "new")
    os.utime(old, ns=(1, 1))
    os.utime(new, ns=(2, 2))
    place = VisitFolder(folder)
    store = await place.left_over()
    assert store is not None
    await store.close()

    assert place.current == new


@pytest.mark.parametrize(
    ("harm", "code"), [(newer, "store.newer"), (damaged, "store.corrupt"), (text_file, "store.corrupt")]
)
async def test_what_can_not_be_read_is_set_aside(folder: Path, harm, code: str) -> None:
    """Operators are told, the kiosk talks on with a new file, and the reset forgets what it was."""
    path = await left_behind(folder)
    harm(path)
    place = VisitFolder(folder)

    assert None is await place.left_over()
    assert [f"{path.name}.unreadable"] == [file.name for file in folder.iterdir()]
    assert [] == open_files(path)
    assert frozenset({code}) == place.notices
    await place.forget()
    assert not list(folder.glob("*"))
    store = await place.open()
    assert store.durable
    assert frozenset() == place.notices
    await store.delete()


async def test_an_older_visit_is_taken_up_when_the_newest_is_unreadable(folder: Path) -> None:
    old, new = await left_behind(folder), await left_behind(folder)
    text_file(new)
    os.utime(old, ns=(1, 1))
    place = VisitFolder(folder)
    store = await place.left_over()
    assert store is not None
    await store.close()

    assert place.current == old
    assert frozenset({"store.corrupt"}) == place.notices


async def test_forgetting_deletes_everything_of_every_visit(folder: Path) -> None:
    """Files, logs, indexes and what was set aside; nothing that is no visit."""
    path = await left_behind(folder)
    place = VisitFolder(folder)
    for suffix in ("-wal", "-shm", "-journal", ".unreadable", ".unreadable-wal"):
        path.with_name(path.name + suffix).write_bytes(b"a visitor's words")
    (folder / "other").touch()
    await place.forget()
    await place.forget()

    assert ["other"] == [file.name for file in folder.iterdir()]
    assert None is place.current
    await VisitFolder(None).forget()
    await VisitFolder(folder / "never").forget()


async def test_what_can_not_be_forgotten_is_told_and_the_rest_is_forgotten(folder: Path) -> None:
    path = await left_behind(folder)
    (folder / "0.visit").mkdir()
    (folder / "z.visit").mkdir()
    place = VisitFolder(folder)
    with pytest.raises(WaysideError) as refusal:
        await place.forget()

    assert refusal.value.code == "store.read_only"
    assert not path.exists()
    assert "store.read_only" in place.notices


async def test_no_folder_keeps_visits_in_memory_and_says_so() -> None:
    place = VisitFolder(None)

    assert isinstance(await place.open(), MemoryRunStore)
    assert None is await place.left_over()
    assert frozenset({"store.not_recoverable"}) == place.notices


async def test_a_folder_that_can_not_be_made_keeps_visits_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    place = VisitFolder(tmp_path / "file" / "visits")

    assert isinstance(await place.open(), MemoryRunStore)
    assert frozenset({"store.not_recoverable", "store.read_only"}) == place.notices


async def test_a_file_that_can_not_be_opened_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And when it works again, nobody is told otherwise."""
    monkeypatch.setattr(visits, "SqliteRunStore", lambda path: SqliteRunStore(folder / "none" / path.name))
    place = VisitFolder(folder)
    store = await place.open()

    assert isinstance(store, MemoryRunStore)
    assert [] == list(folder.iterdir())
    assert "store.not_recoverable" in place.notices
    monkeypatch.undo()
    store = await place.open()
    await store.delete()
    assert frozenset() == place.notices


MOUNTS = """\
sysfs /sys sysfs rw 0 0
tmpfs /run tmpfs rw 0 0
/dev/sda1 / ext4 rw 0 0
tmpfs /run/user/1000 tmpfs rw 0 0
/dev/sdb1 /run/media/disk ext4 rw 0 0
tmpfs /srv/a\\040b\\134c tmpfs rw 0 0
ramfs /srv/ram ramfs rw 0 0
/dev/sda2 /over ext4 rw 0 0
tmpfs /over tmpfs rw 0 0
short line
"""


@pytest.mark.parametrize(
    ("place", "ram"),
    [
        ("/run/wayside-x", True),
        ("/run", True),
        ("/run/user/1000/wayside", True),
        ("/run/media/disk/wayside", False),
        ("/running", False),
        ("/srv/visits", False),
        ("/srv/a b\\c/visits", True),
        ("/srv/ram", True),
        ("/over/x", True),
        ("/run/../srv/visits", False),
    ],
)
def test_ram_is_told_from_disks(tmp_path: Path, place: str, ram: bool) -> None:
    """The longest mount decides, the last of several at one place."""
    table = tmp_path / "mounts"
    table.write_text(MOUNTS)

    assert ram == in_ram(Path(place), table)


def test_a_link_that_leads_to_a_disk_is_no_ram(tmp_path: Path) -> None:
    """A visit on a disk would outlive power-off."""
    (tmp_path / "ram").mkdir()
    (tmp_path / "disk").mkdir()
    (tmp_path / "ram" / "link").symlink_to(tmp_path / "disk")
    table = tmp_path / "mounts"
    table.write_text(f"/dev/sda1 / ext4 rw 0 0\ntmpfs {tmp_path / 'ram'} tmpfs rw 0 0\n")

    assert in_ram(tmp_path / "ram" / "visits", table)
    assert not in_ram(tmp_path / "ram" / "link" / "visits", table)


def test_without_a_mounts_table_nothing_is_ram(tmp_path: Path) -> None:
    assert not in_ram(Path("/dev/shm"), tmp_path / "none")


def test_the_first_usable_folder_in_ram_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(visits, "in_ram", lambda path: path.name != "disk")
    wanted = tmp_path / "ram"

    assert wanted == ram_folder([tmp_path / "disk", tmp_path / "file", wanted, tmp_path / "later"])
    assert 0o700 == stat.S_IMODE(wanted.stat().st_mode)
    assert not (tmp_path / "later").exists()
    assert None is ram_folder([tmp_path / "disk"])


def test_swap_on_a_disk_is_found_and_compressed_ram_is_not(tmp_path: Path) -> None:
    swaps = tmp_path / "swaps"
    swaps.write_text(
        "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
        "/dev/zram0                              partition\t8388604\t\t0\t\t100\n"
        "/dev/vda2                               partition\t2097148\t\t0\t\t-2\n"
        "/swapfile                               file\t\t2097148\t\t0\t\t-3\n"
    )

    assert ("/dev/vda2", "/swapfile") == swaps_to_disk(swaps)
    assert () == swaps_to_disk(tmp_path / "missing")


@pytest.mark.parametrize("left", ["x.visit.ended", "x.visit-wal", "x.visit-shm", "x.visit-journal"])
async def test_what_a_death_in_the_middle_of_a_reset_left_is_gone_at_the_next_start(folder: Path, left: str) -> None:
    """A visit that its visitor has ended is never taken up, and no log of it stays."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / left).write_text("what a visitor said")
    (folder / "something-else").write_text("no visit")

    assert None is await VisitFolder(folder).left_over()
    assert ["something-else"] == [file.name for file in folder.iterdir()]


async def test_a_visit_that_is_being_deleted_has_no_name_to_be_taken_up_by(folder: Path, monkeypatch) -> None:
    place = VisitFolder(folder)
    store = await place.open()
    path = place.current

    async def dies(_self) -> None:
        raise RuntimeError

    monkeypatch.setattr("wayside.stores.sqlite.connection.SqliteDatabase.close", dies)
    monkeypatch.setattr("wayside.stores.sqlite.connection.unlink", lambda _path: (_ for _ in ()).throw(RuntimeError))
    with pytest.raises(RuntimeError):
        await store.delete()

    assert path is not None
    assert not path.exists()
    monkeypatch.undo()
    assert None is await VisitFolder(folder).left_over()


async def test_what_a_sidecar_on_another_port_left_is_swept_once_nobody_can_come_back_to_it(folder: Path) -> None:
    """A visit's words don't stay in RAM until power-off because a port was changed."""
    mine, dead, fresh, alive = (folder.parent / f"visits-{port}" for port in (1, 2, 3, 4))
    for other in (dead, fresh, alive):
        other.mkdir(mode=0o700)
        for name in ("x.visit", "x.visit-wal"):
            (other / name).write_text("what a visitor said")
            os.utime(other / name, (1, 1) if other != fresh else None)
    living = VisitFolder(alive)
    assert None is await living.left_over()  # sets aside what it can't read, and lives on
    store = await VisitFolder(mine).open()

    assert not dead.exists()
    assert ["x.visit", "x.visit-wal"] == sorted(file.name for file in fresh.iterdir())
    assert ["x.visit.unreadable"] == [file.name for file in alive.iterdir()]
    await store.delete()
