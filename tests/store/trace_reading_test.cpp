// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "store/mutate.h"
#include "store/trace_convert.h"
#include "store/trace_file.h"
#include "support/catch.h"
#include "support/ddp_trace.h"
#include "support/scratch_folder.h"

using namespace ncclprobe;

TEST_CASE("no damaged trace brings the reading process down, or reads as something else") {
  support::ScratchFolder folder;
  support::write_ddp_spool(folder / "a.spool", 0, 3'000);
  REQUIRE(store::convert_spools({folder / "a.spool"}, folder / "a.h5", {7, "run-1", "kernels"}));
  std::string good = *base::read_file(folder / "a.h5");
  std::mt19937 random(7);
  std::vector<std::filesystem::path> files;
  for (int i = 0; i < 200; ++i) {
    files.push_back(folder / fmt::format("mutant-{}.h5", i));
    REQUIRE(base::write_file_atomically(files.back(), support::mutate(good, random)));
  }

  auto traces = store::TraceFile::open_all(files);

  const auto starts =
      *store::TraceFile::open(folder / "a.h5")->column(0, &trace::KernelRow::start_ns);
  int refused = 0;
  for (const auto& trace : traces) {
    if (!trace) {
      ++refused;
      INFO(trace.error().text());
      // Some damage makes HDF5 read for ever. The process that tries it is ended.
      const base::Errc code = trace.error().code;
      CHECK((code == base::Errc::protocol || code == base::Errc::timed_out));
      continue;
    }
    if (trace->ranks() != std::vector{0})
      continue; // a link's name was changed
    auto column = trace->column(0, &trace::KernelRow::start_ns);
    if (!column)
      CHECK(column.error().code == base::Errc::protocol);
    else if (!column->empty())
      CHECK(*column == starts);
  }
  CHECK(refused > 20);
}

TEST_CASE("a damaged part is named and left out when parts are merged") {
  support::ScratchFolder folder;
  for (int rank : {0, 1}) {
    support::write_ddp_spool(folder / fmt::format("{}.spool", rank), rank, 1'000);
    REQUIRE(store::convert_spools({folder / fmt::format("{}.spool", rank)},
                                  folder / fmt::format("{}.h5", rank), {7, "run-1", "kernels"}));
  }
  std::string bytes = *base::read_file(folder / "0.h5");
  REQUIRE(base::write_file_atomically(folder / "0.h5", bytes.substr(0, bytes.size() / 2)));

  auto report = store::merge_traces({folder / "0.h5", folder / "1.h5"}, folder / "whole.h5");

  REQUIRE(report);
  REQUIRE(report->ranks == 1);
  REQUIRE(report->remarks.size() == 1);
  REQUIRE(report->remarks[0].starts_with((folder / "0.h5").string() + " is damaged: "));
}
