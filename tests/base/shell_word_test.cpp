// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/csv.h"
#include "base/shell_word.h"
#include "support/catch.h"

using ncclprobe::base::shell_word;

TEST_CASE("a word of a shell is in quotes only where it needs them") {
  CHECK(shell_word("Ring,^NVLS") == "Ring,^NVLS");
  CHECK(shell_word("/tmp/a-b_c.h5") == "/tmp/a-b_c.h5");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("two words") == "'two words'");
  CHECK(shell_word("allreduce:ring;broadcast:tree") == "'allreduce:ring;broadcast:tree'");
  CHECK(shell_word("it's $HOME") == R"('it'\''s $HOME')");
  CHECK(shell_word("~") == "'~'");
}

TEST_CASE("a text of CSV is no formula of a spreadsheet, and a number stays one") {
  for (const char* text : {"node1", "", "-", "-3.5", "+12%", "-1e-05", "-8.3%", "a=b", "1+1"})
    CHECK(ncclprobe::base::csv_field(text) == text);
  const std::pair<const char*, const char*> changed[] = {
      {"=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"},
      {"@SUM(A1)", "'@SUM(A1)"},
      {"+1+cmd|x", "'+1+cmd|x"},
      {"-2+3+cmd|x", "'-2+3+cmd|x"},
      {"-x", "'-x"},
      {"\t=1", "'\t=1"},
      {"\r=1", "\"'\r=1\""},
      {"=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\""}};
  for (const auto& [text, field] : changed)
    CHECK(ncclprobe::base::csv_field(text) == field);
}
