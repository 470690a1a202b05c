import pytest
from msgspec import Raw

from forge.core.request import ChatMessage, Opaque, Protocol
from forge.errors import RequestError
from forge.wire.media import Media, read_media

OPENAI = ChatMessage(role="user", protocol=Protocol.OPENAI)
ANTHROPIC = ChatMessage(role="user", protocol=Protocol.ANTHROPIC)


def part(text):
    return Opaque(Raw(text.encode()))


@pytest.mark.parametrize(
    ("raw", "media"),
    [
        ('{"type":"image_url","image_url":{"url":"https://h/x"}}', Media(url="https://h/x")),
        ('{"type":"image_url","image_url":"https://h/x"}', Media(url="https://h/x")),
        (
            '{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}',
            Media(type="image/png", data="AA=="),
        ),
        (
            '{"type":"image_url","image_url":{"url":"data:image/svg+xml;charset=utf-8;base64,AA"}}',
            Media(type="image/svg+xml", data="AA"),
        ),
        (
            '{"type":"file","file":{"file_data":"data:application/pdf;base64,AA"}}',
            Media(type="application/pdf", data="AA"),
        ),
    ],
)
def test_what_can_be_read(raw, media):
    assert read_media(part(raw), OPENAI) == media


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ('{"type":"image_url","image_url":{"url":"data:image/png,raw"}}', OPENAI),
        ('{"type":"image_url","image_url":{}}', OPENAI),
        ('{"type":"file","file":{"file_id":"f"}}', OPENAI),
        ('{"type":"input_audio"}', OPENAI),
        ('{"type":"image_url","image_url":{"url":"https://h/x"}}', ANTHROPIC),
        ("[]", OPENAI),
    ],
)
def test_what_cannot(raw, message):
    with pytest.raises(RequestError):
        read_media(part(raw), message)
