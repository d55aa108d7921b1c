// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "tuning/table_file.h"

#include "base/atomic_file.h"
#include "base/sha256.h"
#include "launch/worker/tried_tuner.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <filesystem>

using namespace ncclprobe;
using support::ScratchFolder;
using worker::try_tuner;

namespace {

constexpr const char* k_tuner_plugin = "NCCL_TUNER_PLUGIN";
constexpr const char* k_tuner_table = "NCCLPROBE_TUNER_TABLE";

std::string table_text() {
  tuning::Table table;
  table.rows.push_back({.min_bytes = 1, .max_bytes = 2, .ranks = 2, .nodes = 1, .channels = 4});
  return to_text(table);
}

} // namespace

TEST_CASE("without a tuner plugin's file nothing is tried") {
  CHECK_FALSE(try_tuner({}));
  CHECK_FALSE(try_tuner({{k_tuner_plugin, ""}}));
  CHECK_FALSE(try_tuner({{k_tuner_plugin, "none"}}));
}

TEST_CASE("the tuner library and its table are usable") {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "table.csv";
  base::value_or_throw(base::write_file_atomically(file, table_text()));
  const std::string reference = to_text(tuning::TableReference{file, base::sha256(table_text())});

  const auto tried = try_tuner({{k_tuner_plugin, NCCLPROBE_TUNER}, {k_tuner_table, reference}});

  REQUIRE(tried);
  CHECK(tried->plugin == NCCLPROBE_TUNER);
  CHECK(tried->problem == "");
  CHECK(tried->table_problem == "");
}

TEST_CASE("a tuner table that this rank cannot use is a problem") {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "table.csv";
  base::value_or_throw(base::write_file_atomically(file, table_text()));
  const std::string hash = base::sha256(table_text());
  auto problem = [&](const std::string& reference) {
    return try_tuner({{k_tuner_plugin, NCCLPROBE_TUNER}, {k_tuner_table, reference}})
        ->table_problem;
  };
  CHECK_THAT(problem(""), ContainsSubstring("NCCLPROBE_TUNER_TABLE is not set"));
  CHECK_THAT(problem(file.string()), ContainsSubstring("SHA-256"));
  CHECK_THAT(problem("/no/such.csv@" + hash), ContainsSubstring("/no/such.csv"));
  CHECK_THAT(problem(file.string() + "@" + std::string(64, '0')), ContainsSubstring(hash));
  std::filesystem::permissions(file, std::filesystem::perms::all);
  CHECK_THAT(problem(file.string() + "@" + hash), ContainsSubstring("every user"));
}

TEST_CASE("a file that NCCL cannot load as a tuner is a problem, and so is one without a tuner") {
  const ScratchFolder folder;
  const std::filesystem::path text = folder.path() / "libtext.so";
  base::value_or_throw(base::write_file_atomically(text, "no library"));
  struct {
    std::string file, problem;
  } const cases[] = {{text.string(), "libtext.so"},
                     {"libc.so.6", "libc.so.6 has no ncclTunerPlugin"},
                     {"/no/libtuner.so", "/no/libtuner.so"}};
  for (const auto& [file, problem] : cases) {
    INFO(file);
    const auto tried = try_tuner({{k_tuner_plugin, file}});
    REQUIRE(tried);
    CHECK_THAT(tried->problem, ContainsSubstring(problem));
    CHECK(tried->table_problem == ""); // only our own has a table
  }
}
