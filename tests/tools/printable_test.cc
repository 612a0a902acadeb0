#include "tools/heddle/shared/printable.h"

#include <gtest/gtest.h>

#include "tools/heddle/shared/table.h"

namespace heddle {
namespace {

TEST(Printable, OrdinaryTextStays) {
  for (const char* text : {"", "model.layers.0", "Größe × 2", "日本語", "\U0001F600", "a\\nb"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_lines(text), text);
  }
}

TEST(Printable, WhatControlsATerminalIsEscaped) {
  EXPECT_EQ(printable("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(printable("a\nb\tc\r"), "a\\x0ab\\x09c\\x0d");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  // Controls of U+0080 to U+009F: U+009B is CSI, as ESC [ is.
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");
  EXPECT_EQ(printable("\xc2\x80\xc2\x9f\xc2\xa0"), "\\xc2\\x80\\xc2\\x9f\xc2\xa0");
  // Overrides of the direction of writing, and the line separator.
  EXPECT_EQ(printable("\xe2\x80\xae\xe2\x80\xa8"), "\\xe2\\x80\\xae\\xe2\\x80\\xa8");
}

TEST(Printable, WhatIsNoUtf8IsEscaped) {
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m")
      << "CSI of a terminal with 8-bit controls";
  EXPECT_EQ(printable("\xff\xc0\x80"), "\\xff\\xc0\\x80");
  EXPECT_EQ(printable("a\xe6\x97"), "a\\xe6\\x97") << "half a character";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond U+10FFFF";
}

TEST(Printable, LinesMayBeKept) {
  EXPECT_EQ(printable_lines("a\n\tb\x1b\r\n"), "a\n\tb\\x1b\\x0d\n");
}

TEST(Printable, TextIsCutBetweenCharacters) {
  EXPECT_EQ(cut_text("abc", 3), "abc");
  EXPECT_EQ(cut_text("abc", 2), "ab");
  EXPECT_EQ(cut_text("a×b", 2), "a");
  EXPECT_EQ(cut_text("a×b", 3), "a×");
}

TEST(Printable, ATableKeepsItsLines) {
  Table table({{"NAME"}});
  table.add_row({"one\ntwo\x1b[2J"});
  EXPECT_EQ(table.text(), "NAME\none\\x0atwo\\x1b[2J\n");
}

}  // namespace
}  // namespace heddle
