// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "launch/supervisor/file_fetch.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <filesystem>

using namespace ncclprobe;
using namespace ncclprobe::launch;
namespace fs = std::filesystem;

namespace {

// A leader and one other supervisor, whose disk is a folder beside the leader's: what the other
// reads and drops is renamed on the way.
struct TwoDisks {
  support::ScratchFolder folder;
  fs::path here = folder.path() / "here" / "part.h5";
  fs::path there = folder.path() / "there" / "part.h5";
  FileSource source;
  int pieces = 0;
  FileFetch fetch{[this](int, MessageBody body) {
    if (auto* wanted = std::get_if<SendPiece>(&body)) {
      FilePiece piece = source.read({there.string(), wanted->offset});
      piece.file = wanted->file;
      ++pieces;
      fetch.take(1, piece);
    } else {
      source.drop({there.string()});
    }
  }};

  TwoDisks() {
    fs::create_directory(here.parent_path());
    fs::create_directory(there.parent_path());
  }
};

} // namespace

TEST_CASE("a file on another disk comes here whole and goes there, its empty folder at last") {
  TwoDisks disks;
  std::string content(9 << 20, 'a');
  content[5 << 20] = 'b';
  REQUIRE(base::write_file_atomically(disks.there, content));

  disks.fetch.begin(1, {disks.here.string()});

  CHECK(disks.pieces == 3);
  CHECK_FALSE(disks.fetch.waits());
  CHECK(base::read_file(disks.here).value() == content);
  CHECK(fs::is_empty(disks.there.parent_path())); // the next trial may be about to use it
  disks.source.remove_empty_folders();
  CHECK_FALSE(fs::exists(disks.there.parent_path()));
}

TEST_CASE("an empty file comes too") {
  TwoDisks disks;
  REQUIRE(base::write_file_atomically(disks.there, ""));

  disks.fetch.begin(1, {disks.here.string()});

  CHECK(fs::exists(disks.here));
  CHECK_FALSE(disks.fetch.waits());
}

TEST_CASE("what is here already does not travel") {
  TwoDisks disks;
  REQUIRE(base::write_file_atomically(disks.here, "here"));
  REQUIRE(base::write_file_atomically(disks.there, "there"));

  disks.fetch.begin(1, {disks.here.string()});

  CHECK(disks.pieces == 0);
  CHECK(base::read_file(disks.there).value() == "there");
}

TEST_CASE("what cannot be read there is given up on, and nothing half is left here") {
  TwoDisks disks;

  disks.fetch.begin(1, {disks.here.string()});

  CHECK_FALSE(disks.fetch.waits());
  CHECK(fs::is_empty(disks.here.parent_path()));
}

TEST_CASE("what does not come in time is given up on, and what comes late is not taken") {
  support::ScratchFolder folder;
  std::string file = (folder / "part.h5").string();
  FileFetch fetch([](int, const MessageBody&) {});
  fetch.begin(1, {file});
  fetch.take(1, {file, 0, "half", false, ""});
  CHECK_FALSE(fs::is_empty(folder.path()));

  CHECK(fetch.waits_for(1));
  CHECK_FALSE(fetch.waits_for(0));

  CHECK(fetch.give_up() == std::set<std::pair<int, std::string>>{{1, file}}); // where it stays

  CHECK_FALSE(fetch.waits());
  fetch.take(1, {file, 4, "more", true, ""});
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a file that is another one by now is not removed: it may be the leader's copy") {
  TwoDisks disks;
  REQUIRE(base::write_file_atomically(disks.there, "first"));
  FilePiece piece = disks.source.read({disks.there.string(), 0});
  CHECK(piece.last);
  REQUIRE(base::write_file_atomically(disks.there, "first"));

  disks.source.drop({disks.there.string()});

  CHECK(fs::exists(disks.there));
}
