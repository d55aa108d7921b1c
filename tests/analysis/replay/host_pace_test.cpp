// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/step_program.h"
#include "analysis/replay/captured_job.h"
#include "support/catch.h"

#include <array>
#include <cmath>
#include <random>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::model;
using job::k_mib, job::MadeJob;

namespace {

// A step of the replay by its schedule: operations take what they took in the capture, everything
// else what the schedule says. `slower`: operations take this many times as long.
struct Replayed {
  double step_ms = 0, exposed_ms = 0;
};
Replayed replayed(const CapturedStep& step, double slower = 1) {
  const int world = static_cast<int>(step.ranks.size());
  const auto program = base::value_or_throw(cost_model::StepProgram::of(
      schedule_of(step, world), std::vector<int>(static_cast<std::size_t>(world), 0)));
  std::vector<double> transfers_ns, works_ns;
  for (const cost_model::Transfer& one : program.transfers())
    for (const CapturedOperation& operation : step.operations)
      if (operation.bytes() == one.bytes) {
        transfers_ns.push_back(slower * operation.transfer_ns);
        break;
      }
  for (const cost_model::Work& one : program.works())
    works_ns.push_back(one.amount);
  const auto times = program.replay(transfers_ns, works_ns);
  return {times.step_ns / step.replayed_steps / 1e6,
          times.uncovered_ns / step.replayed_steps / 1e6};
}

// Two ranks whose hosts launch kernels one after the other and need longer than the GPUs to run
// them. Gradients are reduced beside computing. Hosts are slow at different times, and the faster
// one runs ahead, by at most a full queue.
class LaunchBoundJob {
public:
  static constexpr std::array<double, 3> k_host_ms{10, 3, 2}, k_gpu_ms{2.4, 0.8, 0.5};
  static constexpr std::array<std::uint64_t, 3> k_bytes{150 * k_mib, 151 * k_mib, 90 * k_mib};
  enum class Host { only_launches, reads_the_loss };
  enum class Kernels { recorded, not_recorded };

  LaunchBoundJob(int steps, Host host, Kernels kernels) : host_(host) {
    const int all = made_.communicator({0, 1});
    for (int step = 0; step < steps; ++step) {
      steps_begin_ms_.push_back(free_ms_);
      for (std::size_t i = 0; i < k_bytes.size(); ++i)
        reduce(all, i, step, kernels);
    }
    steps_begin_ms_.push_back(free_ms_);
  }
  const MadeJob& made() const { return made_; }
  double step_ms(std::size_t first, std::size_t count) const {
    return (steps_begin_ms_[first + count] - steps_begin_ms_[first]) / static_cast<double>(count);
  }
  // Communication without kernels of these steps, from the times of all kernels.
  double exposed_ms(std::size_t first, std::size_t count) const {
    double sum_ms = 0;
    for (const Rank& rank : ranks_)
      for (std::size_t i = 0; i < rank.communication.size(); ++i)
        if (const auto [begin, end] = rank.communication[i];
            i / k_bytes.size() >= first && i / k_bytes.size() < first + count) {
          sum_ms += end - begin;
          for (const auto& [from, to] : rank.kernels)
            sum_ms -= std::max(0.0, std::min(to, end) - std::max(from, begin));
        }
    return sum_ms / static_cast<double>(2 * count);
  }

private:
  using Times = std::vector<std::pair<double, double>>;
  struct Rank {
    double host_ms = 1, gpu_ms = 1;
    Times communication, kernels;
  };
  static constexpr int k_kernels = 40; // of one piece of computing
  static constexpr double k_queue_ms = 25;

  void reduce(int all, std::size_t i, int step, Kernels kernels) {
    std::vector<MadeJob::Part> parts;
    double begin_ms = free_ms_;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      if (i == 0) {
        rank.gpu_ms = std::max(rank.gpu_ms, free_ms_); // the optimizer needs all gradients
        if (host_ == Host::reads_the_loss)
          rank.host_ms = std::max(rank.host_ms, rank.gpu_ms);
      }
      // Each host is slow in a few steps after the other.
      const bool is_slow = (step / 5) % 2 == static_cast<int>(r);
      const double host_ms = k_host_ms[i] * (is_slow ? 1.4 : 1) * noise(0.03);
      rank.host_ms = std::max(rank.host_ms, rank.gpu_ms - k_queue_ms);
      for (int kernel = 0; kernel < k_kernels; ++kernel) {
        const double from_ms = std::max(rank.gpu_ms, rank.host_ms);
        rank.host_ms += host_ms / k_kernels;
        rank.gpu_ms = from_ms + k_gpu_ms[i] / k_kernels;
        rank.kernels.emplace_back(from_ms, rank.gpu_ms);
        if (kernels == Kernels::recorded && step >= 20 && step < 40)
          made_.computing_kernel(static_cast<int>(r), ns(from_ms), ns(rank.gpu_ms));
      }
      const double ready_ms = std::max({rank.gpu_ms, rank.host_ms, free_ms_});
      parts.push_back({ns(rank.host_ms), ns(ready_ms) + 5000, 0});
      begin_ms = std::max(begin_ms, ready_ms);
    }
    const double end_ms = begin_ms + static_cast<double>(k_bytes[i]) / 100e6 * noise(0.2);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      parts[r].end_ns = ns(end_ms);
      ranks_[r].communication.emplace_back(static_cast<double>(parts[r].begin_ns) / 1e6, end_ms);
      if (kernels == Kernels::recorded && i == 0 && step == 20)
        recorded_from_ms_[r] = ranks_[r].kernels[ranks_[r].kernels.size() - k_kernels].first;
      if (kernels == Kernels::recorded && i == 2 && step == 39)
        made_.kernels_recorded(static_cast<int>(r), ns(recorded_from_ms_[r]), ns(end_ms));
    }
    made_.collective(all, "AllReduce", k_bytes[i], parts);
    free_ms_ = end_ms;
  }
  double noise(double share) {
    return std::uniform_real_distribution(1 - share, 1 + share)(random_);
  }
  static std::int64_t ns(double ms) { return std::llround(ms * 1e6); }

  MadeJob made_{2};
  Host host_;
  std::mt19937_64 random_{7};
  std::array<Rank, 2> ranks_;
  std::array<double, 2> recorded_from_ms_{};
  double free_ms_ = 1;
  std::vector<double> steps_begin_ms_;
};

} // namespace

TEST_CASE("a launch-bound job keeps its step time and its exposed communication") {
  const auto kernels =
      GENERATE(LaunchBoundJob::Kernels::recorded, LaunchBoundJob::Kernels::not_recorded);
  const LaunchBoundJob job(100, LaunchBoundJob::Host::only_launches, kernels);

  const CapturedStep step = captured_steps(job.made(), std::nullopt);

  REQUIRE(step.replayed_steps == 16);
  const double step_ms = job.step_ms(step.first_step, 16);
  CHECK(step.step_ns / 1e6 == Approx(step_ms).epsilon(0.001));
  const double exposed_ms = job.exposed_ms(step.first_step, 16);
  if (kernels == LaunchBoundJob::Kernels::recorded)
    CHECK(step.exposed_ns / 1e6 == Approx(exposed_ms).margin(0.1));
  else // a host that is never in time looks like computing
    CHECK(step.exposed_ns / 1e6 < exposed_ms);
  const Replayed again = replayed(step);
  CHECK(again.step_ms == Approx(step_ms).epsilon(0.01));
  CHECK(again.exposed_ms == Approx(step.exposed_ns / 1e6).margin(0.1));
  for (const CapturedCall& call : step.calls)
    CHECK(!call.host_waits);
  // The chosen steps stand for all of them.
  CHECK(step_ms == Approx(job.step_ms(1, 99)).epsilon(0.05));
  // Medians of gaps do not: a rank that runs ahead has short gaps, a late one long ones.
  CHECK(std::abs(replayed(captured(job.made())).step_ms / step_ms - 1) > 0.03);
  // Its hosts hide slower communication, up to a point.
  CHECK(replayed(step, 1.2).step_ms == Approx(step_ms).epsilon(0.03));
}

TEST_CASE("a host that reads the loss waits for communication, and so does its replay") {
  const LaunchBoundJob job(100, LaunchBoundJob::Host::reads_the_loss,
                           LaunchBoundJob::Kernels::recorded);

  const CapturedStep step = captured_steps(job.made(), std::nullopt);

  for (const CapturedCall& call : step.calls)
    CHECK(call.host_waits == (call.operation == 0));
  CHECK(replayed(step).step_ms == Approx(job.step_ms(step.first_step, 16)).epsilon(0.01));
  // The last reduction ends the step: nothing hides it.
  const double last_ms = step.operations.back().transfer_ns / 1e6;
  CHECK(replayed(step, 2).step_ms > replayed(step).step_ms + 0.9 * last_ms);
}
