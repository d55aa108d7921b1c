// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/stored_variables.h"
#include "support/catch.h"
#include "workload/nccl_variables.h"

#include <algorithm>
#include <set>

using namespace ncclprobe::workload;

TEST_CASE("every variable of NCCL 2.10.3 to 2.30.7 and the new ones of 2.31.2 is known once") {
  std::set<std::string_view> names;
  int gone = 0;
  for (const Variable& variable : nccl_variables()) {
    names.insert(variable.name);
    gone += variable.until != 0 ? 1 : 0;
    INFO(variable.name);
    CHECK((variable.until == 0 || variable.until > variable.since));
    CHECK(variable.since <= k_newest_known_nccl);
  }
  CHECK(names.size() == nccl_variables().size());
  CHECK(names.size() - gone == 249 + 16);
}

TEST_CASE("a variable's kind, limits, scope and first release are known") {
  const Variable* ctas = find_variable("NCCL_MIN_CTAS");
  REQUIRE(ctas != nullptr);
  CHECK(ctas->kind == ValueKind::integer);
  CHECK(ctas->limits.least == 1);
  CHECK(ctas->limits.most == 64);
  CHECK(ctas->scope == Scope::any);
  CHECK(ctas->since == 21701);

  CHECK(find_variable("NCCL_P2P_DISABLE")->kind == ValueKind::boolean);
  CHECK(find_variable("NCCL_P2P_LEVEL")->kind == ValueKind::level);
  CHECK(find_variable("NCCL_ALGO")->kind == ValueKind::algorithms);
  CHECK(find_variable("NCCL_PROTO")->kind == ValueKind::protocols);
  CHECK(find_variable("NCCL_TOPO_FILE")->kind == ValueKind::file);
  CHECK(find_variable("NCCL_IB_TC")->limits.least == -1); // automatic
  CHECK(find_variable("NCCL_IB_TC")->scope == Scope::infiniband);
  CHECK(find_variable("NCCL_NSOCKS_PERTHREAD")->scope == Scope::socket);
  CHECK(find_variable("NCCL_SOCKET_IFNAME")->scope == Scope::any); // the bootstrap uses it too
  CHECK(find_variable("NCCL_P2P_LL_THRESHOLD")->scope == Scope::send_receive);
  CHECK(find_variable("NCCL_MIN_CTA") == nullptr);
}

TEST_CASE("every kind that takes words has them, and every word is there once") {
  for (const Variable& variable : nccl_variables()) {
    using enum ValueKind;
    bool wants = variable.kind == level || variable.kind == word || variable.kind == any_case ||
                 variable.kind == words || variable.kind == algorithms ||
                 variable.kind == protocols || variable.kind == network_name ||
                 variable.kind == plugin;
    INFO(variable.name);
    CHECK(wants != variable.words.empty());
    auto known = legal_words(variable);
    CHECK(std::set<std::string_view>(known.begin(), known.end()).size() == known.size());
  }
}

TEST_CASE("words and numbers are those of the NCCL that is asked for") {
  const Variable& level = *find_variable("NCCL_P2P_LEVEL");
  auto knows = [&](std::string_view word, int version) {
    auto words = legal_words(level, version);
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  CHECK(knows("C2C", 22602));
  CHECK_FALSE(knows("C2C", 22501));
  CHECK(knows("P2C", 0));
  CHECK_FALSE(knows("C2C@22602", 0));
  CHECK(word_since(level, "C2C") == 22602);
  CHECK_FALSE(word_since(level, "nvl"));

  const Variable& ctas = *find_variable("NCCL_MAX_CTAS");
  CHECK(legal_numbers(ctas, 22403).most == 32);
  CHECK(legal_numbers(ctas, 22501).most == 64);
  CHECK(is_outside(ctas, 64, 22403));
  CHECK_FALSE(is_outside(ctas, 64));
}

TEST_CASE("an integer is read as NCCL reads it") {
  CHECK(read_integer("0x10").value == 16);
  CHECK(read_integer("010").value == 8);
  CHECK(read_integer("010").whole);
  CHECK(read_integer(" 8 ").whole);
  CHECK(read_integer("4M").value == 4);
  CHECK_FALSE(read_integer("4M").whole);
  CHECK(read_integer("yes").value == 0);
  CHECK_FALSE(read_integer("yes").whole);
  CHECK_FALSE(read_integer("").whole);
  CHECK(read_integer("5").fits);
  CHECK_FALSE(read_integer("99999999999999999999").fits);
}

TEST_CASE("flags are integers before 2.30.3") {
  const Variable& flag = *find_variable("NCCL_SET_THREAD_NAME");
  CHECK(reads_integer(flag, 22803));
  CHECK_FALSE(reads_integer(flag, 23003));
}

TEST_CASE("versions of NCCL are read and written") {
  CHECK(parse_nccl_version("2.28.3") == 22803);
  CHECK(parse_nccl_version("2.28.3+cuda13.0") == 22803);
  CHECK(nccl_version_text(22803) == "2.28.3");
  for (const char* text : {"", "2", "2.28", "2.x.3", "-2.1.1"})
    CHECK_FALSE(parse_nccl_version(text));
}

TEST_CASE("values of all variables that NCCL reads may be stored") {
  for (const Variable& variable : nccl_variables())
    if (variable.name.starts_with("NCCL_"))
      CHECK(ncclprobe::base::is_harmless_variable(variable.name));
}
