"""What the doctor says about speech."""

from wayside.adapters.doctor_speech import measure_speech
from wayside.ports.speech_to_text import ScriptedSegment, ScriptedSpeechToText
from wayside.ports.text_to_speech import ToneTextToSpeech


async def test_the_share_of_words_that_come_back_is_counted():
    heard = ScriptedSegment("this bowl was made by hand")
    recogniser = ScriptedSpeechToText([heard, heard])
    measured = await measure_speech(ToneTextToSpeech(), recogniser, "en")

    assert 0.4 < measured.words < 0.6
    assert measured.first_sound_ms < 1000
