// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "store/guarded_read.h"
#include "store/run_file.h"
#include "support/catch.h"
#include "support/example_run.h"
#include "support/scratch_folder.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace ncclprobe;
using store::FileKind;

namespace {

// A part file and the same with a second name.
std::filesystem::path stored_part(const support::ScratchFolder& folder) {
  auto file = folder / "run.h5";
  REQUIRE(store::begin_run(file, support::example_header(1)));
  REQUIRE(store::write_part(file, support::example_trial(0)));
  return store::parts_folder(file) / "trial-000000.h5";
}

} // namespace

TEST_CASE("a bad file between good ones is told apart") {
  support::ScratchFolder folder;
  auto part = stored_part(folder);
  REQUIRE(base::write_file_atomically(folder / "bad.h5", "bad"));

  auto results = store::check_guarded({{part, FileKind::trial},
                                       {folder / "bad.h5", FileKind::trial},
                                       {folder / "absent.h5", FileKind::trial},
                                       {part, FileKind::trial}});

  REQUIRE(results[0]);
  REQUIRE(store::trial_ids(*store::outline_of({part, FileKind::trial})) ==
          std::vector<std::int32_t>{0});
  REQUIRE(results[1].error().code == base::Errc::protocol);
  REQUIRE(results[2].error().code == base::Errc::not_found);
  REQUIRE(results[3]);
}

TEST_CASE("a read that outlasts its limit is ended and the next one goes on") {
  using namespace std::chrono_literals;
  const store::ChildLimits short_limits{100ms, 100ms, 100ms};
  const store::ChildLimits limits{1s, 1s, 20s};
  auto results = store::run_in_child(
      {{"endless.h5",
        "read",
        short_limits,
        [](const store::Progress&) -> base::Result<std::string> {
          while (true) // as a library would that waits for nobody
            ::pause();
        },
        {}},
       {"next.h5", "read", limits, [](const store::Progress&) { return "read"; }, {}}});

  REQUIRE(results[0].error().code == base::Errc::timed_out);
  REQUIRE(results[0].error().message ==
          "endless.h5 is damaged: a process that tried to read it did not finish in time");
  REQUIRE(results[1] == "read");
}

TEST_CASE("a file that is not HDF5 is reported without reading it") {
  support::ScratchFolder folder;
  auto fifo = (folder / "fifo.h5").string();
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0); // opening it would wait for a writer
  auto part = stored_part(folder);
  std::filesystem::copy_file(part, folder / "sparse.h5");
  std::filesystem::resize_file(folder / "sparse.h5", std::uintmax_t{8} << 30);
  std::filesystem::copy_file(part, folder / "huge.h5");
  std::filesystem::resize_file(folder / "huge.h5", std::uintmax_t{1} << 40);

  auto results = store::check_guarded({{fifo, FileKind::trial},
                                       {"/dev/zero", FileKind::trial},
                                       {folder / "sparse.h5", FileKind::trial},
                                       {folder / "huge.h5", FileKind::trial}});

  for (const auto& result : results)
    REQUIRE(result.error().code == base::Errc::protocol);
  REQUIRE(results[0].error().message == fifo + " is not a regular file, and so not an HDF5 file");
  REQUIRE(results[1].error().message == "/dev/zero is not a regular file, and so not an HDF5 file");
  REQUIRE_THAT(results[2].error().message,
               ContainsSubstring("is damaged: it has 8589934592 bytes and should have "));
  REQUIRE_THAT(results[3].error().message, ContainsSubstring("has more than 256 GiB"));
}

TEST_CASE("a read that needs more memory than its limit is refused") {
#if defined(__SANITIZE_ADDRESS__)
  NCCLPROBE_SKIP("AddressSanitizer's shadow memory rules out a limit on memory");
#else
  support::ScratchFolder folder;
  auto file = folder / "run.h5";
  model::TrialRecord trial = support::example_trial(0);
  trial.workers[0].output_tail.assign(64 << 20, 'x'); // compresses to next to nothing
  REQUIRE(store::begin_run(file, support::example_header(1)));
  REQUIRE(store::write_part(file, trial));
  store::ReadLimits limits;
  limits.memory_bytes = 16 << 20;

  auto results = store::check_guarded(
      {{store::parts_folder(file) / "trial-000000.h5", FileKind::trial}}, limits);

  REQUIRE(results[0].error().code == base::Errc::protocol);
  REQUIRE_THAT(results[0].error().message, ContainsSubstring("is damaged: "));
#endif
}
