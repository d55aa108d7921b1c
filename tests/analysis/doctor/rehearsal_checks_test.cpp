// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D21, D25, D27.
#include "patient.h"

#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using model::OutcomeKind;
using test_doctor::found;
using test_doctor::healthy_case;
using test_doctor::worst;

TEST_CASE("a collective that runs with right data is the proof") {
  Case one = healthy_case();

  CHECK(worst(one, "D27") == Severity::ok);
  CHECK(worst(one, "D21") == Severity::ok);
  CHECK(worst(one, "D25") == Severity::ok);
}

TEST_CASE("wrong data is a failure that names the ranks") {
  Case one = healthy_case();
  one.rehearsals[0].cells[0].outcome = {
      OutcomeKind::wrong_data, "rank 1 element 5: 3 instead of 2", {1}};
  one.rehearsals[0].outcome = one.rehearsals[0].cells[0].outcome;

  auto findings = found(one, "D27");

  CHECK(findings.front().severity == Severity::fail);
  CHECK(findings.front().ranks == std::vector<int>{1});
}

TEST_CASE("a trial that died before its cells is a failure with the workers' last words") {
  Case one = healthy_case();
  one.rehearsals[0].cells.clear();
  one.rehearsals[0].outcome = {OutcomeKind::crashed, "rank 0: signal 11", {0}};
  one.rehearsals[0].last_words = {"rank 0 on node01: Caught signal 11"};

  auto findings = found(one, "D27");

  CHECK(findings.front().severity == Severity::fail);
  CHECK(findings.front().evidence ==
        std::vector<std::string>{"rank 0: signal 11", "rank 0 on node01: Caught signal 11"});
}

TEST_CASE("a graph or a type that fails is a warning of its own, and none of the whole") {
  Case one = healthy_case();
  one.rehearsals[0].cells[3].outcome = {OutcomeKind::failed, "capture is not permitted", {0, 1}};
  one.rehearsals[0].cells[2].outcome = {OutcomeKind::skipped, "NCCL 2.20 has no f8e4m3", {0, 1}};

  CHECK(worst(one, "D27") == Severity::ok);
  CHECK(worst(one, "D21") == Severity::warn);
  CHECK(worst(one, "D25") == Severity::info);
}

TEST_CASE("without a trial it is unknown whether anything runs") {
  Case one = healthy_case();
  one.rehearsals.clear();
  one.not_rehearsed = "--no-run";

  CHECK(worst(one, "D27") == Severity::unknown);
}

TEST_CASE("a rehearsal keeps of a trial what verdicts need") {
  model::TrialRecord record;
  record.spec.backend = "host";
  record.spec.ranks = 2;
  record.spec.cells.resize(1);
  record.spec.cells[0].label.workload = "all_reduce";
  record.cells.resize(1);
  record.cells[0].check = {model::CheckResult::Kind::checked, 10, 1, "element 3", "", 1, ""};
  record.outcome = {OutcomeKind::wrong_data, "element 3", {1}};
  record.workers = {{{1}, "node01", 7, "cell", 0, "exit 1", "NCCL WARN something", "", "", ""}};

  Rehearsal one = rehearsal_of(record, "2 ranks");

  CHECK(one.backend == "host");
  CHECK(one.cells.at(0).wrong == 1);
  CHECK(one.last_words == std::vector<std::string>{"rank 1 on node01: NCCL WARN something"});
}
