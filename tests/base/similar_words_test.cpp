// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/similar_words.h"
#include "support/catch.h"

#include <array>

using namespace ncclprobe::base;
using namespace std::string_view_literals;

TEST_CASE("edits are letters put in, left out, taken for another or swapped") {
  CHECK(edits_between("ALGO", "algo") == 0);
  CHECK(edits_between("ALOG", "ALGO") == 1);
  CHECK(edits_between("ALGOS", "ALGO") == 1);
  CHECK(edits_between("Rng", "Ring") == 1);
  CHECK(edits_between("LL129", "LL128") == 1);
  CHECK(edits_between("", "abc") == 3);
  CHECK(edits_between("TIMEOUT", "IB_TIMEOUT") == 3);
}

TEST_CASE("the most similar word is near or begins alike, or there is none") {
  constexpr std::array k_words{"Tree"sv, "Ring"sv, "NVLS"sv, "NVLSTree"sv};
  CHECK(most_similar("Rng", k_words) == "Ring");
  CHECK(most_similar("tree2", k_words) == "Tree");
  CHECK(most_similar("nvls", k_words) == "NVLS");
  CHECK(most_similar("NVLSTr", k_words) == "NVLSTree");
  CHECK(most_similar("Mesh", k_words).empty());

  constexpr std::array k_levels{"VERSION"sv, "WARN"sv, "INFO"sv};
  CHECK(most_similar("WARNING", k_levels) == "WARN");
  CHECK(most_similar("5", k_levels).empty());
  CHECK(same_word("Socket", "SOCKET"));
  CHECK_FALSE(same_word("Socket", "Sockets"));
}
