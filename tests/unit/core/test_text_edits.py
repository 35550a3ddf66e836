"""An edit written with plain newlines fits a text with others."""

from bathysphere.core.text_edits import match_line_ends


def test_a_text_with_crlf_is_edited_in_crlf():
    found = match_line_ends("a\r\nb\r\n", "a\nb", "x\ny\r\nz")
    assert found == ("a\r\nb", "x\r\ny\r\nz")


def test_a_text_with_plain_newlines_is_edited_as_written():
    assert match_line_ends("a\nb", "a\nb", "x\r\ny") == ("a\nb", "x\r\ny")


def test_an_edit_that_names_crlf_itself_is_left_as_it_is():
    assert match_line_ends("a\r\nb", "a\r\nb", "x\ny") == ("a\r\nb", "x\ny")
