"""Commands that look before they promise: no sound is not "everything is here", and a folder is no question."""

import pytest
from wayside.commands.doctor import doctor, doctor_lines
from wayside.commands.say import say
from wayside.core.errors import WaysideError
from wayside.main import Place


@pytest.mark.models
async def test_the_doctor_does_not_call_a_kiosk_without_sound_complete(built_pack, tmp_path, monkeypatch):
    monkeypatch.setenv("PULSE_SERVER", f"unix:{tmp_path}/nobody")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    report = await doctor(Place(pack=built_pack, config=None, state=tmp_path), measure=False)

    assert report["pack"]["ok"]
    assert all(state.startswith("missing") for state in report["devices"].values())
    assert not report["ok"]
    assert "Something is missing; see above." == doctor_lines(report)[-1]


async def test_a_folder_is_not_taken_for_a_question(built_pack, tmp_path):
    place = Place(pack=built_pack, config=None, state=tmp_path)
    with pytest.raises(WaysideError) as refused:
        await say(str(tmp_path), place=place, language="en", exhibit=None, out=None, tell=lambda _line: None)

    assert "audio.bad_file" == refused.value.code
    assert "is a folder" in refused.value.message
