// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "store/child_process.h"
#include "store/run_file.h"
#include "store/trace_file.h"
#include "store/trace_parts.h"
#include "support/catch.h"
#include "support/ddp_trace.h"
#include "support/example_run.h"
#include "support/file_limit.h"
#include "support/scratch_folder.h"

#include <fstream>

using namespace ncclprobe;

namespace {

std::filesystem::path spool_of(const std::filesystem::path& run_file, int trial, int rank) {
  return store::trace_part_path(run_file, trial, rank).replace_extension(".spool");
}

// A run of one trial, whose number is 0, in parts.
std::filesystem::path begun_run(const support::ScratchFolder& folder) {
  auto file = folder / "run.h5";
  model::Run run = support::example_run(1);
  run.trials[0].spec.trace = model::TraceLevel::api;
  base::value_or_throw(store::begin_run(file, run.header));
  base::value_or_throw(store::write_part(file, run.trials[0]));
  return file;
}

} // namespace

TEST_CASE("folding a run makes one trace a trial of its parts and of spools that were left") {
  support::ScratchFolder folder;
  auto file = begun_run(folder);
  const std::string run_id = store::read_run(file)->header.run_id;
  support::write_ddp_spool(spool_of(file, 0, 0), 0, 1'000);
  support::write_ddp_spool(spool_of(file, 0, 1), 1, 2'000);
  support::write_ddp_spool(spool_of(file, 3, 0), 0, 3'000); // of a trial that did not end
  REQUIRE(store::store_trace_part(file, {0, run_id, "api"}, 0));
  REQUIRE(!std::filesystem::exists(spool_of(file, 0, 0)));

  auto folded = store::fold(file);

  REQUIRE(folded);
  REQUIRE(folded->trace_remarks.empty());
  REQUIRE(support::names_in(folder.path()) == std::vector<std::string>{"run.h5", "run.trace"});
  std::vector<store::StoredTrace> traces = store::list_traces(file);
  REQUIRE(traces.size() == 2);
  REQUIRE(traces[0].path == folder / "run.trace" / "trial-000000.h5");
  auto trace = store::TraceFile::open(traces[0].path);
  REQUIRE(trace->identity() == store::TraceIdentity{0, run_id, "api"});
  REQUIRE(trace->ranks() == std::vector{0, 1});
  REQUIRE(trace->row_count(1, trace::Table::kernel) == 2'000);
  auto unfinished = store::TraceFile::open(traces[1].path);
  REQUIRE(unfinished->identity() == store::TraceIdentity{3, run_id, ""});
}

TEST_CASE("who only reads gets the trace that folding would store, and changes nothing") {
  support::ScratchFolder folder;
  support::ScratchFolder elsewhere;
  auto file = begun_run(folder);
  const std::string run_id = store::read_run(file)->header.run_id;
  support::write_ddp_spool(spool_of(file, 0, 0), 0, 1'000);
  support::write_ddp_spool(spool_of(file, 0, 1), 1, 2'000);
  support::write_ddp_spool(spool_of(file, 3, 0), 0, 3'000);
  REQUIRE(store::store_trace_part(file, {0, run_id, "api"}, 0));
  const auto before = support::names_in(store::parts_folder(file));

  auto gathered = store::gather_trace(file, {0, run_id, "api"}, elsewhere / "trace.h5");

  REQUIRE(gathered);
  CHECK(gathered->remarks.empty());
  CHECK(store::unfolded_traces(file) == std::vector{0, 3});
  CHECK(support::names_in(store::parts_folder(file)) == before);
  CHECK(support::names_in(folder.path()) == std::vector<std::string>{"run.h5.parts"});
  auto read = store::TraceFile::open(elsewhere / "trace.h5");
  REQUIRE(read);
  REQUIRE(store::fold(file));
  auto folded = store::TraceFile::open(store::trace_path(file, 0));
  CHECK(read->identity() == folded->identity());
  CHECK(read->ranks() == folded->ranks());
  for (int rank : {0, 1})
    CHECK(read->row_count(rank, trace::Table::kernel) ==
          folded->row_count(rank, trace::Table::kernel));
}

TEST_CASE("folding removes empty spools and clock readings without a spool") {
  support::ScratchFolder folder;
  auto file = begun_run(folder);
  support::write_ddp_spool(spool_of(file, 0, 0), 0, 100);
  std::ofstream(spool_of(file, 0, 1));
  std::ofstream(spool_of(file, 1, 0));
  std::ofstream(store::trace_clock_path(file, 2, 0)) << "clock readings";
  CHECK(store::unfolded_traces(file) == std::vector{0});

  auto folded = store::fold(file);

  REQUIRE(folded);
  CHECK(folded->trace_remarks == std::vector<std::string>());
  CHECK(store::TraceFile::open(store::trace_path(file, 0))->ranks() == std::vector{0});
  CHECK(support::names_in(folder.path()) == std::vector<std::string>{"run.h5", "run.trace"});
}

TEST_CASE("a trace that is stored is completed by ranks that are found later") {
  support::ScratchFolder folder;
  auto file = begun_run(folder);
  support::write_ddp_spool(spool_of(file, 0, 0), 0, 100);
  REQUIRE(store::fold(file));
  std::filesystem::create_directory(store::parts_folder(file));
  support::write_ddp_spool(spool_of(file, 0, 1), 1, 200);

  REQUIRE(store::fold(file));

  auto trace = store::TraceFile::open(store::trace_path(file, 0));
  REQUIRE(trace->ranks() == std::vector{0, 1});
  REQUIRE(support::names_in(folder.path()) == std::vector<std::string>{"run.h5", "run.trace"});
}

TEST_CASE("what a worker spooled before a SIGKILL is in the trace, and what is lost is said") {
  support::ScratchFolder folder;
  auto file = begun_run(folder);
  support::ChildProcess worker([&](int to_parent) {
    trace::SpoolWriter spool;
    if (!spool.open(spool_of(file, 0, 0).string()))
      ::_exit(2);
    std::vector<trace::KernelRow> rows(100, trace::KernelRow{.start_ns = 5});
    for (int block = 0;; ++block) {
      spool.append<trace::KernelRow>(0, rows);
      support::say(to_parent, '.');
    }
  });
  for (int i = 0; i < 50; ++i)
    REQUIRE(worker.hear() == '.');
  worker.kill();
  // A kill seldom hits the write itself: cut the last whole block short.
  const std::uint64_t block_bytes = sizeof(trace::BlockHeader) + 100 * sizeof(trace::KernelRow);
  std::uint64_t blocks =
      (std::filesystem::file_size(spool_of(file, 0, 0)) - sizeof(trace::SpoolHeader)) / block_bytes;
  std::filesystem::resize_file(spool_of(file, 0, 0),
                               sizeof(trace::SpoolHeader) + blocks * block_bytes - 1);

  auto folded = store::fold(file);

  REQUIRE(folded);
  auto trace = store::TraceFile::open(store::trace_path(file, 0));
  REQUIRE(trace->row_count(0, trace::Table::kernel) >= 4'900);
  REQUIRE(trace->origin(0).bytes_left_out == block_bytes - 1);
  REQUIRE(folded->trace_remarks ==
          std::vector{fmt::format("the trace of trial 0: trace-000000-00000.spool: its process "
                                  "ended before it finished the last block: {} bytes are left out",
                                  block_bytes - 1)});
}

TEST_CASE("a spool that cannot be read is kept and named, and the run is folded all the same") {
  support::ScratchFolder folder;
  auto file = begun_run(folder);
  REQUIRE(base::write_file_atomically(spool_of(file, 0, 0), "nonsense"));

  auto folded = store::fold(file);

  REQUIRE(folded);
  REQUIRE(folded->trials == 1);
  REQUIRE(folded->trace_remarks.size() == 1);
  REQUIRE(std::filesystem::exists(spool_of(file, 0, 0)));
  REQUIRE(store::read_run(file));
}

TEST_CASE("a disk that fills up keeps the spool and leaves no half trace") {
  support::ScratchFolder folder;
  auto file = begun_run(folder);
  support::write_ddp_spool(spool_of(file, 0, 0), 0, 100'000);
  support::ChildProcess converter([&](int to_parent) {
    support::limit_files_to(100'000);
    auto stored = store::store_trace_part(file, {0, "run", "api"}, 0);
    bool refused = !stored && stored.error().code == base::Errc::io &&
                   stored.error().message.find("File too large") != std::string::npos;
    support::say(to_parent, refused ? 'y' : 'n');
    bool names_spools =
        !stored && stored.error().hint.ends_with(fmt::format("its spools in {} are kept",
                                                             store::parts_folder(file).string()));
    support::say(to_parent, names_spools ? 'y' : 'n');
  });

  REQUIRE(converter.hear() == 'y');
  REQUIRE(converter.hear() == 'y');
  REQUIRE(converter.hear() == '\0');
  auto names = support::names_in(store::parts_folder(file));
  REQUIRE(std::ranges::count(names, "trace-000000-00000.spool") == 1);
  REQUIRE(std::ranges::none_of(names, [](const std::string& name) {
    return name.starts_with("trace-") && !name.ends_with(".spool");
  }));
  REQUIRE(store::fold(file)); // there is room again
  REQUIRE(store::TraceFile::open(store::trace_path(file, 0))->row_count(0, trace::Table::kernel) ==
          100'000);
}

TEST_CASE("a fold that has no room for a trace keeps its parts, and folds the run all the same") {
  support::ScratchFolder folder;
  const auto file = folder / "run.h5";
  support::ChildProcess writer([&](int to_parent) {
    begun_run(folder); // its lock ends with this process
    support::write_ddp_spool(spool_of(file, 0, 0), 0, 100'000);
    bool made = static_cast<bool>(
        store::store_trace_part(file, {0, store::read_run(file)->header.run_id, "api"}, 0));
    support::limit_files_to(200'000);
    auto folded = store::fold(file);
    bool refused = made && folded && folded->trace_remarks.size() == 1 &&
                   folded->trace_remarks[0].ends_with(fmt::format(
                       "its parts in {} are kept)", store::parts_folder(file).string()));
    support::say(to_parent, refused ? 'y' : 'n');
  });

  REQUIRE(writer.hear() == 'y');
  REQUIRE(writer.hear() == '\0');
  REQUIRE(store::read_run(file));
  REQUIRE(std::filesystem::exists(store::trace_part_path(file, 0, 0)));
  REQUIRE(store::fold(file)->trace_remarks.empty()); // there is room again
  REQUIRE(store::TraceFile::open(store::trace_path(file, 0))->row_count(0, trace::Table::kernel) ==
          100'000);
}
