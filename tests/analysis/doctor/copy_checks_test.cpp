// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "patient.h"

#include "analysis/doctor/diagnosis.h"
#include "model/cell_label.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using model::OutcomeKind;
using test_doctor::found;
using test_doctor::healthy_case;
using test_doctor::value;
using test_doctor::worst;

namespace {

SmokeTestCell copy(int from, int to) {
  SmokeTestCell cell;
  model::P2pLabel label;
  label.transfers = {{{false, from}, {false, to}}};
  cell.label = {.what = label, .bytes = 4 << 20, .type = model::DataType::u64};
  return cell;
}

// The last trial of all.
Case with_copies(model::Outcome outcome, std::vector<SmokeTestCell> cells) {
  Case one = healthy_case();
  SmokeTest copies;
  copies.name = k_copies;
  copies.backend = "nvidia";
  copies.ranks = 2;
  copies.outcome = std::move(outcome);
  copies.cells = std::move(cells);
  one.smoke_tests.push_back(copies);
  return one;
}

} // namespace

TEST_CASE("copies that all arrive are well, and are no all-reduce") {
  Case one = with_copies({}, {copy(0, 1), copy(1, 0)});

  CHECK(worst(one, "D36") == CheckStatus::ok);
  CHECK(worst(one, "D27") == CheckStatus::ok);
  bool told = false;
  for (const CheckResult& finding : found(one, "D36"))
    told = told || (finding.what.kind == "copies_right" && value(finding.what, "copies") == "2");
  CHECK(told);
}

TEST_CASE("a pair whose data is wrong is named") {
  SmokeTestCell bad = copy(1, 0);
  bad.outcome = {OutcomeKind::wrong_data, "rank 0 element 5: 3 instead of 2", {0}};
  bad.first_wrong = "rank 0 element 5: 3 instead of 2";

  CheckResult worst = found(with_copies(bad.outcome, {copy(0, 1), bad}), "D36").front();

  CHECK(worst.status == CheckStatus::fail);
  CHECK(worst.what.kind == "copies_wrong");
  CHECK(worst.evidence == std::vector<std::string>{"GPU of rank 1 to GPU of rank 0: rank 0 element "
                                                   "5: 3 instead of 2"});

  CHECK(worst.may_be_of.empty()); // no finding could explain it
  Case one = with_copies(bad.outcome, {copy(0, 1), bad});
  CHECK(diagnose(one, examine(one)).root == "D36");
}

TEST_CASE("a pair that fails is named, and what came after it is not") {
  SmokeTestCell bad = copy(0, 1);
  bad.outcome = {OutcomeKind::failed, "invalid device", {0}};
  SmokeTestCell later = copy(1, 0);
  later.outcome = {OutcomeKind::not_run, "", {}};

  auto findings = found(with_copies(bad.outcome, {bad, later}), "D36");

  CHECK(findings.front().status == CheckStatus::fail);
  CHECK(findings.front().evidence ==
        std::vector<std::string>{"GPU of rank 0 to GPU of rank 1: failed invalid device"});
}

TEST_CASE("a trial of copies that does not start says why; one that cannot be is no failure") {
  Case dead = with_copies({OutcomeKind::crashed, "rank 0: signal 11", {0}}, {});
  CHECK(found(dead, "D36").front().evidence == std::vector<std::string>{"rank 0: signal 11"});
  CHECK(found(dead, "D36").front().status == CheckStatus::fail);
  CHECK(found(dead, "D36").front().what.kind == "copies_not_tried");
  CHECK(worst(dead, "D27") == CheckStatus::ok);

  SmokeTestCell untried = copy(0, 1);
  untried.outcome = {OutcomeKind::skipped, "no CUDA IPC in this container", {0}};
  CHECK(worst(with_copies(untried.outcome, {untried}), "D36") == CheckStatus::info);
  CHECK(worst(with_copies({OutcomeKind::skipped, "no CUDA IPC", {0}}, {}), "D36") ==
        CheckStatus::info);
}

TEST_CASE("what failed before the first copy is no failure of copies") {
  const model::Outcome failed{OutcomeKind::failed, "rank 0 while connecting: some words", {0}};
  SmokeTestCell first = copy(0, 1);
  SmokeTestCell second = copy(1, 0);
  first.outcome = second.outcome = failed;

  for (const CheckResult& finding : found(with_copies(failed, {first, second}), "D36"))
    CHECK(finding.what.kind != "copies_fail");
}
