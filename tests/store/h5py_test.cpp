// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "store/run_file.h"
#include "support/catch.h"
#include "support/example_run.h"
#include "support/paths.h"
#include "support/scratch_folder.h"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <sys/wait.h>

using namespace ncclprobe;

namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (unsigned char byte : bytes)
    text += fmt::format("{:02x}", byte);
  return text;
}

template <typename T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

// What a reader who knows only the documentation must find.
nlohmann::json expectation(const model::Run& run) {
  nlohmann::json expected{
      {"seed", run.header.seed},           {"run_id", run.header.run_id},
      {"argv", run.header.argv},           {"gpus", 0},
      {"trials", nlohmann::json::array()}, {"samples", nlohmann::json::array()}};
  for (const char* name : {"timing_modes", "collectives", "transfers", "steps", "conditions",
                           "memory_used", "marks", "evidence", "choices"})
    expected[name] = nlohmann::json::array();
  for (const model::HostInventory& host : run.header.hosts)
    expected["gpus"] = expected["gpus"].get<int>() + static_cast<int>(host.gpus.size());
  int cell_row = 0;
  int trial_row = 0;
  for (const model::TrialRecord& trial : run.trials) {
    nlohmann::json one{{"id", trial.spec.id},
                       {"name", trial.spec.name},
                       {"purpose", model::to_string(trial.spec.purpose)},
                       {"outcome", model::to_string(trial.outcome.kind)},
                       {"reason", trial.outcome.reason},
                       {"cells", nlohmann::json::array()},
                       {"tails_hex", nlohmann::json::array()}};
    for (std::size_t i = 0; i < trial.cells.size(); ++i, ++cell_row) {
      const model::CellLabel& label = trial.spec.cells[i].label;
      one["cells"].push_back({label.workload(), label.bytes, model::to_string(label.type),
                              model::to_string(trial.cells[i].outcome.kind)});
      for (const model::Sample& sample : trial.cells[i].samples)
        expected["samples"].push_back(
            {cell_row, sample.rank, sample.batch, sample.iterations, sample.elapsed_ns});
      expected["timing_modes"].push_back(model::to_string(trial.spec.cells[i].timing.mode));
      if (const auto* collective = label.collective())
        expected["collectives"].push_back(
            {cell_row, collective->split, model::to_string(collective->memory)});
      if (const auto* p2p = label.p2p())
        for (const auto& [from, to] : p2p->transfers)
          expected["transfers"].push_back({from.host, from.rank, to.host, to.rank});
      if (const auto* step = label.step())
        expected["steps"].push_back(
            {cell_row, step->model, fmt::format("{}", fmt::join(step->ranks, ","))});
      for (const model::Condition& at : trial.cells[i].conditions)
        expected["memory_used"].push_back(or_null(at.memory_used_bytes));
      for (const model::Mark& mark : trial.cells[i].marks)
        expected["marks"].push_back(
            {cell_row, mark.rank, mark.batch, mark.iteration, mark.operation, mark.at_ns});
      for (const model::Condition& at : trial.cells[i].conditions)
        expected["conditions"].push_back({cell_row, model::to_string(at.when),
                                          or_null(at.temperature_c), or_null(at.throttle_reasons)});
    }
    for (const model::Evidence& evidence : trial.evidence) {
      for (const model::Choice& choice : evidence.choices)
        expected["choices"].push_back(
            {expected["evidence"].size(), choice.cell, choice.algorithm, choice.count});
      expected["evidence"].push_back({trial_row, evidence.rank, hex(evidence.log)});
    }
    ++trial_row;
    for (const model::WorkerRecord& worker : trial.workers)
      one["tails_hex"].push_back(hex(worker.output_tail));
    expected["trials"].push_back(one);
  }
  return expected;
}

} // namespace

TEST_CASE("h5py alone reads a run file") {
  support::ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(6);
  REQUIRE(store::begin_run(file, run.header));
  for (const model::TrialRecord& trial : run.trials)
    REQUIRE(store::write_part(file, trial));
  REQUIRE(store::fold(file));
  REQUIRE(base::write_file_atomically(folder / "expected.json", expectation(run).dump()));

  // The first python3 on PATH is often one without the distribution's packages.
  std::string command =
      fmt::format("/usr/bin/python3 {}/tests/store/read_with_h5py.py {} {}", support::source_dir(),
                  file.string(), (folder / "expected.json").string());
  int status = std::system(command.c_str());

  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77)
    NCCLPROBE_SKIP("/usr/bin/python3 has no h5py (package python3-h5py)");
  REQUIRE(WEXITSTATUS(status) == 0);
}

TEST_CASE("a file may lack what came later, and nothing else") {
  support::ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(2);
  REQUIRE(store::begin_run(file, run.header));
  for (const model::TrialRecord& trial : run.trials)
    REQUIRE(store::write_part(file, trial));
  REQUIRE(store::fold(file));
  auto remove = [&](const char* what) {
    return std::system(
        fmt::format("/usr/bin/python3 -c \"import h5py; f = h5py.File('{}', 'r+'); {}\"",
                    file.string(), what)
            .c_str());
  };
  if (remove("") != 0)
    NCCLPROBE_SKIP("/usr/bin/python3 has no h5py (package python3-h5py)");

  REQUIRE(
      remove("del f['workers/cpus_asked'], f['worker_memory'], f['cells/timing_max_batches']") ==
      0);
  auto without = store::read_run(file);
  REQUIRE(remove("f['step_cells/cell'][0] = 3") == 0); // it was 2
  auto of_no_kind = store::read_run(file);
  REQUIRE(remove("del f['workers/cpus']") == 0);
  auto too_little = store::read_run(file);

  for (model::TrialRecord& trial : run.trials)
    for (model::WorkerRecord& worker : trial.workers) {
      worker.cpus_asked.clear();
      worker.memory.clear();
    }
  REQUIRE(without);
  CHECK((*without == run));
  REQUIRE_FALSE(of_no_kind);
  CHECK_THAT(of_no_kind.error().message,
             ContainsSubstring("row 2 of /cells has 0 rows in the tables of its kinds"));
  REQUIRE_FALSE(too_little);
  CHECK_THAT(too_little.error().message, ContainsSubstring("is damaged: H5Dopen2(cpus)"));
}
