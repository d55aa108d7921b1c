// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <csignal>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace ncclprobe::base;
namespace fs = std::filesystem;
using ncclprobe::support::names_in;
using ncclprobe::support::ScratchFolder;

TEST_CASE("a file is written whole, and nothing is left beside it") {
  ScratchFolder folder;
  std::string content(200'000, 'x');
  content[100] = '\0';

  REQUIRE(write_file_atomically(folder / "data", content).has_value());

  CHECK(*read_file(folder / "data") == content);
  CHECK_FALSE(fs::exists(folder / "data.tmp"));
}

TEST_CASE("an existing file is replaced") {
  ScratchFolder folder;
  REQUIRE(write_file_atomically(folder / "data", "old and longer").has_value());

  REQUIRE(write_file_atomically(folder / "data", "new").has_value());

  CHECK(*read_file(folder / "data") == "new");
}

TEST_CASE("what lies under a name that a temporary file could have stays as it is") {
  ScratchFolder folder;
  std::ofstream(folder / "victim") << "secret";
  fs::create_symlink(folder / "victim", folder / "data.tmp");

  REQUIRE(write_file_atomically(folder / "data", "whole").has_value());

  CHECK(*read_file(folder / "data") == "whole");
  CHECK(*read_file(folder / "victim") == "secret");
  CHECK(fs::is_symlink(folder / "data.tmp"));
}

TEST_CASE("a link in the place of the file is replaced, and what it leads to stays") {
  ScratchFolder folder;
  std::ofstream(folder / "victim") << "secret";
  fs::create_symlink(folder / "victim", folder / "data");

  REQUIRE(write_file_atomically(folder / "data", "whole").has_value());

  CHECK(*read_file(folder / "data") == "whole");
  CHECK_FALSE(fs::is_symlink(folder / "data"));
  CHECK(*read_file(folder / "victim") == "secret");
}

TEST_CASE("a file that must not be replaced is not, even if it comes while the new one is made") {
  ScratchFolder folder;
  auto file = AtomicFile::create(folder / "data");
  REQUIRE(file);
  REQUIRE(file->write("new"));
  std::ofstream(folder / "data") << "came meanwhile";

  auto committed = file->commit(Overwrite::no);

  REQUIRE_FALSE(committed);
  CHECK(committed.error().code == Errc::invalid_argument);
  CHECK(*read_file(folder / "data") == "came meanwhile");
}

TEST_CASE("a file that is not committed leaves nothing, in whichever folder it was made") {
  ScratchFolder folder;
  fs::create_directory(folder / "workshop");
  {
    auto file = AtomicFile::create(folder / "data", folder / "workshop");
    REQUIRE(file);
    CHECK(names_in(folder / "workshop").size() == 1);
  }
  CHECK(names_in(folder / "workshop").empty());
  CHECK(names_in(folder.path()) == std::vector<std::string>{"workshop"});
}

TEST_CASE("a file is renamed out of the folder in which it was made") {
  ScratchFolder folder;
  fs::create_directory(folder / "workshop");
  auto file = AtomicFile::create(folder / "data", folder / "workshop");
  REQUIRE(file);
  REQUIRE(file->write("whole"));

  REQUIRE(file->commit(Overwrite::no));

  CHECK(*read_file(folder / "data") == "whole");
  CHECK(names_in(folder.path()) == std::vector<std::string>{"data", "workshop"});
  CHECK(names_in(folder / "workshop").empty());
}

TEST_CASE("the umask says who may read") {
  ScratchFolder folder;
  const mode_t before = ::umask(027);
  auto written = write_file_atomically(folder / "data", "x");
  ::umask(before);

  REQUIRE(written);
  CHECK((fs::status(folder / "data").permissions() & fs::perms::all) == fs::perms(0640));
}

TEST_CASE("when the file cannot be replaced the old one stays and the error names it") {
  ScratchFolder folder;
  fs::create_directories(folder / "data/inside"); // a folder with content cannot be renamed over

  auto written = write_file_atomically(folder / "data", "new");

  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().code == Errc::io);
  CHECK_THAT(written.error().message, ContainsSubstring((folder / "data").string()));
  CHECK(fs::is_directory(folder / "data/inside"));
}

TEST_CASE("a folder that is not there is an error with the system's words") {
  ScratchFolder folder;

  auto written = write_file_atomically(folder / "nosuch/data", "x");

  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().code == Errc::not_found);
  CHECK_THAT(written.error().message, ContainsSubstring("No such file or directory"));
}

TEST_CASE("a full disk is an error, and the old file stays alone") {
  ScratchFolder folder;
  REQUIRE(write_file_atomically(folder / "data", "old").has_value());
  auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{1024, before.rlim_max}; // write(2) fails in the middle
  ::setrlimit(RLIMIT_FSIZE, &full);

  auto written = write_file_atomically(folder / "data", std::string(4096, 'x'));

  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().code == Errc::io);
  CHECK_THAT(written.error().message, ContainsSubstring("File too large"));
  CHECK(*read_file(folder / "data") == "old");
  CHECK(names_in(folder.path()) == std::vector<std::string>{"data"});
}

TEST_CASE("reading what is not there, or a folder, is an error") {
  ScratchFolder folder;

  CHECK(read_file(folder / "nosuch").error().code == Errc::not_found);
  CHECK(read_file(folder / ".").error().code == Errc::io);
}

TEST_CASE("more than the limit is not read, and the error names it") {
  ScratchFolder folder;
  constexpr std::size_t k_limit = std::size_t{1} << 20;
  std::ofstream(folder / "fits") << std::string(k_limit, 'x');
  std::ofstream(folder / "sparse") << "x";
  fs::resize_file(folder / "sparse", std::uintmax_t{1} << 40);

  CHECK(read_file(folder / "fits", k_limit)->size() == k_limit);
  for (const char* endless : {"/dev/zero", "/dev/urandom"}) {
    auto read = read_file(endless, k_limit);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Errc::invalid_argument);
    CHECK_THAT(read.error().message,
               ContainsSubstring(endless) && ContainsSubstring("more than 1 MiB"));
  }
  CHECK_THAT(read_file(folder / "sparse", k_limit).error().message,
             ContainsSubstring("more than 1 MiB"));
}

TEST_CASE("a text ends at its first zero byte, with an error") {
  ScratchFolder folder;
  std::ofstream(folder / "text") << "abc";
  std::ofstream(folder / "data") << std::string("ab\0c", 4);

  CHECK(*read_text(folder / "text") == "abc");
  CHECK_THAT(read_text(folder / "data").error().message,
             ContainsSubstring("is not a text: its byte 3 is zero"));
  CHECK_THAT(read_text("/dev/zero").error().message, ContainsSubstring("its byte 1 is zero"));
}
