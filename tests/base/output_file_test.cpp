// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/output_file.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <array>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <future>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace ncclprobe::base;
namespace fs = std::filesystem;
using ncclprobe::support::names_in;
using ncclprobe::support::ScratchFolder;

namespace {

// A file that must not be touched, and its state.
struct Victim {
  explicit Victim(const fs::path& where) : path(where) {
    std::ofstream(path) << "secret";
    fs::permissions(path, fs::perms(0600));
  }
  bool is_untouched() const {
    return *read_file(path) == "secret" &&
           (fs::status(path).permissions() & fs::perms::all) == fs::perms(0600);
  }
  fs::path path;
};

std::string message_of(const Result<void>& written) {
  return written ? "written" : written.error().text();
}

} // namespace

TEST_CASE("a new file is written, and one that is there only if that is asked for") {
  ScratchFolder folder;
  const fs::path file = folder / "out";

  REQUIRE(write_output_file({file}, "first"));
  auto refused = write_output_file({file}, "second");
  auto checked = check_output_file({file});

  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::invalid_argument);
  CHECK(message_of(refused) ==
        file.string() + " exists already (--force replaces it; or name another file)");
  CHECK(message_of(checked) == message_of(refused));
  CHECK(*read_file(file) == "first");
  REQUIRE(check_output_file({file, Overwrite::yes}));
  REQUIRE(write_output_file({file, Overwrite::yes}, "second"));
  CHECK(*read_file(file) == "second");
  CHECK(names_in(folder.path()) == std::vector<std::string>{"out"});
}

TEST_CASE("a file that is replaced keeps its permissions") {
  ScratchFolder folder;
  Victim own(folder / "out");

  REQUIRE(write_output_file({own.path, Overwrite::yes}, "new"));

  CHECK((fs::status(own.path).permissions() & fs::perms::all) == fs::perms(0600));
}

TEST_CASE("a file that is not finished does not appear") {
  ScratchFolder folder;
  {
    auto file = OutputFile::open({folder / "out"});
    REQUIRE(file);
    REQUIRE(file->write("half"));
  }
  REQUIRE(check_output_file({folder / "out"}));

  CHECK(names_in(folder.path()).empty());
}

TEST_CASE("what cannot be written is known before") {
  ScratchFolder folder;
  fs::create_directory(folder / "inside");

  auto no_folder = check_output_file({folder / "no" / "out"});
  auto a_folder = check_output_file({folder / "inside"});
  auto a_folder_by_force = check_output_file({folder / "inside", Overwrite::yes});
  auto read_only = check_output_file({"/proc/ncclprobe"});

  REQUIRE_FALSE(no_folder);
  CHECK(no_folder.error().code == Errc::io);
  CHECK_THAT(message_of(no_folder), ContainsSubstring("No such file or directory"));
  CHECK_THAT(message_of(a_folder), ContainsSubstring("is a folder (name a file in it)"));
  CHECK_THAT(message_of(a_folder_by_force), ContainsSubstring("is a folder"));
  REQUIRE_FALSE(read_only);
  CHECK(read_only.error().code == Errc::io);
}

TEST_CASE("a device is written into and stays a device") {
  REQUIRE(check_output_file({"/dev/null"}));
  REQUIRE(write_output_file({"/dev/null"}, "text"));
  REQUIRE(write_output_file({"/dev/null", Overwrite::yes}, "text"));
  auto full = write_output_file({"/dev/full"}, "text");

  CHECK(fs::is_character_file("/dev/null"));
  CHECK_THAT(message_of(full), ContainsSubstring("No space left on device"));
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("a link to a device is followed and stays") {
  ScratchFolder folder;
  fs::create_symlink("/dev/null", folder / "null");
  fs::create_symlink("null", folder / "link");

  REQUIRE(write_output_file({folder / "link"}, "text"));

  CHECK(fs::read_symlink(folder / "link") == "null");
  CHECK(fs::is_character_file(folder / "null"));
}

TEST_CASE("a pipe is written into") {
  ScratchFolder folder;
  const std::string pipe = (folder / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  REQUIRE(check_output_file({pipe})); // does not wait for a reader
  auto reader = std::async(std::launch::async, [&] { return *read_file(pipe); });

  REQUIRE(write_output_file({pipe}, "text"));

  CHECK(reader.get() == "text");
  CHECK(fs::is_fifo(pipe));
}

TEST_CASE("a socket is written into") {
  ScratchFolder folder;
  const std::string path = (folder / "socket").string();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);

  REQUIRE(write_output_file({path}, "text"));

  Fd peer(::accept(listener.get(), nullptr, nullptr));
  std::array<char, 16> got{};
  CHECK(::read(peer.get(), got.data(), got.size()) == 4);
  CHECK(std::strcmp(got.data(), "text") == 0);
  CHECK(fs::is_socket(path));
}

TEST_CASE("what names a descriptor goes to it, also where that is a regular file") {
  ScratchFolder folder;
  Fd file(::open((folder / "redirected").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(write_all(file.get(), "before ") == 0);
  const std::string own = fmt::format("/dev/fd/{}", file.get());
  fs::create_symlink(own, folder / "link");

  REQUIRE(write_output_file({own}, "text "));
  REQUIRE(write_output_file({folder / "link"}, "more"));

  CHECK(*read_file(folder / "redirected") == "before text more");
  CHECK(names_in(folder.path()) == std::vector<std::string>{"link", "redirected"});
}

TEST_CASE("a link to a file is followed only if that is asked for, and stays") {
  ScratchFolder folder;
  Victim victim(folder / "victim");
  fs::create_directory(folder / "inside");
  fs::create_symlink("../victim", folder / "inside" / "link");

  auto refused = write_output_file({folder / "inside" / "link"}, "text");

  CHECK_THAT(message_of(refused), ContainsSubstring("inside/link is a symbolic link to ") &&
                                      ContainsSubstring("/victim (--force writes to its target"));
  CHECK(victim.is_untouched());
  REQUIRE(write_output_file({folder / "inside" / "link", Overwrite::yes}, "text"));
  CHECK(*read_file(victim.path) == "text");
  CHECK(fs::is_symlink(folder / "inside" / "link"));
}

TEST_CASE("a link to what is not there makes no file unasked") {
  ScratchFolder folder;
  fs::create_symlink(folder / "elsewhere", folder / "link");

  REQUIRE_FALSE(write_output_file({folder / "link"}, "text"));

  CHECK_FALSE(fs::exists(folder / "elsewhere"));
  REQUIRE(write_output_file({folder / "link", Overwrite::yes}, "text"));
  CHECK(*read_file(folder / "elsewhere") == "text");
}

TEST_CASE("another user's link to a file is not followed, even if overwriting is asked for") {
  if (::geteuid() != 0)
    NCCLPROBE_SKIP("only root can give a link away");
  ScratchFolder folder;
  const Victim victim(folder / "victim");
  for (const char* target : {"victim", "elsewhere"}) {
    const fs::path link = folder / (std::string("link-to-") + target);
    fs::create_symlink(folder / target, link);
    REQUIRE(::lchown(link.c_str(), 1234, 1234) == 0);

    CHECK_THAT(message_of(write_output_file({link, Overwrite::yes}, "text")),
               ContainsSubstring("is another user's symbolic link to "));
  }
  CHECK(victim.is_untouched());
  CHECK_FALSE(fs::exists(folder / "elsewhere"));
}

TEST_CASE("links that lead in a circle are an error") {
  ScratchFolder folder;
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");

  CHECK_THAT(message_of(write_output_file({folder / "a", Overwrite::yes}, "text")),
             ContainsSubstring("Too many levels of symbolic links"));
}

TEST_CASE("a file that is written in another way is where links lead, and must be regular") {
  ScratchFolder folder;
  fs::create_symlink("/dev/null", folder / "null");
  fs::create_symlink("file", folder / "link");

  CHECK(*regular_output_path({"new"}, "") == "new");
  CHECK(*regular_output_path({folder / "link", Overwrite::yes}, "") ==
        fs::canonical(folder.path()) / "file");
  CHECK_FALSE(regular_output_path({folder / "link"}, ""));
  auto device = regular_output_path({folder / "null"}, "it has parts");
  REQUIRE_FALSE(device);
  CHECK_THAT(device.error().message,
             ContainsSubstring("null is not a regular file, and it has parts"));
}
