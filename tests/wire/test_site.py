"""What people are told about a site's configuration."""

import pytest
from wayside.wire.site import Site, read_site


def test_without_a_configuration_the_defaults_are_used_in_silence():
    assert (Site(), []) == read_site(None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "no such file"),
        ("[audio", "not valid TOML"),
        ("[audoi]\nmicrophone = 'x'\n", "audoi"),
        ("[models]\nfolder = '/nope'\n", "/nope"),
    ],
)
def test_what_is_wrong_is_told_with_the_file(tmp_path, text, told):
    path = tmp_path / "wayside.toml"
    if text is not None:
        path.write_text(text)
    _, problems = read_site(path)

    assert problems
    assert problems[0].startswith(str(path))
    assert told in problems[0]
