// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/captured_report.h"

#include "analysis/timeline/timeline.h"

namespace ncclprobe::analysis_test {

namespace job = analysis::job;
using job::k_mib, job::k_ms;

job::MadeJob training_job() {
  job::MadeJob job(4);
  const std::vector<int> tensor{job.communicator({0, 1}), job.communicator({2, 3})};
  const std::vector<int> data{job.communicator({0, 2}), job.communicator({1, 3})};
  const int world = job.communicator({0, 1, 2, 3});
  job.collective(world, "Broadcast", k_mib);
  std::vector<std::int64_t> began_ns(4); // the phase
  auto begin_phase = [&] {
    for (int rank = 0; rank < 4; ++rank)
      began_ns[static_cast<std::size_t>(rank)] = job.now_ns(rank);
  };
  auto end_phase = [&](const char* name, int level) {
    for (int rank = 0; rank < 4; ++rank)
      job.range(rank, name, began_ns[static_cast<std::size_t>(rank)], job.now_ns(rank), level);
  };
  for (int step = 0; step < 60; ++step) {
    begin_phase();
    job.compute(2 * k_ms);
    end_phase("load batch", 1);
    job.compute(8 * k_ms);
    if (step % 5 == 4)
      job.compute(3, 3 * k_ms);
    end_phase("forward", 0);
    begin_phase();
    for (int layer = 0; layer < 24; ++layer) {
      job.compute(k_ms);
      for (int group : tensor)
        job.collective(group, "AllReduce", 16 * k_mib);
    }
    for (int group : data) {
      job.collective(group, "AllReduce", 100 * k_mib);
      job.collective(group, "AllReduce", 30 * k_mib);
    }
    end_phase("backward", 0);
    for (int batch = 0; step % 20 == 19 && batch < 10; ++batch) {
      job.compute(8 * k_ms);
      job.collective(world, "AllGather", 2 * k_mib);
    }
  }
  return job;
}

analysis::Report captured_report(const job::MadeJob& made,
                                 const std::vector<const char*>& what_ifs) {
  analysis::timeline::TraceSource source = made.source();
  for (analysis::timeline::RankHead& head : source.ranks)
    for (std::uint64_t at : {std::uint64_t{0}, static_cast<std::uint64_t>(made.now_ns(0))})
      head.clocks.push_back({at, 0, 100, 200, trace::ClockKind::globaltimer});
  analysis::TimelineHeading heading{"job/", "", {}, {}};
  heading.job =
      std::make_shared<const job::FoundSteps>(base::value_or_throw(job::find_steps(source)));
  if (heading.job->reason == job::NoSteps::found)
    source = with_steps(std::move(source), heading.job);
  std::vector<int> ranks;
  for (const analysis::timeline::RankHead& head : source.ranks)
    ranks.push_back(head.rank);
  job::StepGraphBuilder graph(heading.job, ranks, source.texts);
  auto timeline = base::value_or_throw(analysis::timeline::analyse(
      source, {.observe = [&](std::size_t rank, const analysis::timeline::RankReading& reading,
                              const analysis::timeline::Clocks::OfRank& clock) {
        graph.add(rank, reading, clock.host);
      }}));
  if (heading.job->reason == job::NoSteps::found) {
    std::vector<job::WhatIf> all;
    for (const char* one : what_ifs)
      all.push_back(base::value_or_throw(job::parse_what_if(one)));
    heading.causes = std::make_shared<const job::JobCauses>(
        base::value_or_throw(job::job_causes(graph.take(), 1000, all, source.texts)));
  }
  return analysis::timeline_report(std::move(timeline), std::move(heading));
}

} // namespace ncclprobe::analysis_test
