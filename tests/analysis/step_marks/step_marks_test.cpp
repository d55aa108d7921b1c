// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/step_marks/step_marks.h"
#include "analysis/steps/step_builder.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::steps;
using namespace ncclprobe::analysis_test;

namespace {

std::vector<model::Mark> marks_of_two_steps(const model::Schedule& schedule) {
  std::vector<model::Mark> marks;
  for (int rank : {1, 2})
    for (int iteration : {0, 1})
      add_step(marks, schedule, rank, 0, iteration, {});
  return marks;
}

std::string refusal(const model::Schedule& schedule, const std::vector<model::Mark>& marks) {
  auto read = read_steps(schedule, 4, marks);
  REQUIRE_FALSE(read.has_value());
  return read.error().message;
}

} // namespace

TEST_CASE("A schedule's markers become stretches with what they wait for") {
  auto plan = plan_of(step_schedule({1, 2}), 4);

  REQUIRE(plan.has_value());
  CHECK(plan->ranks == std::vector{1, 2});
  REQUIRE(plan->stretches.size() == 6);
  CHECK(plan->stretches[2].label == "bucket 0");
  CHECK(plan->stretches[2].ready_after == std::vector{1}); // backward 1
  CHECK(plan->stretches[2].groups == std::vector<std::vector<int>>{{1, 2}});
  CHECK(plan->stretches[4].ready_after == std::vector{3}); // backward 2
  CHECK(plan->stretches[5].ready_after == std::vector{4}); // the optimizer: bucket 1
  CHECK(plan->stretches[5].groups.empty());
}

TEST_CASE("Marks become steps that follow one another") {
  auto schedule = step_schedule({1, 2});

  auto cell = read_steps(schedule, 4, marks_of_two_steps(schedule));

  REQUIRE(cell.has_value());
  REQUIRE(cell->steps.size() == 4);
  // forward 100, backward 200, bucket 1 to 360, optimizer 50, idle 10
  CHECK(cell->steps[0].window == Span{0, 420});
  CHECK(cell->steps[1].window == Span{420, 840});
  CHECK(cell->steps[2].rank == 2);
  REQUIRE(cell->steps[1].stretches.size() == 6);
  CHECK(cell->steps[1].stretches[2].span == Span{620, 700});
}

TEST_CASE("Of a step that is a graph the last one of each batch is marked") {
  auto schedule = step_schedule({1, 2});
  std::vector<model::Mark> marks;
  for (int rank : {1, 2})
    for (int batch : {0, 1})
      add_step(marks, schedule, rank, batch, 9, {});
  CHECK_THAT(refusal(schedule, marks), ContainsSubstring("where step 0's"));

  schedule.capture = schedule.timed;
  auto cell = read_steps(schedule, 4, marks);

  REQUIRE(cell.has_value());
  REQUIRE(cell->steps.size() == 4);
  CHECK(cell->steps[1].batch == 1);
  CHECK(cell->steps[1].iteration == 9);
  CHECK(cell->steps[1].window.length() == 420);
}

TEST_CASE("The order in which marks were stored does not matter") {
  auto schedule = step_schedule({1, 2});
  auto marks = marks_of_two_steps(schedule);
  std::reverse(marks.begin(), marks.end());

  auto cell = read_steps(schedule, 4, marks);

  REQUIRE(cell.has_value());
  CHECK(cell->steps[1].window == Span{420, 840});
}

TEST_CASE("Damaged marks are refused with the reason") {
  auto schedule = step_schedule({1, 2});
  auto marks = marks_of_two_steps(schedule);

  SECTION("one is missing in the middle") {
    marks.erase(marks.begin() + 3);
    CHECK_THAT(refusal(schedule, marks), ContainsSubstring("rank 1, batch 0, step 0: a mark of"));
  }
  SECTION("the last one is missing") {
    marks.pop_back();
    CHECK_THAT(refusal(schedule, marks), ContainsSubstring("(\"step end\")"));
  }
  SECTION("one is there twice") {
    marks.push_back(marks[2]);
    CHECK_THAT(refusal(schedule, marks), ContainsSubstring("is expected"));
  }
  SECTION("a clock that runs backwards") {
    marks[2].at_ns = -5;
    CHECK_THAT(refusal(schedule, marks), ContainsSubstring("5 ns before what precedes it"));
  }
  SECTION("a rank has fewer steps") {
    std::erase_if(marks, [](const model::Mark& m) { return m.rank == 2 && m.iteration == 1; });
    CHECK(refusal(schedule, marks) == "rank 2 has 1 steps, rank 1 has 2");
  }
  SECTION("a rank has none") {
    std::erase_if(marks, [](const model::Mark& m) { return m.rank == 2; });
    CHECK(refusal(schedule, marks) == "rank 2 has no marks");
  }
  SECTION("a rank that looks on has some") {
    marks.push_back({.rank = 3});
    CHECK(refusal(schedule, marks) == "rank 3 has marks, and does not train");
  }
}

TEST_CASE("Markers that do not follow the convention are refused") {
  auto schedule = step_schedule({1, 2});
  auto marker = [&](std::size_t i) -> model::MarkerOp& {
    return std::get<model::MarkerOp>(schedule.operations[i].what);
  };

  SECTION("no step") {
    marker(0).label = "begin";
    CHECK_THAT(plan_of(schedule, 4).error().message, ContainsSubstring("no marker \"step\""));
  }
  SECTION("an end of another stretch") {
    marker(3).label = "backward 1";
    CHECK_THAT(plan_of(schedule, 4).error().message,
               ContainsSubstring("the end of \"backward 1\" where \"forward\" runs"));
  }
  SECTION("an end without a begin") {
    schedule.operations.erase(schedule.operations.begin() + 1);
    --schedule.timed.last;
    CHECK_THAT(plan_of(schedule, 4).error().message, ContainsSubstring("never began"));
  }
  SECTION("a step without an end") {
    schedule.operations.push_back({model::MarkerOp{0, "step"}, {1, 2}});
    ++schedule.timed.last;
    CHECK_THAT(plan_of(schedule, 4).error().message, ContainsSubstring("no marker \"step end\""));
  }
  SECTION("a second step of other ranks") {
    schedule.operations.push_back({model::MarkerOp{0, "step"}, {1}});
    ++schedule.timed.last;
    CHECK_THAT(plan_of(schedule, 4).error().message, ContainsSubstring("of other ranks"));
  }
  SECTION("a begin without an end") {
    marker(3) = {.label = "x"};
    CHECK_THAT(plan_of(schedule, 4).error().message,
               ContainsSubstring("begins in another stretch"));
  }
}

TEST_CASE("Who sends and receives cannot tell whom it waited for") {
  auto schedule = step_schedule({1, 2});
  for (auto& operation : schedule.operations)
    if (std::holds_alternative<model::CollectiveOp>(operation.what))
      operation.what = model::SendOp{.stream = 1};

  auto plan = plan_of(schedule, 4);

  REQUIRE(plan.has_value());
  CHECK(plan->stretches[2].groups.empty());
}
