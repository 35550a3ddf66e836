"""Another language is told only where it is plain."""

import pytest

from bathysphere.models.languages import is_other_language

ENGLISH = "Please write a short summary of the notes that I have in this folder."
GERMAN = "Bitte fasse die Notizen zusammen, die in dem Ordner sind, und es ist nicht eilig."


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        ("好的，我已经明白您的要求，现在就为您处理这个文件，请稍等片刻。", ENGLISH),
        ("好的，我已经明白您的要求，现在就为您处理这个文件，请稍等片刻。", "hi"),
        ("Хорошо, я сейчас займусь этим файлом и сообщу о результате.", GERMAN),
        ("Here is the summary of the notes that you have in this folder, and it is short.", GERMAN),
        (
            "Die Notizen sind kurz, und das ist der Inhalt: es ist nicht eilig mit den Zahlen.",
            ENGLISH,
        ),
        ("了解しました。ご依頼のファイルを確認して、すぐに結果をお知らせします。", ENGLISH),
    ],
)
def test_another_language_is_seen(answer, asked):
    assert is_other_language(answer, asked)


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        ("Here is the summary of the notes that you have in this folder.", ENGLISH),
        ("Die Notizen sind kurz, und das ist der Inhalt.", GERMAN),
        ("好的", ENGLISH),
        (
            "好的，我已经明白您的要求，现在就为您处理这个文件，请稍等片刻。",
            "Translate it to Chinese.",
        ),
        ("Done.", GERMAN),
        ("print('x' * 3) # all of it", GERMAN),
        ("The word is 水 and it means water in that language.", ENGLISH),
        ("Это ответ на русском языке о файлах.", "Что в этих файлах? See notes.md"),
        ("", ENGLISH),
        ("Here is the summary of the notes that you have.", ""),
    ],
)
def test_what_is_not_plain_is_taken_as_right(answer, asked):
    assert not is_other_language(answer, asked)
