// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "jobs.h"

#include "analysis/hang/hang_report.h"
#include "analysis/report_value/report_writers.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/json_schema.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::hang;

namespace {

Report report_of(const MadeJob& made, const LiveAnswers& live = {}) {
  return hang_report({{"job/", made.job, made.judged()}}, live);
}

std::string id_of(const Report& report) {
  return std::string(findings(report).at(0)->kind->id);
}

MadeJob missing_rank() {
  MadeJob made(3);
  made.collective({0, 1, 2}, CallState::ended, "all_reduce", 0, 1 << 24);
  made.collective({0, 1}, CallState::running, "all_reduce", 0, 1 << 24).where = {
      "train.py:83 (step)", "train.py:120 (main)"};
  made.job.ranks[2].state = ProcessState::gone;
  made.job.remarks.emplace_back("x.spool is not a trace spool");
  return made;
}

MadeJob living_rank() {
  MadeJob made = missing_rank();
  made.job.ranks[2].state = ProcessState::alive;
  return made;
}

MadeJob without_record() {
  MadeJob lost = missing_rank();
  lost.forget(2);
  lost.job.groups[0].ranks[2] = -1;
  return lost;
}

MadeJob mismatched() {
  MadeJob made(3);
  made.collective({0, 1}, CallState::running, "all_reduce");
  made.collective({2}, CallState::running, "all_gather");
  made.collective({0, 1}, CallState::queued, "all_gather");
  made.message(0, CallKind::send, 1, CallState::queued);
  return made;
}

LiveAnswers answers() {
  const std::vector<std::string> sleeps{"clock_nanosleep (libc.so.6)",
                                        "step<>(int) (train)",
                                        "main (train)",
                                        "a (libc.so.6)",
                                        "b (libc.so.6)",
                                        "c (libc.so.6)",
                                        "d (libc.so.6)"};
  return {.ras = {"RAS: \x1b[31mlost"},
          .stacks = {{2, 4711, "", {{4711, "train", sleeps}, {4712, "cuda\x1b[31m", {}}}},
                     {3, 4720, "", {{4720, "train", {}}}},
                     {4, 4730, "the stacks of process 4730 cannot be read: not allowed", {}}}};
}

} // namespace

TEST_CASE("each verdict has its sentence") {
  MadeJob none(2);
  CHECK(id_of(report_of(none)) == "empty");
  none.collective({0, 1}, CallState::ended);
  CHECK(id_of(report_of(none)) == "outside");
  none.collective({0, 1}, CallState::unknown);
  CHECK(id_of(report_of(none)) == "ends_unknown");
  none.collective({0, 1}, CallState::running);
  CHECK(id_of(report_of(none)) == "transfer");
  none.collective({0, 1}, CallState::running).at_ns = 99'000'000'000;
  CHECK(id_of(report_of(missing_rank())) == "not_called");
  CHECK(id_of(report_of(mismatched())) == "mismatch");
  MadeJob busy(2);
  busy.collective({0}, CallState::running);
  busy.collective({1}, CallState::queued);
  CHECK(id_of(report_of(busy)) == "not_begun");
  MadeJob young(1);
  young.collective({0}, CallState::running).at_ns = 99'000'000'000;
  CHECK(id_of(report_of(young)) == "in_progress");
  MadeJob alone(2);
  alone.message(0, CallKind::send, 1, CallState::running);
  CHECK(id_of(report_of(alone)) == "unmatched_message");
}

TEST_CASE("stacks are looked at of those for which others wait, if they live here") {
  MadeJob made = living_rank();
  CHECK(ranks_to_look_at(made.job, made.judged(), 8).empty()); // on another host
  made.job.ranks[0].here = 4710;                               // waits
  made.job.ranks[2].here = 4712;
  CHECK(ranks_to_look_at(made.job, made.judged(), 8) == std::vector<std::size_t>{2});
  CHECK(ranks_to_look_at(made.job, made.judged(), 0).empty());
  MadeJob idle(2);
  idle.job.ranks[1].here = 1;
  CHECK(ranks_to_look_at(idle.job, idle.judged(), 8).empty());
}

TEST_CASE("a hang is shown with its evidence") {
  std::string text;
  for (const MadeJob& made : {missing_rank(), living_rank(), mismatched(), without_record()})
    text += write_text(report_of(made, answers())) + "\n";
  support::check_golden("hang.txt", text);
}

TEST_CASE("the JSON of a hang has the fields and types of its schema") {
  support::JsonSchema schema;
  schema.add_names("severity", Severity{});
  schema.add_names("cause", Cause{});
  schema.add_names("argument", Argument{});
  schema.add_names("process_state", ProcessState{});
  MadeJob named = mismatched();
  named.job.ranks[0].calls[0].algorithm = "RING";
  named.job.ranks[0].calls[0].protocol = "LL";
  named.job.ranks[0].calls[0].data_type.clear();
  for (const MadeJob& made : {MadeJob(2), missing_rank(), without_record(), mismatched(), named})
    schema.add(written(report_of(made, answers()), Format::json));
  support::check_document("docs/schemas/hang.json", schema.text("ncclprobe hang --format json"));
}
