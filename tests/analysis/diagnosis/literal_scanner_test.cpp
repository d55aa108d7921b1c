// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/literal_scanner.h"
#include "support/catch.h"

namespace ncclprobe::analysis {

TEST_CASE("all words of a text are found, in either case, also within each other") {
  LiteralScanner scanner({"he", "she", "hers", "his"});

  CHECK(scanner.all_in("usHERs") == std::vector<int>{0, 1, 2});
  CHECK(scanner.all_in("hi hrs") == std::vector<int>{});
  CHECK(scanner.find("ushers") == 4);
  CHECK(scanner.find("uhrs") == std::string::npos);
  CHECK(scanner.find("") == std::string::npos);
}

TEST_CASE("a word that begins within another's false start is found") {
  LiteralScanner scanner({"aab", "ab c"});

  CHECK(scanner.find("aaaab") == 5);
  CHECK(scanner.all_in("aab c") == std::vector<int>{0, 1});
}

TEST_CASE("any bytes may be in the text") {
  LiteralScanner scanner({"error"});
  std::string text("\0\xff\x80\nerror", 9);

  CHECK(scanner.find(text) == 9);
}

} // namespace ncclprobe::analysis
