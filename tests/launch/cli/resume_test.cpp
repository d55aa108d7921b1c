// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "launch/cli/job/plan_file.h"
#include "launch/cli/job/resume.h"
#include "store/run_file.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

using namespace ncclprobe;
using namespace ncclprobe::cli;
using model::OutcomeKind;

namespace {

model::RunHeader header_of_two_hosts() {
  model::RunHeader header;
  header.ncclprobe_version = "1.0";
  header.mpi_version = "Open MPI 4.1.4";
  header.backend = "nvidia";
  for (const char* name : {"alpha", "beta"}) {
    model::HostInventory host;
    host.hostname = name;
    host.boot_id = std::string("boot of ") + name;
    host.cpu_model = "CPU";
    host.worker_version = "worker 1.0 build abc";
    host.gpus = {{0, "GPU X", std::string("GPU-") + name}};
    host.libraries = {{"nccl", "2.28.3", "/opt/libnccl.so.2", ""}};
    header.hosts.push_back(host);
  }
  header.ranks = {{0, 0, 0}, {1, 1, 0}};
  header.environment = {{"NCCL_ALGO", "Ring"}};
  header.planned_trials = 2;
  return header;
}

model::TrialRecord trial_with(std::vector<OutcomeKind> cells) {
  model::TrialRecord trial;
  for (OutcomeKind kind : cells) {
    trial.cells.emplace_back().outcome.kind = kind;
    trial.outcome = model::worse(trial.outcome, trial.cells.back().outcome);
  }
  trial.spec.cells.resize(cells.size());
  return trial;
}

// A plan of two trials of two cells each, and the run that was begun with it.
struct Begun {
  support::ScratchFolder folder;
  std::filesystem::path file = folder / "run.h5";
  workload::Plan plan;
  model::RunHeader header = header_of_two_hosts();

  Begun() {
    for (int id = 0; id < 2; ++id) {
      model::TrialSpec& trial = plan.trials.emplace_back();
      trial.id = id;
      trial.replicate = id;
      trial.cells.resize(2);
      trial.cells[1].label.bytes = 64;
    }
    header.plan = "backend = \"nvidia\"\n";
  }
  void store(int id, OutcomeKind first, OutcomeKind second) const {
    model::TrialRecord trial = trial_with({first, second});
    trial.spec = plan.trials[static_cast<std::size_t>(id)];
    REQUIRE(store::write_part(file, trial));
  }
  void begin() const { REQUIRE(store::begin_run(file, header)); }
};

} // namespace

TEST_CASE("the same machine after a reboot is no difference") {
  model::RunHeader now = header_of_two_hosts();
  now.hosts[0].boot_id = "another boot";
  now.hosts[0].kernel = "newer";
  now.run_id = "another run";

  CHECK(differences(header_of_two_hosts(), now).empty());
}

TEST_CASE("every difference has a line of its own, with both values") {
  model::RunHeader now = header_of_two_hosts();
  now.ncclprobe_version = "1.1";
  now.mpi_version = "";
  now.hosts[0].cpu_model = "other CPU";
  now.hosts[0].gpus[0].uuid = "GPU-swapped";
  now.hosts[1].libraries[0].path = "/usr/libnccl.so.2";
  now.hosts[1].worker_version = "worker 1.0 build def";
  now.environment = {{"NCCL_PROTO", "LL"}};
  now.ranks[1].host = 0;

  CHECK(differences(header_of_two_hosts(), now) ==
        std::vector<std::string>{
            "GPU 0 on alpha: was GPU X GPU-alpha, is GPU X GPU-swapped",
            "MPI: was Open MPI 4.1.4, is no mpirun",
            "NCCL_ALGO in the environment: was 'Ring', is not there",
            "NCCL_PROTO in the environment: was not there, is 'LL'",
            "nccl on beta: was 2.28.3 /opt/libnccl.so.2, is 2.28.3 /usr/libnccl.so.2",
            "ncclprobe: was 1.0, is 1.1",
            "ncclprobe-worker on beta: was worker 1.0 build abc, is worker 1.0 build def",
            "processor on alpha: was CPU, is other CPU",
            "rank 1: was device 0 of beta, is device 0 of alpha",
        });
}

TEST_CASE("what the backend does not use is no difference") {
  model::RunHeader before = header_of_two_hosts();
  before.backend = "host";
  before.hosts[0].libraries.push_back({"gloo", "0.5", "/usr/lib/libgloo.so", ""});
  model::RunHeader now = before;
  now.hosts[0].gpus.clear(); // a run on the CPU does not look for them
  std::erase_if(now.hosts[0].libraries, [](const auto& one) { return one.name == "nccl"; });

  CHECK(differences(before, now).empty());

  now.hosts[0].libraries[0].version = "0.6";
  CHECK(differences(before, now) ==
        std::vector<std::string>{
            "gloo on alpha: was 0.5 /usr/lib/libgloo.so, is 0.6 /usr/lib/libgloo.so"});
}

TEST_CASE("another host is a difference") {
  model::RunHeader now = header_of_two_hosts();
  now.hosts[1].hostname = "gamma";

  auto lines = differences(header_of_two_hosts(), now);

  CHECK_THAT(fmt::format("{}", fmt::join(lines, "\n")),
             ContainsSubstring("host beta: was there, is not there") &&
                 ContainsSubstring("host gamma: was not there, is there"));
}

TEST_CASE("a trial is done, failed or missing by its cells") {
  using enum OutcomeKind;
  CHECK(standing_of(trial_with({ok, skipped, wrong_data})) == Standing::done);
  CHECK(standing_of(trial_with({ok, not_run})) == Standing::missing);
  CHECK(standing_of(trial_with({wrong_data, not_run})) == Standing::missing);
  CHECK(standing_of(trial_with({ok, failed, not_run})) == Standing::failed);
  CHECK(standing_of(trial_with({timed_out})) == Standing::failed);
  CHECK(standing_of(trial_with({crashed, not_run})) == Standing::failed);
  model::TrialRecord no_start = trial_with({not_run, not_run});
  no_start.outcome.kind = crashed;
  CHECK(standing_of(no_start) == Standing::failed);
}

TEST_CASE("a record that was cut short does not replace one that holds as much") {
  using enum OutcomeKind;
  Stored stored;
  stored.cells_cut_short[0] = 1;

  CHECK_FALSE(stored.wants(trial_with({ok, not_run, not_run})));
  CHECK_FALSE(stored.wants(trial_with({not_run, not_run, not_run})));
  CHECK(stored.wants(trial_with({ok, ok, not_run})));
  CHECK(stored.wants(trial_with({crashed, not_run, not_run})));
  model::TrialRecord unknown = trial_with({not_run});
  unknown.spec.id = 5;
  CHECK(stored.wants(unknown));
}

TEST_CASE("the stored plan names no output, and ranks only where no launcher does") {
  RunOptions options;
  options.output = "run.h5";
  options.seed = 7;
  const std::vector<model::RankPlace> places(3);

  std::string alone = plan_to_store(options, places, false);
  std::string launched = plan_to_store(options, places, true);

  RunOptions read;
  REQUIRE(apply_plan_text(alone, "plan", read));
  CHECK(read.ranks == 3);
  CHECK(read.seed == 7);
  CHECK_FALSE(read.output);
  CHECK_THAT(launched, !ContainsSubstring("ranks"));
}

TEST_CASE("what is stored decides what is run again") {
  using enum OutcomeKind;
  Begun run;
  RunOptions options;

  SECTION("done and cut short") {
    run.begin();
    run.store(0, ok, wrong_data);
    run.store(1, ok, not_run);
    auto stored = resume(run.file, options, run.header, run.plan);
    REQUIRE(stored);
    CHECK(stored->done == std::set<int>{0});
    CHECK(stored->cells_cut_short == std::map<int, int>{{1, 1}});
    CHECK(stored->tally.exit_code() == base::k_exit_wrong_data);
  }
  SECTION("failed ones stay") {
    run.begin();
    run.store(0, crashed, not_run);
    auto stored = resume(run.file, options, run.header, run.plan);
    REQUIRE(stored);
    CHECK(stored->done == std::set<int>{0});
  }
  SECTION("unless asked for") {
    run.begin();
    run.store(0, crashed, not_run);
    options.retry_failed = true;
    auto stored = resume(run.file, options, run.header, run.plan);
    REQUIRE(stored);
    CHECK(stored->done.empty());
    CHECK(stored->cells_cut_short.contains(0));
  }
}

TEST_CASE("other conditions are refused, and marked when forced") {
  Begun run;
  run.begin();
  run.store(0, OutcomeKind::ok, OutcomeKind::ok);
  model::RunHeader now = run.header;
  now.environment = {{"NCCL_ALGO", "Tree"}};
  RunOptions options;

  auto refused = resume(run.file, options, now, run.plan);
  options.force = true;
  auto forced = resume(run.file, options, now, run.plan);
  auto again = resume(run.file, options, now, run.plan);

  const std::string line = "NCCL_ALGO in the environment: was 'Ring', is 'Tree'";
  REQUIRE(!refused);
  CHECK(exit_code_of(refused.error()) == base::k_exit_environment);
  CHECK_THAT(refused.error().text(),
             ContainsSubstring("\n  " + line + "\n") && ContainsSubstring("--force"));
  REQUIRE(forced);
  REQUIRE(again);
  CHECK(store::read_run(run.file)->header.forced == std::vector<std::string>{line});
}

TEST_CASE("a plan that has become another one is refused, forced or not") {
  Begun run;
  run.begin();
  run.store(1, OutcomeKind::ok, OutcomeKind::ok);
  RunOptions options;
  options.force = true;

  SECTION("other cells") {
    run.plan.trials[1].cells[0].label.bytes = 9;
    auto refused = resume(run.file, options, run.header, run.plan);
    REQUIRE(!refused);
    CHECK_THAT(refused.error().message, ContainsSubstring("trial 1 of"));
    CHECK(exit_code_of(refused.error()) == base::k_exit_environment);
  }
  SECTION("fewer trials") {
    run.plan.trials.pop_back();
    auto refused = resume(run.file, options, run.header, run.plan);
    REQUIRE(!refused);
    CHECK_THAT(refused.error().message, ContainsSubstring("planned with 2 trials"));
  }
}

TEST_CASE("a run file without a plan cannot be resumed") {
  Begun run;
  run.header.plan.clear();
  run.begin();

  auto begun = begun_run(run.file);

  REQUIRE(!begun);
  CHECK(exit_code_of(begun.error()) == base::k_exit_usage);
}

TEST_CASE("an imported run cannot be resumed, and the error says why") {
  Begun run;
  run.header.plan.clear();
  run.header.imported = {{.path = "nccl-tests.log"}};
  run.begin();

  auto begun = begun_run(run.file);

  REQUIRE(!begun);
  CHECK(exit_code_of(begun.error()) == base::k_exit_usage);
  CHECK_THAT(begun.error().message, ContainsSubstring("imported"));
}

TEST_CASE("what is no run file is bad input, not a defect") {
  support::ScratchFolder folder;
  const auto file = folder / "text.h5";
  SECTION("text") {
    REQUIRE(base::write_file_atomically(file, "hello"));
  }
  SECTION("nothing") {
    REQUIRE(base::write_file_atomically(file, ""));
  }
  SECTION("a folder") {
    std::filesystem::create_directory(file);
  }
  SECTION("absent") {}

  auto begun = begun_run(file);

  REQUIRE(!begun);
  CHECK(exit_code_of(begun.error()) == base::k_exit_usage);
}

TEST_CASE("a resumed run is planned for the memory that was free when it was begun") {
  Begun run;
  run.header.hosts[0].gpus[0].free_bytes = 7 << 20;
  run.header.hosts[1].gpus[0].free_bytes = 5 << 20;
  run.begin();

  auto begun = begun_run(run.file);

  REQUIRE(begun);
  CHECK(begun->plan == run.header.plan);
  CHECK(begun->free_device_bytes == 5 << 20);
}

TEST_CASE("a run on the CPU is planned for no device's memory") {
  Begun run;
  run.header.backend = "host";
  run.begin();

  CHECK_FALSE(begun_run(run.file)->free_device_bytes);
}
