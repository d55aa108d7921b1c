// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// `ncclprobe export` as a user runs it, on made-up traces.
#include "base/atomic_file.h"
#include "store/run_file.h"
#include "store/trace_convert.h"
#include "support/catch.h"
#include "support/ddp_trace.h"
#include "support/paths.h"
#include "support/program_output.h"
#include "support/scratch_folder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <unistd.h>

using namespace ncclprobe;
using nlohmann::json;
using support::ProgramOutput;

namespace {

ProgramOutput run(const std::string& command) {
  static const support::ScratchFolder cache; // in place of the user's own
  return support::output_of(fmt::format("XDG_CACHE_HOME={} {}", cache.path().string(), command));
}

ProgramOutput export_with(const std::string& arguments) {
  return run(fmt::format("{}/ncclprobe-report export {}", support::bin_dir(), arguments));
}

// Two ranks, 1,200 kernels each, in trial 7.
std::string two_ranks(const support::ScratchFolder& folder) {
  for (int rank : {0, 1})
    support::write_ddp_spool(folder / fmt::format("{}.spool", rank), rank, 1'200);
  auto trace = folder / "trace.h5";
  REQUIRE(store::convert_spools({folder / "0.spool", folder / "1.spool"}, trace,
                                {7, "run-1", "kernels"}));
  return trace.string();
}

json chrome(const support::ScratchFolder& folder, const std::string& arguments) {
  ProgramOutput output =
      export_with(fmt::format("{} --chrome {}", arguments, (folder / "out.json").string()));
  INFO(output.text);
  REQUIRE(output.exit_code == 0);
  return json::parse(*base::read_file(folder / "out.json"));
}

std::vector<json> events_of(const json& document, const char* phase,
                            const char* category = nullptr) {
  std::vector<json> found;
  for (const json& event : document.at("traceEvents"))
    if (event.at("ph") == phase && (!category || event.at("cat") == category))
      found.push_back(event);
  return found;
}

} // namespace

TEST_CASE("export --chrome is JSON with every kernel, and flows join the ranks' collectives") {
  support::ScratchFolder folder;
  std::string trace = two_ranks(folder);

  json document = chrome(folder, trace);

  auto compute = events_of(document, "X", "compute");
  auto communication = events_of(document, "X", "communication");
  REQUIRE(compute.size() + communication.size() == 2 * 1'200);
  std::map<int, std::string> rank_of_line;
  for (const json& event : events_of(document, "M"))
    if (event.at("name") == "thread_name")
      rank_of_line[event.at("tid")] =
          event.at("args").at("name").get<std::string>().substr(0, std::size("rank 0:") - 1);
  std::map<std::string, std::set<std::string>> ranks_of_flow;
  for (const json& event : document.at("traceEvents")) {
    REQUIRE(event.at("pid") == 1); // their host's
    if (event.contains("bind_id"))
      ranks_of_flow[event.at("bind_id")].insert(rank_of_line.at(event.at("tid")));
  }
  REQUIRE(!ranks_of_flow.empty());
  for (const auto& [flow, ranks] : ranks_of_flow)
    REQUIRE(ranks == std::set<std::string>{"rank 0:", "rank 1:"});
}

TEST_CASE("export --window and --ranks take only what is asked for") {
  support::ScratchFolder folder;
  std::string trace = two_ranks(folder);

  json document = chrome(folder, trace + " --window 5ms:10ms --ranks 1");

  auto slices = events_of(document, "X");
  REQUIRE(slices.size() > 50);
  for (const json& event : events_of(document, "M"))
    if (event.at("name") == "thread_name")
      REQUIRE(event.at("args").at("name").get<std::string>().starts_with("rank 1: "));
  for (const json& slice : slices) {
    double begin = slice.at("ts").get<double>();
    REQUIRE(begin < 10'000);
    REQUIRE(begin + slice.at("dur").get<double>() >= 5'000);
  }
}

TEST_CASE("export --csv writes each table that has rows, texts spelt out") {
  support::ScratchFolder folder;
  std::string trace = two_ranks(folder);

  ProgramOutput output =
      export_with(fmt::format("{} --csv {}", trace, (folder / "tables").string()));

  INFO(output.text);
  REQUIRE(output.exit_code == 0);
  REQUIRE(support::names_in(folder / "tables") ==
          std::vector<std::string>{"communicator.csv", "kernel.csv", "nccl_operation.csv",
                                   "operation.csv", "stream.csv"});
  std::string kernels = *base::read_file(folder / "tables" / "kernel.csv");
  REQUIRE(
      kernels.starts_with("rank,aligned_ns,start_ns,duration_ns,name,stream,correlation,operation,"
                          "graph_node,grid,block,shared_bytes,flags\r\n0,"));
  REQUIRE(std::ranges::count(kernels, '\n') == 1 + 2 * 1'200);
  REQUIRE(kernels.find(",ncclDevKernel_AllReduce_Sum_bf16_RING_LL,1,") != std::string::npos);
  REQUIRE(kernels.find(",communication\r\n") != std::string::npos);
  std::string operations = *base::read_file(folder / "tables" / "operation.csv");
  REQUIRE(operations.find("\r\n0,0,") != std::string::npos); // the trace's first event
}

TEST_CASE("export says what is wrong in one line, with the file and what to do") {
  support::ScratchFolder folder;
  std::string trace = two_ranks(folder);
  REQUIRE(base::write_file_atomically(folder / "text", "no trace"));
  std::string text = (folder / "text").string();
  std::string out = " --perfetto " + (folder / "out").string();

  ProgramOutput absent = export_with((folder / "absent").string() + out);
  ProgramOutput nonsense = export_with(text + out);
  ProgramOutput no_rank = export_with(trace + out + " --ranks 0,5");
  ProgramOutput other_trial = export_with(trace + out + " --trial 3");
  ProgramOutput no_folder = export_with(trace + " --perfetto " + (folder / "no/out").string());
  ProgramOutput no_format = export_with(trace);
  ProgramOutput bad_window = export_with(trace + out + " --window 3s:2s");

  REQUIRE(absent.exit_code == 2);
  REQUIRE(absent.text.find("there is no run at " + (folder / "absent").string()) !=
          std::string::npos);
  REQUIRE(nonsense.exit_code == 2);
  REQUIRE(nonsense.text ==
          fmt::format("ncclprobe export: {0} is not an HDF5 file; nor a trace: {0} is "
                      "not an HDF5 file (give a run file, one of its traces, or the "
                      "folder of a captured job)\n",
                      text));
  REQUIRE(no_rank.exit_code == 2);
  REQUIRE(no_rank.text == "ncclprobe export: the trace has no rank 5 (it has 0,1)\n");
  REQUIRE(other_trial.exit_code == 2);
  REQUIRE(no_folder.exit_code == 7);
  REQUIRE(no_format.exit_code == 2);
  REQUIRE(no_format.text.find("--perfetto FILE, --chrome FILE or --csv DIR") != std::string::npos);
  REQUIRE(bad_window.exit_code == 2);
  REQUIRE(!std::filesystem::exists(folder / "out"));
}

TEST_CASE("export --perfetto is what Perfetto's own schema says") {
  if (run("protoc --version").exit_code != 0)
    NCCLPROBE_SKIP("there is no protoc (package protobuf-compiler)");
  support::ScratchFolder folder;
  std::string trace = two_ranks(folder);
  std::string out = (folder / "out.pftrace").string();
  REQUIRE(export_with(trace + " --perfetto " + out).exit_code == 0);

  ProgramOutput decoded = run(fmt::format("protoc --proto_path={0}/tests/analysis/export "
                                          "--decode=perfetto.protos.Trace perfetto.proto < {1}",
                                          support::source_dir(), out));

  REQUIRE(decoded.exit_code == 0);
  auto count = [&](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = decoded.text.find(what); at != std::string::npos;
         at = decoded.text.find(what, at + 1))
      ++found;
    return found;
  };
  REQUIRE(count("TYPE_SLICE_BEGIN") == count("TYPE_SLICE_END"));
  REQUIRE(count("TYPE_SLICE_BEGIN") >= 2 * 1'200);
  REQUIRE(count("TYPE_COUNTER") > 0);
  REQUIRE(count("process_name: ") == 1); // the host's
  REQUIRE(count("name: \"rank 1: ") > 1);
  REQUIRE(count("flow_ids: ") > 0);
  // Unknown fields are printed by their numbers.
  REQUIRE(run(fmt::format(
                  "protoc --proto_path={0}/tests/analysis/export "
                  "--decode=perfetto.protos.Trace perfetto.proto < {1} | grep -cE '^ *[0-9]+[: ]'",
                  support::source_dir(), out))
              .text == "0\n");
}

TEST_CASE("export writes over nothing that it reads, and no output over another") {
  support::ScratchFolder folder;
  std::string trace = two_ranks(folder);
  std::string before = *base::read_file(trace);
  std::string spools = folder.path().string();

  for (const std::string& arguments :
       {trace + " --perfetto " + trace, trace + " --chrome " + trace,
        spools + " --chrome " + (folder / "1.spool").string(), spools + " --perfetto " + trace,
        trace + " --perfetto " + (folder / "out").string() + " --chrome " +
            (folder / "." / "out").string()}) {
    INFO(arguments);
    ProgramOutput output = export_with(arguments);
    INFO(output.text);
    REQUIRE(output.exit_code == 2);
    REQUIRE(std::ranges::count(output.text, '\n') == 1);
  }

  REQUIRE(*base::read_file(trace) == before);
  REQUIRE(!std::filesystem::exists(folder / "out"));
}

TEST_CASE("neither the run file of a folder of traces nor a run that is added is written over") {
  support::ScratchFolder folder;
  std::string trace = two_ranks(folder);
  std::filesystem::create_directories(folder / "run.trace");
  std::filesystem::rename(trace, folder / "run.trace" / "trial-000007.h5");
  const std::string run_file = (folder / "run.h5").string();
  REQUIRE(base::write_file_atomically(run_file, "a run"));

  for (const std::string& arguments :
       {fmt::format("export {0}/run.trace --perfetto {0}/run.h5", folder.path().string()),
        fmt::format("export {0}/run.trace/ --chrome {0}/./run.h5", folder.path().string()),
        fmt::format("{0}/run.trace -o {0}/run.h5", folder.path().string()),
        fmt::format("predict {0}/other.h5 --also {0}/run.h5 -o {0}/run.h5 --ranks 8",
                    folder.path().string())}) {
    INFO(arguments);
    ProgramOutput output =
        run(fmt::format("{}/ncclprobe-report {}", support::bin_dir(), arguments));
    INFO(output.text);
    REQUIRE(output.exit_code == 2);
    REQUIRE(output.text.find("run.h5 is the run file") != std::string::npos);
  }

  REQUIRE(*base::read_file(run_file) == "a run");
}

TEST_CASE("the file of a run that lies in parts is no output, nor are its traces without a run") {
  support::ScratchFolder folder;
  const std::filesystem::path run_file = folder / "run.h5";
  model::TrialRecord traced;
  traced.spec.trace = model::TraceLevel::kernels;
  REQUIRE(store::begin_run(run_file, {}));
  REQUIRE(store::write_part(run_file, traced));
  std::filesystem::create_directories(folder / "run.trace");

  ProgramOutput over =
      run(fmt::format("{0}/ncclprobe-report {1} -o {1}", support::bin_dir(), run_file.string()));
  ProgramOutput read = run(
      fmt::format("{}/ncclprobe-report {}", support::bin_dir(), (folder / "run.trace").string()));

  INFO(over.text);
  INFO(read.text);
  REQUIRE(over.exit_code == 2);
  REQUIRE(over.text.find("is the run file itself") != std::string::npos);
  REQUIRE(read.exit_code == 2);
  REQUIRE(read.text.find("was traced, but the traces are not in") != std::string::npos);
}

TEST_CASE("a trace file by itself is reported as its timeline") {
  support::ScratchFolder folder;
  std::string trace = two_ranks(folder);

  ProgramOutput output = run(fmt::format("{}/ncclprobe-report {}", support::bin_dir(), trace));

  INFO(output.text);
  REQUIRE(output.exit_code == 0);
  REQUIRE(output.text.find("Traced") != std::string::npos);
}

TEST_CASE("a run whose folder of traces is elsewhere says where it was looked for") {
  support::ScratchFolder folder;
  std::filesystem::path run_file = folder / "moved.h5";
  model::TrialRecord traced;
  traced.spec.trace = model::TraceLevel::kernels;
  REQUIRE(store::begin_run(run_file, {}));
  REQUIRE(store::write_part(run_file, traced));
  REQUIRE(store::fold(run_file));

  ProgramOutput output = export_with(run_file.string() + " --csv " + (folder / "tables").string());

  INFO(output.text);
  REQUIRE(output.exit_code == 2);
  REQUIRE(output.text.find("was traced, but the traces are not in " +
                           (folder / "moved.trace").string()) != std::string::npos);
}

TEST_CASE("a folder of traces without its run file is read as well") {
  support::ScratchFolder folder;
  std::string trace = two_ranks(folder);
  std::filesystem::create_directories(folder / "lost.trace");
  std::filesystem::rename(trace, folder / "lost.trace" / "trial-000007.h5");

  ProgramOutput output = export_with((folder / "lost.trace").string() + "/ --chrome " +
                                     (folder / "out.json").string());

  INFO(output.text);
  REQUIRE(output.exit_code == 0);
  REQUIRE(output.text.find("2 ranks of trial 7") != std::string::npos);
}

TEST_CASE("spools in a folder that is not ours to write are read all the same") {
  if (::geteuid() == 0)
    NCCLPROBE_SKIP("root may write anywhere");
  support::ScratchFolder folder;
  support::write_ddp_spool(folder / "0.spool", 0, 100);
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::remove);

  ProgramOutput output =
      run(fmt::format("{}/ncclprobe-report {}", support::bin_dir(), folder.path().string()));
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::add);

  INFO(output.text);
  REQUIRE(output.exit_code == 0);
  REQUIRE(output.text.find("Traced    1 rank") != std::string::npos);
}
