// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/run_builder.h"
#include "analysis/verdict.h"
#include "support/catch.h"

#include <cmath>
#include <functional>
#include <random>

// What the method promises, tried on made-up runs: 10 settings x 12 cells, 5 processes of each and
// 10 of the default. The scatter of a process is its own (all its cells share part of it) and the
// cell's.
using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;

namespace {

constexpr int k_settings = 10;
constexpr int k_cells = 12;
constexpr int k_processes = 5;
constexpr int k_runs = 200;

// std::normal_distribution differs between libraries; this does not.
class Noise {
public:
  explicit Noise(std::uint64_t seed) : random_(seed) {}
  double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) / 9007199254740992.0; }
  double normal() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::acos(-1.0) * uniform());
  }
  // Student's t with 3 degrees of freedom: heavy tails.
  double heavy() {
    double a = normal(), b = normal(), c = normal();
    return normal() / std::sqrt((a * a + b * b + c * c) / 3);
  }

private:
  std::mt19937_64 random_;
};

using Draw = std::function<double(Noise&)>; // the logarithm of a process's factor in one cell

SettingResult result_of(int setting, int cell, const std::vector<double>& times_ns) {
  SettingResult result;
  result.setting = setting < 0 ? "default" : fmt::format("S={}", setting);
  result.is_default = setting < 0;
  result.label = {.workload = "all_reduce", .bytes = std::uint64_t{1024} << cell * 2};
  result.ranks = 8;
  for (double time_ns : times_ns) {
    ProcessTime process;
    process.replicate = static_cast<int>(result.processes.size());
    process.time.batch_ns = {time_ns};
    process.time.over_batches_ns = summarise(process.time.batch_ns);
    result.processes.push_back(std::move(process));
  }
  return result;
}

// `effect`: ratio of time to the default's of setting 0 in every cell; the others have none.
std::vector<SettingResult> simulate(Noise& noise, const Draw& of_process, const Draw& of_cell,
                                    double effect) {
  std::vector<SettingResult> results;
  for (int setting = -1; setting < k_settings; ++setting) {
    std::vector<std::vector<double>> times_ns(k_cells);
    for (int process = 0; process < (setting < 0 ? 2 : 1) * k_processes; ++process) {
      double shared = of_process(noise);
      for (auto& of_this_cell : times_ns)
        of_this_cell.push_back((setting == 0 ? effect : 1) * 1e4 *
                               std::exp(shared + of_cell(noise)));
    }
    for (int cell = 0; cell < k_cells; ++cell)
      results.push_back(result_of(setting, cell, times_ns[static_cast<std::size_t>(cell)]));
  }
  return results;
}

int found_in(const Verdicts& verdicts) {
  int found = 0;
  for (const Comparison& one : verdicts.comparisons)
    found += one.verdict == Verdict::better || one.verdict == Verdict::worse;
  return found;
}

// Of k_runs runs of equal settings, how many have any verdict.
int false_runs(std::uint64_t seed, const Draw& of_process, const Draw& of_cell) {
  Noise noise(seed);
  int runs = 0;
  for (int i = 0; i < k_runs; ++i) {
    auto results = simulate(noise, of_process, of_cell, 1);
    runs += found_in(judge(results)) > 0;
  }
  return runs;
}

// 1% of 200 runs is 2; with 1.4%, the worst seen in 2,000 runs, 9 or more happen once in five
// hundred (binomial).
constexpr int k_most_false_runs = 8;

} // namespace

TEST_CASE("runs of equal settings rarely have a verdict, with normal scatter") {
  int independent = false_runs(
      1, [](Noise&) { return 0.0; }, [](Noise& noise) { return 0.01 * noise.normal(); });
  int shared = false_runs(
      2, [](Noise& noise) { return 0.02 * noise.normal(); },
      [](Noise& noise) { return 0.005 * noise.normal(); });

  INFO("of " << k_runs << " runs: " << independent << ", " << shared);
  CHECK(independent <= k_most_false_runs);
  CHECK(shared <= k_most_false_runs);
}

TEST_CASE("runs of equal settings rarely have a verdict, with heavy tails") {
  int runs = false_runs(
      3, [](Noise& noise) { return 0.01 * noise.heavy(); },
      [](Noise& noise) { return 0.01 * noise.heavy(); });

  INFO("of " << k_runs << " runs: " << runs);
  CHECK(runs <= k_most_false_runs);
}

TEST_CASE("runs of equal settings rarely have a verdict, with skewed scatter and slow processes") {
  int skewed = false_runs(
      4, [](Noise& noise) { return -0.02 * std::log(noise.uniform()); }, // exponential
      [](Noise& noise) { return -0.01 * std::log(noise.uniform()); });
  int slow = false_runs(
      5, [](Noise& noise) { return noise.uniform() < 0.1 ? 0.2 : 0.0; },
      [](Noise& noise) { return 0.01 * noise.normal(); });
  int two_modes = false_runs(
      6, [](Noise& noise) { return noise.uniform() < 0.5 ? 0.1 : 0.0; },
      [](Noise& noise) { return 0.005 * noise.normal(); });

  INFO("of " << k_runs << " runs: " << skewed << ", " << slow << ", " << two_modes);
  CHECK(skewed <= k_most_false_runs);
  CHECK(slow <= k_most_false_runs);
  CHECK(two_modes <= k_most_false_runs);
}

// Clocks have ticks: most processes then have the very same time.
TEST_CASE("runs of equal settings rarely have a verdict, with times in steps") {
  int runs = false_runs(
      8, [](Noise&) { return 0.0; },
      [](Noise& noise) { return 1e-3 * std::round(0.3 * noise.normal()); });

  INFO("of " << k_runs << " runs: " << runs);
  CHECK(runs <= k_most_false_runs);
}

TEST_CASE("a difference of 5% is found where processes scatter by 1%") {
  Noise noise(7);
  int found = 0, other = 0;
  for (int i = 0; i < k_runs; ++i) {
    auto results = simulate(
        noise, [](Noise&) { return 0.0; }, [](Noise& of) { return 0.01 * of.normal(); }, 0.95);
    for (const Comparison& one : judge(results).comparisons)
      (one.setting->setting == "S=0" ? found : other) += one.verdict == Verdict::better;
  }

  INFO("found " << found << " of " << k_runs * k_cells << ", false " << other);
  CHECK(found > 0.7 * k_runs * k_cells);
  CHECK(other <= k_most_false_runs);
}
