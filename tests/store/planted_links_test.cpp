// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What somebody put in the way of files that are written under names which can be guessed.
#include "base/atomic_file.h"
#include "store/run_file.h"
#include "store/run_lock.h"
#include "store/trace_convert.h"
#include "store/trace_file.h"
#include "store/trace_parts.h"
#include "support/catch.h"
#include "support/ddp_trace.h"
#include "support/example_run.h"
#include "support/scratch_folder.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace ncclprobe;
namespace fs = std::filesystem;

namespace {

class Planted {
public:
  Planted() {
    REQUIRE(base::write_file_atomically(victim_, "secret"));
    fs::permissions(victim_, fs::perms(0600));
    fs::create_directory(elsewhere_);
  }
  void link(const fs::path& path) const {
    fs::create_directories(path.parent_path());
    fs::create_symlink(victim_, path);
  }
  void link_folder(const fs::path& path) const { fs::create_directory_symlink(elsewhere_, path); }
  bool nothing_was_reached() const {
    return *base::read_file(victim_) == "secret" &&
           (fs::status(victim_).permissions() & fs::perms::all) == fs::perms(0600) &&
           fs::is_empty(elsewhere_);
  }
  fs::path run_file() const { return folder_ / "run.h5"; }
  fs::path part(const char* name) const { return store::parts_folder(run_file()) / name; }
  fs::path victim() const { return victim_; }

private:
  support::ScratchFolder folder_;
  fs::path victim_ = folder_ / "victim";
  fs::path elsewhere_ = folder_ / "elsewhere";
};

base::Result<void> whole_run(const fs::path& file) {
  NCCLPROBE_TRY(store::begin_run(file, support::example_header(1)));
  NCCLPROBE_TRY(store::write_part(file, support::example_trial(0)));
  NCCLPROBE_TRY(store::fold(file));
  return {};
}

std::string message_of(const base::Result<void>& done) {
  return done ? "done" : done.error().text();
}

} // namespace

TEST_CASE("links under the names of temporary files are not followed") {
  Planted planted;
  planted.link(planted.run_file().string() + ".tmp");
  planted.link(planted.part("header.h5.tmp"));
  planted.link(planted.part("trial-000000.h5.tmp"));

  CHECK(message_of(whole_run(planted.run_file())) == "done");

  CHECK(planted.nothing_was_reached());
}

TEST_CASE("a link in place of a part is replaced") {
  Planted planted;
  REQUIRE(store::begin_run(planted.run_file(), support::example_header(1)));
  planted.link(planted.part("trial-000000.h5"));

  REQUIRE(store::write_part(planted.run_file(), support::example_trial(0), store::Replace::yes));

  CHECK(planted.nothing_was_reached());
  CHECK(store::read_run(planted.run_file())->trials.size() == 1);
}

TEST_CASE("a link in place of the lock, or another name of a file, is refused") {
  Planted planted;
  planted.link(planted.part("lock"));
  auto link = store::begin_run(planted.run_file(), support::example_header(1));
  fs::remove(planted.part("lock"));
  fs::create_hard_link(planted.victim(), planted.part("lock"));
  auto name = store::begin_run(planted.run_file(), support::example_header(1));

  CHECK_THAT(message_of(link), ContainsSubstring("run.h5.parts/lock is not a file of ncclprobe's"));
  CHECK(message_of(name) == message_of(link));
  fs::remove(planted.part("lock"));
  CHECK(planted.nothing_was_reached());
}

TEST_CASE("a link in place of the owner's file is not followed") {
  Planted planted;
  planted.link(planted.part("owner"));
  auto no_locks = [](int, int) {
    errno = ENOLCK;
    return -1;
  };

  CHECK_FALSE(store::RunLock::take(store::parts_folder(planted.run_file()), no_locks));

  CHECK(planted.nothing_was_reached());
}

TEST_CASE("a link in place of the parts folder is refused, whoever wants to write there") {
  Planted planted;
  planted.link_folder(store::parts_folder(planted.run_file()));

  auto begun = store::begin_run(planted.run_file(), support::example_header(1));
  auto resumed = store::resume_run(planted.run_file());
  auto folded = store::fold(planted.run_file());

  CHECK(begun.error().code == base::Errc::io);
  CHECK_THAT(message_of(begun), ContainsSubstring("run.h5.parts is a symbolic link"));
  CHECK_THAT(resumed.error().text(), ContainsSubstring("is a symbolic link"));
  CHECK_THAT(folded.error().text(), ContainsSubstring("is a symbolic link"));
  CHECK(planted.nothing_was_reached());
}

TEST_CASE("another user's parts folder is refused") {
  if (::geteuid() != 0)
    NCCLPROBE_SKIP("only root can give a folder away");
  Planted planted;
  const fs::path parts = store::parts_folder(planted.run_file());
  fs::create_directory(parts);
  REQUIRE(::chown(parts.c_str(), 12345, 12345) == 0);

  auto begun = store::begin_run(planted.run_file(), support::example_header(1));

  CHECK_THAT(message_of(begun), ContainsSubstring("run.h5.parts is another user's folder"));
}

TEST_CASE("links in the way of traces are not followed") {
  Planted planted;
  REQUIRE(store::begin_run(planted.run_file(), support::example_header(1)));
  REQUIRE(store::write_part(planted.run_file(), support::example_trial(0)));
  const fs::path part = store::trace_part_path(planted.run_file(), 0, 0);
  support::write_ddp_spool(fs::path(part).replace_extension(".spool"), 0, 100);
  planted.link(part.string() + ".tmp");
  planted.link(store::trace_path(planted.run_file(), 0).string() + ".tmp");
  planted.link(store::trace_path(planted.run_file(), 0));

  auto folded = store::fold(planted.run_file());

  REQUIRE(folded);
  CHECK(planted.nothing_was_reached());
}

TEST_CASE("a link in place of the folder of traces keeps them in the parts") {
  Planted planted;
  REQUIRE(store::begin_run(planted.run_file(), support::example_header(1)));
  REQUIRE(store::write_part(planted.run_file(), support::example_trial(0)));
  const fs::path part = store::trace_part_path(planted.run_file(), 0, 0);
  support::write_ddp_spool(fs::path(part).replace_extension(".spool"), 0, 100);
  planted.link_folder(store::traces_folder(planted.run_file()));

  auto folded = store::fold(planted.run_file());

  REQUIRE(folded);
  REQUIRE(folded->trace_remarks.size() == 1);
  CHECK_THAT(folded->trace_remarks[0], ContainsSubstring("run.trace is a symbolic link"));
  CHECK(fs::exists(part));
  CHECK(planted.nothing_was_reached());
}

TEST_CASE("a spool is not written through a link") {
  Planted planted;
  const fs::path spool = planted.part("trace-000000-00000.spool");
  planted.link(spool);

  trace::SpoolWriter writer;
  CHECK_FALSE(writer.open(spool.string()));

  CHECK(planted.nothing_was_reached());
}
