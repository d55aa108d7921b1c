// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

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
