// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D21, D25, D27.
#include "patient.h"

#include "support/catch.h"
#include "support/run_builder.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using model::OutcomeKind;
using support::make_cell;
using support::make_record;
using support::RunBuilder;
using test_doctor::found;
using test_doctor::healthy_case;
using test_doctor::value;
using test_doctor::what;
using test_doctor::worst;

TEST_CASE("a collective that runs with right data is the proof") {
  Case one = healthy_case();

  CHECK(worst(one, "D27") == CheckStatus::ok);
  CHECK(worst(one, "D21") == CheckStatus::ok);
  CHECK(worst(one, "D25") == CheckStatus::ok);
}

TEST_CASE("wrong data is a failure that names the ranks") {
  Case one = healthy_case();
  one.smoke_tests[0].cells[0].outcome = {
      OutcomeKind::wrong_data, "rank 1 element 5: 3 instead of 2", {1}};
  one.smoke_tests[0].outcome = one.smoke_tests[0].cells[0].outcome;

  auto findings = found(one, "D27");

  CHECK(findings.front().status == CheckStatus::fail);
  CHECK(findings.front().ranks == std::vector<int>{1});
}

TEST_CASE("a trial that died before its cells is a failure with the workers' last words") {
  Case one = healthy_case();
  one.smoke_tests[0].cells.clear();
  one.smoke_tests[0].outcome = {OutcomeKind::crashed, "rank 0: signal 11", {0}};
  one.smoke_tests[0].last_words = {"rank 0 on node01: Caught signal 11"};

  auto findings = found(one, "D27");

  CHECK(findings.front().status == CheckStatus::fail);
  CHECK(findings.front().evidence ==
        std::vector<std::string>{"rank 0: signal 11", "rank 0 on node01: Caught signal 11"});
}

TEST_CASE("a graph or a type that fails is a warning of its own, and none of the whole") {
  Case one = healthy_case();
  one.smoke_tests[0].cells[3].outcome = {OutcomeKind::failed, "capture is not permitted", {0, 1}};
  one.smoke_tests[0].cells[2].outcome = {OutcomeKind::skipped, "NCCL 2.20 has no f8e4m3", {0, 1}};

  CHECK(worst(one, "D27") == CheckStatus::ok);
  CHECK(worst(one, "D21") == CheckStatus::warn);
  CHECK(worst(one, "D25") == CheckStatus::info);
}

TEST_CASE("a reduction that fails is blamed on NCCL's age only where NCCL is that old") {
  Case one = healthy_case();
  one.smoke_tests[0].cells[2].outcome = {OutcomeKind::failed, "some words", {0}};
  CHECK(what(one, "D25").kind == "feature_fails");
  CHECK(value(what(one, "D25"), "least_nccl") == "-");

  for (model::Survey& survey : one.surveys)
    survey.inventory.libraries[2].version = "2.21.5";
  CHECK(value(what(one, "D25"), "least_nccl") == "2.24.3");
}

TEST_CASE("without a trial it is unknown whether anything runs") {
  Case one = healthy_case();
  one.smoke_tests.clear();
  one.not_tested = "--no-run";

  CHECK(worst(one, "D27") == CheckStatus::unknown);
}

TEST_CASE("a smoke test keeps of a trial what verdicts need") {
  auto run = RunBuilder::on_cpus(2);
  auto trial = run.trial().cell(make_cell("all_reduce", 1024),
                                make_record(OutcomeKind::wrong_data, "element 3", {1}));
  trial->cells[0].check = {true, 10, 1, "element 3", "", 1, ""};
  trial->workers = {{{1}, "node01", 7, "cell", 0, "exit 1", "NCCL WARN something", "", "", ""}};

  SmokeTest one = smoke_test_of(*trial, "2 ranks");

  CHECK(one.backend == "host");
  CHECK(one.cells.at(0).wrong == 1);
  CHECK_FALSE(one.cells.at(0).busbw_gb_per_s); // launched once
  CHECK(one.last_words == std::vector<std::string>{"rank 1 on node01: NCCL WARN something"});
}

TEST_CASE("a cell that was launched often enough has a bandwidth") {
  RunBuilder run(2);
  auto trial = run.trial().cell("all_reduce", 1'000'000, 10'000);
  model::Cell& cell = trial->spec.cells[0];
  cell.schedule.communicators = {{"world"}};
  cell.timing.iterations = 10;
  cell.timing.batches = 1;
  trial->cells[0].samples = {{0, 0, 10, 100'000}, {1, 0, 10, 100'000}}; // 10 us each

  CHECK(smoke_test_of(*trial, "all ranks").cells.at(0).busbw_gb_per_s == Approx(100.0));
}

TEST_CASE("what NCCL's log says of the network, and what it took of memory, is kept by rank") {
  auto log = [](int rank, const std::string& network) {
    return fmt::format("h:1:{} [0] NCCL INFO NET/Socket : Using [0]eth0:192.0.2.2<0>\n"
                       "h:1:{} [0] NCCL INFO Using network {}\n",
                       rank, rank, network);
  };
  model::TrialRecord record;
  record.evidence = {
      {0, log(0, "Socket"), "v5", {}}, {1, log(1, "Socket"), "v5", {}}, {2, "nothing", "v5", {}}};
  record.spec.backend = "nvidia";
  using What = model::MemoryUse::What;
  record.workers.resize(2);
  record.workers[0].memory = {{0, What::opened, 1 << 20}, {0, What::connected, 2 << 20}};
  record.workers[1].memory = {{1, What::opened, 1 << 20}, {1, What::connected, 3 << 20}};

  SmokeTest smoke_test = smoke_test_of(record, "all ranks");

  REQUIRE(smoke_test.networks.size() == 1);
  CHECK(smoke_test.networks[0].ranks == std::vector<int>{0, 1});
  CHECK(smoke_test.communicators == std::vector<CommunicatorMemory>{{0, 1 << 20}, {1, 2 << 20}});

  Case one = healthy_case();
  one.surveys[0].host->rdma.clear();
  one.smoke_tests = {smoke_test};
  std::vector<std::string> said;
  for (const char* id : {"D19", "D20"})
    for (const CheckResult& finding : found(one, id)) {
      CHECK(finding.status <= CheckStatus::info);
      said.push_back(finding.what.text);
    }
  CHECK(std::find(said.begin(), said.end(), "NCCL's network here: Socket over eth0") != said.end());
  CHECK(std::find(said.begin(), said.end(),
                  "connecting 0 ranks with NCCL takes 2 MiB of each GPU's memory") != said.end());
}

TEST_CASE("ranks that chose different networks cannot connect; sockets beside RDMA are told") {
  Case one = healthy_case();
  one.smoke_tests[0].networks = {{{0, 1}, "Socket", {"eth0"}, {"Using network Socket"}}};
  CHECK(worst(one, "D19") == CheckStatus::info);
  CHECK(found(one, "D19").front().what.kind == "sockets_despite_rdma");

  one.surveys[1].inventory.boot_id = "boot-2";
  CHECK(worst(one, "D19") == CheckStatus::warn);

  one.smoke_tests[0].networks = {{{0}, "Socket", {"eth0"}, {}}, {{1}, "IB", {"mlx5_0:1/IB"}, {}}};
  CheckResult worst = found(one, "D19").front();
  CHECK(worst.status == CheckStatus::fail);
  CHECK(worst.evidence ==
        std::vector<std::string>{"ranks 0: Socket over eth0", "ranks 1: IB over mlx5_0:1/IB"});
}

TEST_CASE("what connecting takes is told once, of the largest communicator that was made") {
  Case one = healthy_case();
  SmokeTest pair = one.smoke_tests[0];
  pair.name = "2 ranks";
  pair.communicators = {{0, std::uint64_t{500} << 20}, {1, std::uint64_t{500} << 20}};
  SmokeTest copies = one.smoke_tests[0];
  copies.name = k_copies;
  copies.ranks = 4;
  one.smoke_tests[0].ranks = 4;
  one.smoke_tests[0].communicators = {{0, std::uint64_t{380} << 20}, {3, std::uint64_t{388} << 20}};
  one.smoke_tests = {pair, one.smoke_tests[0], copies};
  auto told = [&] {
    std::vector<std::string> all;
    for (const CheckResult& finding : found(one, "D20"))
      if (finding.what.kind == "communicator_memory")
        all.push_back(finding.what.text);
    return all;
  };

  CHECK(told() == std::vector<std::string>{
                      "connecting 4 ranks with NCCL takes 388 MiB of each GPU's memory"});

  one.smoke_tests = {copies};
  one.smoke_tests[0].communicators = {{0, 0}, {1, 0}}; // as older versions stored it
  CHECK(told().empty());
}

TEST_CASE("a trial that connects nothing tells nothing of what connecting takes") {
  model::TrialRecord record;
  record.spec.backend = "nvidia";
  record.workers.resize(1);
  using What = model::MemoryUse::What;
  record.workers[0].memory = {{0, What::opened, 1 << 20}, {0, What::connected, 1 << 20}};

  CHECK(smoke_test_of(record, k_copies).communicators.empty());
}

TEST_CASE("what NCCL's log says of its choices is told by size") {
  model::TrialRecord record;
  record.evidence = {
      {0,
       "h:1:1 [0] NCCL INFO AllReduce: 536870912 Bytes -> Algo NVLS proto SIMPLE "
       "channel{Lo..Hi}={0..15}\n"
       "h:1:1 [0] NCCL INFO AllReduce: 65536 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}\n",
       "v5",
       {}},
      {1,
       "h:1:2 [1] NCCL INFO AllReduce: 65536 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}\n",
       "v5",
       {}}};
  Case one = healthy_case();
  CHECK(found(one, "D23").empty());

  one.smoke_tests[0].algorithms = smoke_test_of(record, "all ranks").algorithms;

  REQUIRE(found(one, "D23").size() == 1);
  CheckResult finding = found(one, "D23").front();
  CHECK(finding.status == CheckStatus::info);
  CHECK(finding.what.kind == "algorithms");
  CHECK(value(finding.what, "where") == "on all ranks (2 ranks)");
  CHECK(value(finding.what, "choices") == "AllReduce 64 KiB RING/LL, 512 MiB NVLS/SIMPLE");
  CHECK(finding.evidence ==
        std::vector<std::string>{"AllReduce of 65536 bytes: RING/LL, 4 channels",
                                 "AllReduce of 536870912 bytes: NVLS/SIMPLE, 16 channels"});
}

TEST_CASE("choices of several functions are kept apart, and numbers of older logs left out") {
  Case one = healthy_case();
  one.smoke_tests[0].algorithms = {{"Broadcast", 64 << 10, "RING", "LL", 0},
                                   {"AllReduce", 64 << 10, "RING", "LL", 0},
                                   {"AllReduce", 1 << 20, "1", "0", 0}};
  REQUIRE(found(one, "D23").size() == 1);
  CHECK(value(found(one, "D23").front().what, "choices") ==
        "AllReduce 64 KiB RING/LL, Broadcast 64 KiB RING/LL");
  CHECK(found(one, "D23").front().evidence.size() == 2);

  one.smoke_tests[0].algorithms.erase(one.smoke_tests[0].algorithms.begin(),
                                      one.smoke_tests[0].algorithms.begin() + 2);
  CHECK(found(one, "D23").empty());
}
