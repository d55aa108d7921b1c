// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "tuning/table_file.h"

#include "base/atomic_file.h"
#include "base/sha256.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

using namespace ncclprobe;
using namespace ncclprobe::tuning;

TEST_CASE("a reference names a file and its content") {
  const std::string digits(64, 'a');
  auto reference = parse_table_reference("/etc/a@b.csv@" + digits);
  REQUIRE(reference);
  CHECK(reference->path == "/etc/a@b.csv");
  CHECK(reference->sha256 == digits);
  CHECK(to_text(*reference) == "/etc/a@b.csv@" + digits);

  for (const std::string& text :
       {std::string(), std::string("/etc/a.csv"), "@" + digits, "/etc/a.csv@" + digits.substr(1),
        "/etc/a.csv@" + digits + "a", "/etc/a.csv@" + std::string(64, 'A'),
        "/etc/a.csv@" + std::string(64, 'g')}) {
    auto wrong = parse_table_reference(text);
    REQUIRE(!wrong);
    CHECK(wrong.error().code == Errc::invalid_argument);
  }
}

TEST_CASE("only the table that the reference means is read") {
  support::ScratchFolder folder;
  const auto path = folder / "a.csv";
  const std::string text = to_text(Table{});
  REQUIRE(base::write_file_atomically(path, text));
  std::filesystem::permissions(path, std::filesystem::perms(0644));

  CHECK(read_referenced_table({path, base::sha256(text)}) == Table{});
  REQUIRE(read_table_file(path));
  CHECK(read_table_file(path)->sha256 == base::sha256(text));

  auto code = [](auto result) { return result ? std::optional<Errc>{} : result.error().code; };
  CHECK(code(read_referenced_table({path, base::sha256(text + " ")})) == Errc::mismatch);
  CHECK(code(read_referenced_table({folder / "b.csv", base::sha256(text)})) == Errc::not_found);
  std::filesystem::permissions(path, std::filesystem::perms(0646));
  CHECK(code(read_referenced_table({path, base::sha256(text)})) == Errc::invalid_argument);
  std::filesystem::permissions(path, std::filesystem::perms(0664));
  CHECK(read_referenced_table({path, base::sha256(text)}));
  REQUIRE(base::write_file_atomically(path, "nonsense"));
  CHECK(code(read_referenced_table({path, base::sha256("nonsense")})) == Errc::protocol);
}
