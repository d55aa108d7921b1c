// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/found_job.h"

#include "analysis/job/step_replay.h"
#include "analysis/timeline/timeline.h"
#include "support/catch.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace ncclprobe::analysis::job {

Found found_of(const MadeJob& job) {
  timeline::TraceSource source = job.source();
  for (timeline::RankHead& head : source.ranks)
    for (std::uint64_t at : {std::uint64_t{0}, static_cast<std::uint64_t>(job.now_ns(0))})
      head.clocks.push_back({at, 0, 100, 200, trace::ClockKind::globaltimer});
  const auto steps = std::make_shared<const FoundSteps>(base::value_or_throw(find_steps(source)));
  REQUIRE(steps->reason == NoSteps::found);
  std::vector<int> ranks;
  for (const timeline::RankHead& head : source.ranks)
    ranks.push_back(head.rank);
  StepGraphBuilder builder(steps, ranks, source.texts);
  (void)base::value_or_throw(
      timeline::analyse(with_steps(source, steps),
                        {.observe = [&](std::size_t rank, const timeline::RankReading& reading,
                                        const timeline::Clocks::OfRank& clock) {
                          builder.add(rank, reading, clock.host);
                        }}));
  Found out{source.texts, builder.take(), {}, {}};
  out.model = fit_model(out.graph);
  out.held_up = find_held_up(out.graph, out.model, 2000);
  return out;
}

double error_of_replay(const Found& it) {
  double largest = 0;
  for (const StepRun& run : it.graph.runs) {
    const auto measured = measure(it.graph, run, it.model.waited, &it.model.typical);
    const auto replayed = step_lengths_ns(run, replay(it.graph, run, measured, it.model.waited));
    const auto seen = step_lengths_ns(run);
    REQUIRE(replayed.size() == seen.size());
    for (std::size_t i = 0; i < seen.size(); ++i)
      largest = std::max(largest, std::abs(replayed[i] / seen[i] - 1));
  }
  return largest;
}

const HoldUp& worst(const Found& it) {
  REQUIRE(!it.held_up.hold_ups.empty());
  return it.held_up.hold_ups.front();
}

} // namespace ncclprobe::analysis::job
