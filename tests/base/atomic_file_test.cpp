// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <cstdlib>
#include <fstream>

using namespace ncclprobe::base;
namespace fs = std::filesystem;
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

TEST_CASE("a left-over temporary file of an earlier death is no obstacle") {
  ScratchFolder folder;
  std::ofstream(folder / "data.tmp") << "half a fi";

  REQUIRE(write_file_atomically(folder / "data", "whole").has_value());

  CHECK(*read_file(folder / "data") == "whole");
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

TEST_CASE("a full disk is an error, and the old file stays") {
  if (!fs::exists("/dev/full"))
    NCCLPROBE_SKIP("no /dev/full on this machine");
  ScratchFolder folder;
  REQUIRE(write_file_atomically(folder / "data", "old").has_value());
  fs::create_symlink("/dev/full", folder / "data.tmp");

  auto written = write_file_atomically(folder / "data", "new");

  REQUIRE_FALSE(written.has_value());
  CHECK_THAT(written.error().message, ContainsSubstring("No space left"));
  CHECK(*read_file(folder / "data") == "old");
}

TEST_CASE("publishing moves a finished temporary file into place") {
  ScratchFolder folder;
  std::ofstream(folder / "part.tmp") << "content";

  REQUIRE(publish_file(folder / "part.tmp", folder / "part").has_value());

  CHECK(*read_file(folder / "part") == "content");
  CHECK_FALSE(fs::exists(folder / "part.tmp"));
}

TEST_CASE("reading what is not there, or a folder, is an error") {
  ScratchFolder folder;

  CHECK(read_file(folder / "nosuch").error().code == Errc::not_found);
  CHECK(read_file(folder / ".").error().code == Errc::io);
}
