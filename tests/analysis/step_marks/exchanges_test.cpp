// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/step_marks/step_figures.h"
#include "support/catch.h"
#include "workload/models/catalogue.h"
#include "workload/pipeline_step.h"

#include <map>
#include <numeric>

using namespace ncclprobe;
using namespace ncclprobe::analysis::steps;
using model::Activity;

namespace {

enum ExchangeStream { k_computing, k_exchanging };

// A schedule stretch by stretch; each rank has its own, as the stages of a pipeline have.
class Builder {
public:
  Builder(int ranks) {
    for (int rank = 0; rank < ranks; ++rank)
      all_.push_back(rank);
    schedule_.streams = {{"compute"}, {"communication"}};
    schedule_.communicators = {{"all", {}}};
    add(model::MarkerOp{k_computing, "step"}, {});
  }
  template <typename... Op>
  void stretch(int rank, const char* label, Activity activity, Op... what) {
    int stream = activity == Activity::communication ? k_exchanging : k_computing;
    add(model::MarkerOp{stream, label, activity, model::MarkerEdge::begin}, {rank});
    (add(what, {rank}), ...);
    add(model::MarkerOp{stream, label, activity, model::MarkerEdge::end}, {rank});
  }
  model::Schedule take() {
    add(model::MarkerOp{k_computing, "step end"}, {});
    schedule_.timed = {0, static_cast<int>(schedule_.operations.size())};
    return schedule_;
  }

private:
  template <typename Op>
  void add(Op op, std::vector<int> ranks) {
    schedule_.operations.push_back({std::move(op), ranks.empty() ? all_ : std::move(ranks)});
  }
  model::Schedule schedule_;
  std::vector<int> all_;
};

model::SendOp send(int to) {
  return {.stream = k_exchanging, .count = 4, .to = {model::Peer::Kind::absolute, to}};
}
model::RecvOp receive(int from) {
  return {.stream = k_exchanging, .count = 4, .from = {model::Peer::Kind::absolute, from}};
}
constexpr model::GroupBeginOp k_group;
constexpr model::GroupEndOp k_end;

using Labelled = std::map<std::string, Span>; // by label

// Marks of one step with these stretches, and its end.
std::vector<model::Mark> marks_of(const model::Schedule& schedule,
                                  const std::map<int, Labelled>& spans, std::int64_t end_ns) {
  std::vector<model::Mark> marks;
  for (const auto& [rank, of_rank] : spans)
    for (std::size_t i = 0; i < schedule.operations.size(); ++i) {
      const auto* marker = std::get_if<model::MarkerOp>(&schedule.operations[i].what);
      if (marker == nullptr || !model::names_rank(schedule.operations[i].ranks, rank))
        continue;
      std::int64_t at_ns = 0;
      if (marker->edge == model::MarkerEdge::begin)
        at_ns = of_rank.at(marker->label).begin;
      else if (marker->edge == model::MarkerEdge::end)
        at_ns = of_rank.at(marker->label).end;
      else if (marker->label == "step end")
        at_ns = end_ns;
      marks.push_back({rank, 0, 0, static_cast<int>(i), at_ns});
    }
  return marks;
}

StepFigures figures_of(const model::Schedule& schedule, int ranks,
                       const std::map<int, Labelled>& spans, std::int64_t end_ns) {
  auto figures = step_figures(schedule, ranks, marks_of(schedule, spans, end_ns));
  REQUIRE(figures.has_value());
  return *figures;
}

void check_sum(const StepTimes& times) {
  CHECK(times.compute_ns + times.exposed_ns() + times.idle_ns == Approx(times.step_ns));
}

} // namespace

TEST_CASE("Of a message's two stretches the longer one has waited") {
  Builder build(2);
  build.stretch(0, "forward", Activity::forward, model::SpinOp{});
  build.stretch(0, "send", Activity::communication, k_group, send(1), k_end);
  build.stretch(0, "receive gradients", Activity::communication, k_group, receive(1), k_end);
  build.stretch(0, "backward", Activity::backward, model::SpinOp{});
  build.stretch(1, "receive", Activity::communication, k_group, receive(0), k_end);
  build.stretch(1, "forward and backward", Activity::backward, model::SpinOp{});
  build.stretch(1, "send gradients", Activity::communication, k_group, send(0), k_end);
  auto schedule = build.take();
  // The pipeline of message_waits_test, on clocks that have nothing to do with each other.
  std::map<int, Labelled> spans{{0,
                                 {{"forward", {0, 200}},
                                  {"send", {200, 250}},
                                  {"receive gradients", {250, 700}},
                                  {"backward", {700, 900}}}},
                                {1,
                                 {{"receive", {0, 250}},
                                  {"forward and backward", {250, 650}},
                                  {"send gradients", {650, 700}}}}};

  auto figures = figures_of(schedule, 2, spans, 1000);

  CHECK(figures.ranks[0].exposed_wait_ns == 400);
  CHECK(figures.ranks[0].exposed_transfer_ns == 100);
  CHECK(figures.ranks[1].exposed_wait_ns == 200);
  CHECK(figures.ranks[1].exposed_transfer_ns == 100);
  CHECK(figures.times.exposed_wait_ns == Approx(300));
  CHECK(figures.stragglers_ns == 0); // 400 and 200 of wait, by design
  for (const auto& [rank, times] : figures.ranks)
    check_sum(times);
  CHECK(figures.unmatched_messages == 0);
  for (const BucketTimes& bucket : figures.buckets) {
    CHECK(bucket.wait_known);
    CHECK(bucket.transfer_ns == 50);
  }
}

TEST_CASE("A send and a receive that meet in one group are one exchange") {
  Builder build(2);
  build.stretch(0, "both", Activity::communication, k_group, send(1), receive(1), k_end);
  build.stretch(1, "both as well", Activity::communication, k_group, send(0), receive(0), k_end);
  auto schedule = build.take();

  auto plan = plan_of(schedule, 2);
  REQUIRE(plan.has_value());
  REQUIRE(plan->stretches[0].exchanges.size() == 1);
  CHECK(plan->stretches[0].exchanges[0].partners == std::vector<RankStretch>{{1, 1}});
  CHECK(plan->stretches[0].exchanges[0].ends_together);

  auto figures =
      figures_of(schedule, 2, {{0, {{"both", {0, 90}}}}, {1, {{"both as well", {0, 60}}}}}, 100);
  CHECK(figures.ranks[0].exposed_wait_ns == 30);
  CHECK(figures.ranks[1].exposed_wait_ns == 0);
}

TEST_CASE("An all-to-all that is made of sends ends together") {
  Builder build(3);
  for (int rank = 0; rank < 3; ++rank)
    build.stretch(rank, "tokens", Activity::communication, k_group, send((rank + 1) % 3),
                  receive((rank + 2) % 3), send((rank + 2) % 3), receive((rank + 1) % 3), k_end);
  auto schedule = build.take();

  auto figures = figures_of(
      schedule, 3,
      {{0, {{"tokens", {0, 90}}}}, {1, {{"tokens", {0, 80}}}}, {2, {{"tokens", {0, 50}}}}}, 100);

  CHECK(figures.ranks[0].exposed_wait_ns == 40);
  CHECK(figures.ranks[1].exposed_wait_ns == 30);
  CHECK(figures.ranks[2].exposed_wait_ns == 0);
}

TEST_CASE("Between ranks that do not all exchange only what is certain counts as wait") {
  Builder build(4);
  for (int rank = 0; rank < 4; ++rank)
    build.stretch(rank, "round", Activity::communication, k_group, send((rank + 1) % 4),
                  receive((rank + 3) % 4), k_end);
  auto schedule = build.take();

  auto figures = figures_of(schedule, 4,
                            {{0, {{"round", {0, 90}}}},
                             {1, {{"round", {0, 40}}}},
                             {2, {{"round", {0, 50}}}},
                             {3, {{"round", {0, 70}}}}},
                            100);

  // Rank 0 exchanges with 1 and 3: it has not transferred for more than the 70 ns of rank 3.
  CHECK(figures.ranks[0].exposed_wait_ns == 20);
  CHECK(figures.ranks[1].exposed_wait_ns == 0);
  CHECK(figures.ranks[2].exposed_wait_ns == 0); // rank 3 had 70
  CHECK(figures.ranks[3].exposed_wait_ns == 0);
}

TEST_CASE("What has no other side, or several one after the other, waited for an unknown time") {
  Builder build(3);
  SECTION("no other side") {
    build.stretch(0, "send", Activity::communication, k_group, send(1), k_end);
    build.stretch(1, "nothing", Activity::communication);
    auto plan = plan_of(build.take(), 3);
    REQUIRE(plan.has_value());
    CHECK(plan->unmatched_messages == 1);
    CHECK(plan->stretches[0].exchanges.empty());
  }
  SECTION("the other side is in no stretch") {
    build.stretch(0, "send", Activity::communication, k_group, send(1), k_end);
    build.stretch(1, "compute", Activity::forward, receive(0));
    auto plan = plan_of(build.take(), 3);
    REQUIRE(plan.has_value());
    CHECK(plan->unmatched_messages == 0);
    CHECK(plan->stretches[0].exchanges.empty());
  }
  SECTION("one after the other, with two ranks") {
    build.stretch(0, "send", Activity::communication, send(1), send(2));
    build.stretch(1, "receive", Activity::communication, receive(0));
    build.stretch(2, "receive", Activity::communication, receive(0));
    auto plan = plan_of(build.take(), 3);
    REQUIRE(plan.has_value());
    CHECK(plan->stretches[0].exchanges.empty());
    CHECK(plan->stretches[1].exchanges.size() == 1);
  }
  SECTION("beside a collective") {
    model::CollectiveOp reduce{.stream = k_exchanging, .count = 256};
    build.stretch(0, "send", Activity::communication, send(1), reduce);
    build.stretch(1, "receive", Activity::communication, receive(0), reduce);
    auto plan = plan_of(build.take(), 3);
    REQUIRE(plan.has_value());
    CHECK(plan->stretches[0].exchanges.empty());
    CHECK(plan->stretches[0].groups.empty());
  }
}

TEST_CASE("In the pipelines that ncclprobe makes every transfer has one partner") {
  for (auto order : {model::PipelineOrder::one_f_one_b, model::PipelineOrder::gpipe})
    for (int ranks : {2, 4}) {
      workload::StepRequest request;
      request.pattern = model::StepPattern::pipeline;
      request.model = workload::make_model("gpt2-124m").value();
      request.batch = 16;
      request.order = order;
      std::vector<int> all(static_cast<std::size_t>(ranks));
      std::iota(all.begin(), all.end(), 0);
      auto schedule = workload::make_pipeline_step(request, {ranks, all, model::StepParts::all});
      REQUIRE(schedule.has_value());

      auto plan = plan_of(*schedule, ranks);

      REQUIRE(plan.has_value());
      CHECK(plan->unmatched_messages == 0);
      for (const StretchDecl& stretch : plan->stretches) {
        if (stretch.activity != Activity::communication)
          continue;
        REQUIRE(stretch.exchanges.size() == 1);
        CHECK(stretch.exchanges[0].partners.size() == 1);
        CHECK(stretch.exchanges[0].ends_together);
      }
    }
}
