// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trial_lab.h"

#include "launch/supervisor/autopsy.h"
#include "support/catch.h"
#include "wire/message.h"

using namespace ncclprobe;
using namespace ncclprobe::launch;

namespace {

// Four ranks, a worker each; where they are is up to the test.
struct Scene {
  model::TrialSpec spec = test_launch::make_spec(4, 2);
  Trouble cause{Trouble::Kind::timed_out,       "", {3},
                WorkerPhase::communicator_init, -1, 1'000'000'000};
  std::vector<int> stuck{0, 1, 2, 3};
  std::vector<TrialReport> reports{TrialReport{}};

  explicit Scene(WorkerPhase phase, int cell = -1) {
    for (int rank = 0; rank < 4; ++rank) {
      WorkerReport worker;
      worker.record.ranks = {rank};
      worker.ranks = {{rank, phase, cell, {}, {}}};
      worker.state = "S";
      reports[0].workers.push_back(worker);
    }
    cause.cell = cell;
  }
  WorkerReport& worker(int rank) { return reports[0].workers.at(static_cast<std::size_t>(rank)); }
  std::string cause_found() const { return probable_cause(cause, stuck, spec, reports); }
  std::string words() const { return autopsy(cause, stuck, spec, reports); }
};

} // namespace

TEST_CASE("a rank that never became ready is the cause, not those that wait for it") {
  Scene scene(WorkerPhase::ready);
  scene.worker(2).ranks[0].phase = WorkerPhase::started;

  CHECK(scene.cause_found() == "rank 2 never became ready, the others wait");
}

TEST_CASE("a stopped worker and one that hangs in the kernel are seen from outside") {
  Scene stopped(WorkerPhase::cell, 1);
  stopped.worker(1).state = "T";
  Scene in_kernel(WorkerPhase::cell, 1);
  in_kernel.worker(0).state = in_kernel.worker(3).state = "D";

  CHECK(stopped.cause_found() == "rank 1 was stopped by a signal (SIGSTOP) or a debugger");
  CHECK(in_kernel.cause_found() ==
        "ranks 0,3 hang in the kernel (state D): driver, GPU or file system");
}

TEST_CASE("a setting that ranks do not agree on is named with its values") {
  Scene scene(WorkerPhase::communicator_init);
  for (int rank = 0; rank < 4; ++rank)
    scene.worker(rank).nccl_settings = {{"NCCL_HOSTID", std::to_string(rank)},
                                        {"NCCL_ALGO", rank < 2 ? "Ring" : "Tree"}};
  CHECK(scene.cause_found() ==
        "NCCL_ALGO differs between ranks (mismatch): ranks 0,1: Ring, ranks 2,3: Tree");

  scene.worker(3).nccl_settings.pop_back();
  CHECK(scene.cause_found() == "NCCL_ALGO differs between ranks (mismatch): ranks 0,1: Ring, rank "
                               "2: Tree, rank 3: not set");
}

TEST_CASE("variables that say where a rank is may differ") {
  Scene scene(WorkerPhase::communicator_init);
  scene.worker(0).nccl_settings = {{"NCCL_HOSTID", "a"}, {"NCCL_SOCKET_IFNAME", "eth0"}};

  CHECK(scene.cause_found() == "unknown: see the stacks of the workers");
}

TEST_CASE("a rank that the others wait for in the communicator's start is named") {
  Scene scene(WorkerPhase::communicator_init);
  for (int rank : {0, 1, 3})
    scene.worker(rank).waits_in = "world";

  CHECK(scene.cause_found() == "rank 2 did not reach the point where ranks 0,1,3 wait");
}

TEST_CASE("NCCL's words about the network lead to the variable that helps") {
  std::string words = GENERATE("Bootstrap : no socket interface found",
                               "socketProgress: Connection refused", "Connection timed out");
  Scene scene(WorkerPhase::communicator_init);
  scene.worker(1).record.output_tail = "one\nnode1:7:7 [0] NCCL WARN " + words + "\nlast\n";

  CHECK_THAT(scene.cause_found(), ContainsSubstring("set NCCL_SOCKET_IFNAME"));
  CHECK_THAT(scene.cause_found(), ContainsSubstring("rank 1 said: node1:7:7 [0] NCCL WARN"));
}

TEST_CASE("ranks that finished an operation leave those that did not as the suspects") {
  Scene scene(WorkerPhase::cell, 1);
  scene.stuck = {2};

  CHECK(scene.cause_found() ==
        "rank 2 or its connection to the others, which finished this operation");
  for (int rank : {0, 1, 3}) // they only wait to leave
    scene.worker(rank).waits_in = wire::k_leave_key;
  CHECK(scene.cause_found() ==
        "rank 2 or its connection to the others, which finished this operation");
}

TEST_CASE("what fits no rule is unknown") {
  CHECK(Scene(WorkerPhase::cell, 1).cause_found() == "unknown: see the stacks of the workers");
}

TEST_CASE("the autopsy tells where each group is, with stacks and last NCCL lines of the stuck") {
  Scene scene(WorkerPhase::cell, 1);
  scene.stuck = {2};
  for (int rank : {0, 1, 3}) {
    scene.worker(rank).ranks[0].phase = WorkerPhase::done;
    scene.worker(rank).record.stack = "not told";
  }
  scene.worker(2).record.position = "launch 12 of 20 of batch 3";
  scene.worker(2).record.stack = "poll\nncclProxyProgress\nstart_thread\nclone\nfifth";
  scene.worker(2).record.output_tail = "host:1 NCCL INFO first\nhost:1 NCCL INFO second\nother\n";

  CHECK(scene.words() ==
        "; ranks 0,1,3: teardown, rank 2: launch 12 of 20 of batch 3 of all_reduce 1K f32"
        "; stack of rank 2: poll < ncclProxyProgress < start_thread < clone"
        "; last NCCL line of rank 2: host:1 NCCL INFO second"
        "; probable cause: rank 2 or its connection to the others, which finished this operation");
}

TEST_CASE("each phase has words that a user knows") {
  model::TrialSpec spec = test_launch::make_spec(1, 2);
  model::WorkerRecord worker;
  auto words = [&](WorkerPhase phase, int cell) {
    return phase_in_words({0, phase, cell, {}, {}}, worker, spec);
  };

  CHECK(words(WorkerPhase::spawned, -1) == "spawned");
  CHECK(words(WorkerPhase::ready, -1) == "device ready");
  CHECK(words(WorkerPhase::communicator_init, -1) == "communicator init");
  CHECK(words(WorkerPhase::cell, 1) == "all_reduce 1K f32");
  CHECK(words(WorkerPhase::teardown, 1) == "teardown");
  worker.position = "warm-up 2 of 5";
  CHECK(words(WorkerPhase::cell, 1) == "warm-up 2 of 5 of all_reduce 1K f32");
}

TEST_CASE("ranks of several hosts that all wait have no way between the hosts") {
  Scene scene(WorkerPhase::cell, 1);
  for (int rank : {0, 1})
    scene.worker(rank).record.host = "alpha";
  for (int rank : {2, 3})
    scene.worker(rank).record.host = "beta";

  CHECK_THAT(scene.cause_found(), ContainsSubstring("no data comes through between alpha, beta"));
  scene.reports[0].workers.resize(2);
  scene.stuck = {0, 1};
  scene.cause.reason = "no report from the supervisors of ranks 2,3 on beta";
  CHECK_THAT(scene.cause_found(), ContainsSubstring("sent no report, the network to it, or"));
}

TEST_CASE("a rank whose peers on other hosts got through is looked at first") {
  Scene scene(WorkerPhase::cell, 1);
  for (int rank : {0, 1, 2, 3})
    scene.worker(rank).record.host = rank < 2 ? "alpha" : "beta";
  scene.stuck = {3};
  CHECK_THAT(scene.cause_found(), ContainsSubstring("rank 3 or its connection"));
}
