// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/own_folder.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace ncclprobe::base;
namespace fs = std::filesystem;
using ncclprobe::support::names_in;
using ncclprobe::support::ScratchFolder;

TEST_CASE("a folder of one's own is made once, and others cannot write to it") {
  ScratchFolder folder;
  const mode_t before = ::umask(0);
  auto made = make_own_folder(folder / "parts");
  ::umask(before);

  REQUIRE(made);
  REQUIRE(make_own_folder(folder / "parts"));
  CHECK((fs::status(folder / "parts").permissions() & fs::perms::all) == fs::perms(0755));
  CHECK(names_in(folder / "parts").empty());
}

TEST_CASE("a folder that somebody put a link in the place of is refused") {
  ScratchFolder folder;
  fs::create_directory(folder / "elsewhere");
  fs::create_directory_symlink(folder / "elsewhere", folder / "link");
  std::ofstream(folder / "file") << "x";

  auto link = make_own_folder(folder / "link");
  auto file = make_own_folder(folder / "file");
  auto nowhere = make_own_folder(folder / "no" / "parts");

  REQUIRE_FALSE(link);
  CHECK(link.error().code == Errc::io);
  CHECK_THAT(link.error().text(), ContainsSubstring("link is a symbolic link (nothing is written"));
  CHECK_THAT(file.error().text(), ContainsSubstring("file is no folder"));
  CHECK(nowhere.error().code == Errc::not_found);
}

TEST_CASE("another user's folder is refused") {
  if (::geteuid() != 0)
    NCCLPROBE_SKIP("only root can give a folder away");
  ScratchFolder folder;
  fs::create_directory(folder / "theirs");
  REQUIRE(::chown((folder / "theirs").c_str(), 12345, 12345) == 0);

  auto refused = make_own_folder(folder / "theirs");

  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().text(), ContainsSubstring("theirs is another user's folder"));
  CHECK(names_in(folder / "theirs").empty());
}
