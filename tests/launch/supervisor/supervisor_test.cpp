// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "processes.h"
#include "trial_lab.h"

#include "base/allowed_cpus.h"
#include "base/clock.h"
#include "base/number_list.h"
#include "launch/supervisor/supervisor.h"
#include "support/catch.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

using namespace ncclprobe;
using model::OutcomeKind;
using test_launch::LocalRun;
using test_launch::make_spec;
using test_launch::run_locally;

TEST_CASE("a good trial of four workers is recorded whole") {
  LocalRun run = run_locally("good", make_spec(4, 3));

  CHECK(run.record.outcome.ok());
  CHECK(run.record.outcome.reason.empty());
  REQUIRE(run.record.cells.size() == 3);
  CHECK(run.record.cells[2].outcome.ok());
  CHECK(run.record.cells[2].check.elements == 40);
  REQUIRE(run.record.cells[2].samples.size() == 8);
  CHECK(run.record.cells[2].samples[5] == model::Sample{1, 1, 20, 2011, 501});
  REQUIRE(run.record.workers.size() == 4);
  for (const model::WorkerRecord& worker : run.record.workers) {
    CHECK(worker.exit == "exit 0");
    CHECK(worker.last_phase == "done");
    CHECK(worker.last_cell == 2);
    CHECK(worker.host == "node1");
    CHECK(worker.pid > 0);
    CHECK(worker.cpus == base::format_number_list(base::allowed_cpus(::getpid())));
    CHECK(worker.libraries ==
          std::vector<model::Library>{{"talk", "1.0", "/talk.so", "as it says"}});
    CHECK(worker.memory == std::vector<model::MemoryUse>{
                               {worker.ranks.at(0), model::MemoryUse::What::connected, 1 << 20}});
  }
  CHECK(run.record.startup_ns > 0);
  CHECK(run.record.total_ns >= run.record.startup_ns);
  CHECK(run.processes_left == 0);
}

TEST_CASE("a trial on some ranks of the launch, in another order, is recorded with these ranks") {
  model::TrialSpec spec = make_spec(2, 1);
  spec.launch_ranks = {3, 1};
  auto fleet = launch::make_local_fleet();
  launch::Supervisor supervisor(*fleet, test_launch::make_layout(4),
                                test_launch::make_options("good", {}));

  const model::TrialRecord record = supervisor.run(spec);

  CHECK(record.outcome.ok());
  REQUIRE(record.workers.size() == 2);
  CHECK(record.workers[0].ranks == std::vector{1});
  CHECK(record.workers[1].ranks == std::vector{3});
  CHECK(record.workers[1].memory.at(0).rank == 3);
  std::vector<int> ranks;
  for (const model::Sample& sample : record.cells.at(0).samples)
    ranks.push_back(sample.rank);
  CHECK(ranks == std::vector{1, 3, 1, 3});
}

TEST_CASE("of a trial on some ranks, the one that crashed is named by its rank of the launch") {
  model::TrialSpec spec = make_spec(2, 2, 0);
  spec.launch_ranks = {3, 1};
  auto fleet = launch::make_local_fleet();
  launch::Supervisor supervisor(*fleet, test_launch::make_layout(4),
                                test_launch::make_options("crash_in_cell", {}));

  const model::TrialRecord record = supervisor.run(spec);

  CHECK(record.outcome.kind == OutcomeKind::crashed);
  CHECK(record.outcome.ranks == std::vector{3});
  CHECK_THAT(record.outcome.reason, ContainsSubstring("rank 3 in cell 1"));
}

TEST_CASE("ranks that the launch does not have, or too few, are refused") {
  auto fleet = launch::make_local_fleet();
  launch::Supervisor supervisor(*fleet, test_launch::make_layout(4),
                                test_launch::make_options("good", {}));
  for (const std::vector<int>& ranks :
       {std::vector{0, 4}, std::vector{1, 1}, std::vector{-1, 0}, std::vector{2}}) {
    model::TrialSpec spec = make_spec(2, 1);
    spec.launch_ranks = ranks;

    CHECK(supervisor.run(spec).outcome.kind == OutcomeKind::failed);
  }
}

TEST_CASE("a trial's own choice of CPUs is set, and told by the workers themselves") {
  model::TrialSpec spec = make_spec(2, 1);
  const std::vector<int> allowed = base::allowed_cpus();
  spec.cpu_affinity = fmt::format("{}/{}", allowed.front(), allowed.back());

  LocalRun run = run_locally("good", spec);

  CHECK(run.record.outcome.ok());
  REQUIRE(run.record.workers.size() == 2);
  CHECK(run.record.workers[0].cpus == std::to_string(allowed.front()));
  for (const model::WorkerRecord& worker : run.record.workers)
    CHECK(worker.cpus_asked == worker.cpus);
  CHECK(base::allowed_cpus() == allowed);
}

TEST_CASE("a trial on CPUs that the job may not use is skipped with the reason") {
  model::TrialSpec spec = make_spec(2, 1);
  spec.cpu_affinity = "8000";

  LocalRun run = run_locally("good", spec);

  CHECK(run.record.outcome.kind == OutcomeKind::skipped);
  CHECK_THAT(run.record.outcome.reason,
             ContainsSubstring("cpu_affinity=8000") && ContainsSubstring("which this job may use"));
  REQUIRE(run.record.workers.size() == 2);
  CHECK(run.record.workers[0].cpus_asked.empty());
  CHECK(run.processes_left == 0);
}

TEST_CASE("a trial may start another worker program, of the same version only") {
  model::TrialSpec spec = make_spec(2, 1);
  spec.libraries = {{model::k_worker_program, NCCLPROBE_TEST_WORKERS "/good"}};

  LocalRun run = run_locally("exit_early", spec);

  CHECK(run.record.outcome.kind == OutcomeKind::failed); // it was started, and is version "test"
  CHECK_THAT(run.record.outcome.reason, ContainsSubstring("/good is of ncclprobe test"));
}

TEST_CASE("a worker that drives several ranks is one process") {
  LocalRun run = run_locally("good", make_spec(4, 2), 3);

  CHECK(run.record.outcome.ok());
  REQUIRE(run.record.workers.size() == 2);
  CHECK(run.record.workers[0].ranks == std::vector<int>{0, 1, 2});
  CHECK(run.record.cells[1].samples.size() == 8);
}

TEST_CASE("trials follow each other in the same supervisor, whatever happened before") {
  auto fleet = launch::make_local_fleet();
  launch::Supervisor supervisor(*fleet, test_launch::make_layout(2),
                                test_launch::make_options("crash_in_cell", {}));

  CHECK(supervisor.run(make_spec(2, 2, 0)).outcome.kind == OutcomeKind::crashed);
  CHECK(supervisor.run(make_spec(2, 2)).outcome.ok());
  CHECK(supervisor.run(make_spec(1, 1)).outcome.ok()); // fewer ranks than placements
  CHECK(supervisor.run(make_spec(3, 1)).outcome.kind == OutcomeKind::failed);
  CHECK(!supervisor.stopped());
}

TEST_CASE("a crash in a cell ends its peers at once and keeps what was finished") {
  LocalRun run = run_locally("crash_in_cell", make_spec(3, 3, 1));

  CHECK(run.record.outcome.kind == OutcomeKind::crashed);
  CHECK(run.record.outcome.ranks == std::vector<int>{1});
  CHECK(run.record.outcome.reason == "rank 1 in cell 1 (all_reduce 1K f32): ended with signal 11 "
                                     "(Segmentation fault), its last output: "
                                     "about to touch what is not ours");
  CHECK(run.record.cells[0].outcome.ok());
  CHECK(run.record.cells[0].samples.size() == 6);
  CHECK(run.record.cells[1].outcome == run.record.outcome);
  CHECK(run.record.cells[2].outcome.kind == OutcomeKind::not_run);
  CHECK(run.record.workers[1].exit == "signal 11 (Segmentation fault)");
  CHECK(run.record.workers[1].output_tail == "about to touch what is not ours\n");
  CHECK_THAT(run.record.workers[0].exit, ContainsSubstring("stopped: "));
  CHECK(run.seconds < 10); // not the peers' deadline of 20 s
  CHECK(run.processes_left == 0);
}

TEST_CASE("a hang in a cell ends at the deadline, though it ignores SIGTERM") {
  model::TrialSpec spec = make_spec(4, 3, 3);
  spec.cells[1].deadline_ns = 300'000'000;

  LocalRun run = run_locally("hang_in_cell", spec);

  CHECK(run.record.outcome.kind == OutcomeKind::timed_out);
  CHECK_THAT(run.record.outcome.reason,
             ContainsSubstring("rank 3 did not finish all_reduce 1K f32 within 300 ms (ranks 0-2 "
                               "did); ranks 0-3: all_reduce 1K f32; stack of rank 3: "
                               "hang_in_cell (S)"));
  CHECK(run.record.cells[0].outcome.ok());
  CHECK(run.record.cells[1].outcome.kind == OutcomeKind::timed_out);
  CHECK(run.record.cells[2].outcome.kind == OutcomeKind::not_run);
  CHECK(run.record.workers[3].exit == "stopped: signal 9 (Killed)");
  CHECK(run.processes_left == 0);
}

TEST_CASE("a hanging worker that still listens tells where it is") {
  model::TrialSpec spec = make_spec(3, 2, 1);
  spec.cells[1].deadline_ns = 300'000'000;
  spec.process.per_rank[1].push_back({"NCCL_ALGO", "Tree"});

  LocalRun run = run_locally("hang_and_answer", spec);

  CHECK(run.record.workers[1].position == "launch 7 of 20 of batch 2");
  CHECK(run.record.workers[1].stack == "ncclProxy\nmain");
  CHECK_THAT(
      run.record.outcome.reason,
      ContainsSubstring("rank 1: launch 7 of 20 of batch 2 of all_reduce 1K f32; stack of "
                        "rank 1: ncclProxy < main; probable cause: NCCL_ALGO differs between "
                        "ranks (mismatch): ranks 0,2: not set, rank 1: Tree"));
}

TEST_CASE("a stopped worker is a hang with that cause") {
  std::string token = test_launch::make_token();
  launch::SupervisorOptions options = test_launch::make_options("wait_in_cell", {token});
  model::TrialSpec spec = make_spec(1, 1);
  spec.cells[0].deadline_ns = 300'000'000;
  options.on_progress = [&](const launch::TrialProgress& progress) {
    for (pid_t pid : test_launch::processes_with(token))
      if (progress.phase == launch::WorkerPhase::cell)
        ::kill(pid, SIGSTOP);
  };
  auto fleet = launch::make_local_fleet();
  launch::Supervisor supervisor(*fleet, test_launch::make_layout(1), options);

  model::TrialRecord record = supervisor.run(spec);

  CHECK_THAT(record.outcome.reason, ContainsSubstring("rank 0 was stopped by a signal (SIGSTOP)"));
  CHECK(test_launch::processes_with(token).empty());
}

TEST_CASE("what a dead trial costs leaves the kernel three of the five seconds it may take") {
  launch::SupervisorOptions options;

  CHECK(options.where_wait + options.stop_wait + options.term_wait <= std::chrono::seconds(2));
}

TEST_CASE("a worker that survives SIGKILL ends the run, with its device lost") {
  launch::SupervisorOptions options = test_launch::make_options("hang_in_cell", {});
  options.kill_wait = std::chrono::milliseconds(0); // no kernel is that fast
  model::TrialSpec spec = make_spec(2, 2, 1);
  spec.cells[1].deadline_ns = 200'000'000;
  auto fleet = launch::make_local_fleet();
  launch::Supervisor supervisor(*fleet, test_launch::make_layout(2), options);

  model::TrialRecord record = supervisor.run(spec);
  model::TrialRecord next = supervisor.run(make_spec(2, 1));

  CHECK(record.outcome.kind == OutcomeKind::timed_out);
  CHECK_THAT(record.outcome.reason,
             ContainsSubstring("outlived SIGKILL: the device counts as lost"));
  CHECK(record.cells[0].outcome.ok());
  CHECK(record.workers[1].exit == "still alive after SIGKILL");
  CHECK(supervisor.stopped());
  CHECK_THAT(supervisor.why_stopped(), ContainsSubstring("the device counts as lost"));
  CHECK(next.outcome.kind == OutcomeKind::not_run);
}

TEST_CASE("a hanging worker's child ends with it") {
  model::TrialSpec spec = make_spec(2, 2, 0);
  spec.cells[1].deadline_ns = 300'000'000;

  LocalRun run = run_locally("hang_with_grandchild", spec);

  CHECK(run.record.outcome.kind == OutcomeKind::timed_out);
  CHECK(run.processes_left == 0);
}

TEST_CASE("a child that a good worker leaves behind ends with the trial") {
  LocalRun run = run_locally("leave_grandchild", make_spec(2, 1));

  CHECK(run.record.outcome.ok());
  CHECK(run.processes_left == 0);
}

TEST_CASE("a worker that ends before it says hello is a crash in start-up, for all cells") {
  LocalRun run = run_locally("exit_early", make_spec(2, 2, 1));

  CHECK(run.record.outcome.kind == OutcomeKind::crashed);
  CHECK(run.record.outcome.reason ==
        "rank 1 in start-up: ended with exit 3, its last output: cannot open libmissing.so");
  CHECK(run.record.cells[1].outcome == run.record.outcome);
  CHECK(run.record.workers[1].last_phase == "spawned");
  CHECK(run.record.startup_ns == 0);
}

TEST_CASE("a worker that leaves without its results is no success, whatever its exit code") {
  LocalRun run = run_locally("exit_without_done", make_spec(2, 2, 0));

  CHECK(run.record.outcome.kind == OutcomeKind::crashed);
  CHECK_THAT(run.record.outcome.reason,
             ContainsSubstring("rank 0 between cells: ended with exit 0"));
  CHECK(run.record.cells[0].outcome.ok());
  CHECK(run.record.cells[1].outcome.kind == OutcomeKind::crashed);
}

TEST_CASE("garbage on the channel is a failure that names the rank") {
  LocalRun run = run_locally("garbage", make_spec(2, 1, 1));

  CHECK(run.record.outcome.kind == OutcomeKind::failed);
  CHECK_THAT(run.record.outcome.reason,
             ContainsSubstring("rank 1 in start-up: does not follow the worker protocol"));
  CHECK(run.processes_left == 0);
}

TEST_CASE("a worker that floods its output neither blocks nor fails") {
  LocalRun run = run_locally("flood", make_spec(2, 1));

  CHECK(run.record.outcome.ok());
}

TEST_CASE("a failure that a worker reports is recorded with its words") {
  SECTION("in start-up") {
    LocalRun run = run_locally("fail", make_spec(2, 2, 1, "fail"));
    CHECK(run.record.outcome.kind == OutcomeKind::failed);
    CHECK(run.record.outcome.reason == "rank 1 in communicator_init: no socket interface found");
    CHECK(run.record.cells[1].outcome.kind == OutcomeKind::failed);
    CHECK(run.record.workers[1].exit == "exit 1");
  }
  SECTION("in a cell") {
    LocalRun run = run_locally("fail", make_spec(2, 3, 1, "in_cell"));
    CHECK(run.record.outcome.reason ==
          "rank 1 in cell 1 (all_reduce 1K f32): no socket interface found");
    CHECK(run.record.cells[0].outcome.ok());
    CHECK(run.record.cells[2].outcome.kind == OutcomeKind::not_run);
  }
  SECTION("as something that cannot be done here") {
    LocalRun run = run_locally("fail", make_spec(2, 2, 0, "skip"));
    CHECK(run.record.outcome ==
          model::Outcome{OutcomeKind::skipped, "no socket interface found", {0}});
  }
}

TEST_CASE("a rank that never joins an exchange misses the start-up deadline") {
  model::TrialSpec spec = make_spec(3, 1, 2);
  spec.startup_deadline_ns = 400'000'000;

  LocalRun run = run_locally("never_exchange", spec);

  CHECK(run.record.outcome.kind == OutcomeKind::timed_out);
  CHECK_THAT(run.record.outcome.reason, ContainsSubstring("not ready within 400 ms"));
  CHECK(run.processes_left == 0);
}

TEST_CASE("a teardown that does not end is recorded, and takes no result away") {
  model::TrialSpec spec = make_spec(2, 2, 0);
  spec.teardown_deadline_ns = 300'000'000;

  LocalRun run = run_locally("slow_teardown", spec);

  CHECK(run.record.outcome.kind == OutcomeKind::timed_out);
  CHECK_THAT(run.record.outcome.reason,
             ContainsSubstring("rank 0 did not exit within 300 ms of the last result; "));
  CHECK(run.record.cells[0].outcome.ok());
  CHECK(run.record.cells[1].outcome.ok());
  CHECK(run.record.cells[1].samples.size() == 4);
}

TEST_CASE("a crash is the cause even if its echo on other ranks is heard first") {
  LocalRun run = run_locally("echo_of_crash", make_spec(3, 1, 2));

  CHECK(run.record.outcome.kind == OutcomeKind::crashed);
  CHECK(run.record.outcome.ranks == std::vector<int>{2});
}

TEST_CASE("a worker program that is not there fails the trial, by name") {
  LocalRun run = run_locally("no_such_worker", make_spec(2, 1));

  CHECK(run.record.outcome.kind == OutcomeKind::failed);
  CHECK_THAT(run.record.outcome.reason, ContainsSubstring("no_such_worker"));
  CHECK(run.record.workers[0].exit == "not started");
}

TEST_CASE("nothing but descriptors 0 to 3 and default signals reaches a worker") {
  int leaked = ::open("/dev/null", O_RDONLY); // as MPI leaves its sockets
  auto handler = std::signal(SIGPIPE, SIG_IGN);
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, &before);

  LocalRun run = run_locally("describe_self", make_spec(1, 1));

  sigprocmask(SIG_SETMASK, &before, nullptr);
  std::signal(SIGPIPE, handler);
  ::close(leaked);
  // Descriptor 4 is the listing itself.
  CHECK(run.record.outcome.reason ==
        "rank 0 in start-up: descriptors 0 1 2 3 4; blocked 0; ignored 0; own group");
}

TEST_CASE(
    "a live worker's environment is the launching one less the launcher's, plus its settings") {
  std::string token = test_launch::make_token();
  launch::SupervisorOptions options = test_launch::make_options(
      "wait_in_cell", {token, "NCCL_DEBUG=WARN", "NCCL_ALGO=Tree", "OMPI_COMM_WORLD_RANK=0",
                       "PMIX_RANK=0", "UNUSUAL=x"});
  model::TrialSpec spec = make_spec(2, 1);
  spec.process.common = {{"NCCL_ALGO", "Ring"}};
  spec.process.per_rank[1] = {{"NCCL_HOSTID", "b"}};
  std::vector<std::vector<std::string>> environments;
  launch::Supervisor* running = nullptr;
  options.on_progress = [&](const launch::TrialProgress& progress) {
    if (progress.phase != launch::WorkerPhase::cell)
      return;
    for (pid_t pid : test_launch::processes_with(token))
      environments.push_back(test_launch::environment_of(pid));
    running->request_stop();
  };
  auto fleet = launch::make_local_fleet();
  launch::Supervisor supervisor(*fleet, test_launch::make_layout(2), options);
  running = &supervisor;

  supervisor.run(spec);

  // Each worker has a child with the same environment.
  std::vector<std::string> common{token, "NCCL_DEBUG=WARN", "UNUSUAL=x", "NCCL_ALGO=Ring"};
  std::vector<std::string> second = common;
  second.push_back("NCCL_HOSTID=b");
  CHECK(std::count(environments.begin(), environments.end(), common) == 2);
  CHECK(std::count(environments.begin(), environments.end(), second) == 2);
  CHECK(environments.size() == 4);
}

TEST_CASE("a stop request ends the trial as not run, fast, and no further trial runs") {
  std::string token = test_launch::make_token();
  launch::SupervisorOptions options = test_launch::make_options("hang_in_cell", {token});
  options.stop_wait = options.term_wait =
      std::chrono::seconds(30); // the fast ladder must not use these
  launch::Supervisor* running = nullptr;
  std::int64_t requested_ns = 0;
  options.on_progress = [&](const launch::TrialProgress& progress) {
    if (progress.cells_done != 1)
      return;
    requested_ns = base::monotonic_ns();
    running->request_stop();
  };
  auto fleet = launch::make_local_fleet();
  launch::Supervisor supervisor(*fleet, test_launch::make_layout(2), options);
  running = &supervisor;

  model::TrialRecord record = supervisor.run(make_spec(2, 3, 0));
  std::int64_t taken_ns = base::monotonic_ns() - requested_ns;
  model::TrialRecord next = supervisor.run(make_spec(2, 1));

  CHECK(record.outcome == model::Outcome{OutcomeKind::not_run, "interrupted", {}});
  CHECK(record.cells[0].outcome.ok());
  CHECK(record.cells[1].outcome.kind == OutcomeKind::not_run);
  CHECK(taken_ns < 800'000'000);
  CHECK(next.outcome.kind == OutcomeKind::not_run);
  CHECK(supervisor.stopped());
  CHECK(test_launch::processes_with(token).empty());
}
