// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/spool_writer.h"

#include "store/trace_convert.h"
#include "store/trace_file.h"
#include "support/catch.h"
#include "support/ddp_trace.h"
#include "support/paths.h"
#include "support/program_output.h"
#include "support/scratch_folder.h"

using namespace ncclprobe;
using support::ProgramOutput;

namespace {

// The first python3 on PATH is often one without the distribution's packages.
ProgramOutput python(const std::string& arguments) {
  return support::output_of("/usr/bin/python3 " + arguments);
}

void need(const char* module) {
  if (python(fmt::format("-c 'import {}'", module)).exit_code != 0)
    NCCLPROBE_SKIP("/usr/bin/python3 lacks a module (packages python3-h5py, python3-pandas)");
}

} // namespace

TEST_CASE("h5py reads every column of a trace, with HDF5's own filters") {
  need("h5py");
  support::ScratchFolder folder;
  support::write_ddp_spool(folder / "a.spool", 3, 150'000);
  REQUIRE(store::convert_spools({folder / "a.spool"}, folder / "a.h5", {7, "run-1", "kernels"}));

  ProgramOutput output = python(fmt::format("{}/tests/store/read_trace_with_h5py.py {}",
                                            support::source_dir(), (folder / "a.h5").string()));

  std::uint64_t sum = 0;
  std::uint64_t names = 0;
  for (const trace::KernelRow& row : support::ddp_kernels(150'000, 3)) {
    sum += row.start_ns % 1'000'003 + row.duration_ns + row.correlation + row.operation + row.grid +
           row.block + row.shared_bytes + row.stream + row.flags;
    names += support::ddp_kernel_name(row.name.id).size();
  }
  INFO(output.text);
  REQUIRE(output.exit_code == 0);
  REQUIRE(output.text == fmt::format("ncclprobe.trace [1, 1] trial 7 run-1 kernels complete 1\n"
                                     "rank 3: 150000 kernels, sum {}, names {}\n",
                                     sum, names));
}

TEST_CASE("a trace from before its newest column is read and merged, with the column's default") {
  need("h5py");
  support::ScratchFolder folder;
  trace::SpoolWriter spool;
  REQUIRE(spool.open(folder / "a.spool"));
  spool.append(
      0, trace::ApiRow{.start_ns = 5, .function = 307, .name = spool.intern("cuLaunchKernelEx")});
  REQUIRE(store::convert_spools({folder / "a.spool"}, folder / "a.h5", {7, "run-1", "api"}));
  ProgramOutput changed = python(
      fmt::format("-c \"import h5py; f = h5py.File('{}', 'r+'); del f['rank_00000/api/name']\"",
                  (folder / "a.h5").string()));
  REQUIRE(changed.exit_code == 0);

  REQUIRE(store::merge_traces({folder / "a.h5"}, folder / "b.h5"));
  for (const char* file : {"a.h5", "b.h5"}) {
    auto trace = store::TraceFile::open(folder / file);
    REQUIRE(trace);
    auto rows = trace->rows<trace::ApiRow>(0);
    REQUIRE(rows);
    REQUIRE(rows->size() == 1);
    CHECK(rows->front().function == 307);
    CHECK(rows->front().name.id == 0);
  }
}

TEST_CASE("the example reads a trace with pandas") {
  need("h5py, pandas");
  support::ScratchFolder folder;
  support::write_ddp_spool(folder / "a.spool", 0, 4'000);
  REQUIRE(store::convert_spools({folder / "a.spool"}, folder / "a.h5", {7, "run-1", "kernels"}));

  ProgramOutput output = python(fmt::format("{}/examples/read_trace.py {}", support::source_dir(),
                                            (folder / "a.h5").string()));

  std::uint64_t count = 0;
  double busy_ms = 0;
  for (const trace::KernelRow& row : support::ddp_kernels(4'000, 0))
    if (row.flags & trace::k_communication) {
      ++count;
      busy_ms += row.duration_ns / 1e6;
    }
  INFO(output.text);
  REQUIRE(output.exit_code == 0);
  REQUIRE(output.text.find(fmt::format("rank_00000 stream 1 {:8} times {:12.3f} ms  {}\n", count,
                                       busy_ms, support::ddp_kernel_name(61))) == 0);
}
