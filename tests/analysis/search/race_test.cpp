// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/race.h"
#include "analysis/search/sequential_test.h"
#include "analysis/verdict/simulated_noise.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::search;

namespace {

std::vector<Candidate> entrants(int count) {
  std::vector<Candidate> out;
  for (int i = 1; i <= count; ++i)
    out.push_back({i});
  return out;
}

// One round: each candidate that still runs gets its value and 1% of noise.
void run_round(Race& race, ncclprobe::analysis::simulation::Noise& noise, double slower_of_first) {
  for (const Race::Entrant& one : std::vector(race.running()))
    race.add(one.candidate, (one.candidate[0] == 1 ? slower_of_first : 0) + 0.01 * noise.normal());
}

} // namespace

TEST_CASE("a race of equal candidates rarely stops one, however often it looks") {
  ncclprobe::analysis::simulation::Noise noise(1);
  constexpr int k_races = 400;
  int with_error = 0;
  for (int i = 0; i < k_races; ++i) {
    Race race(entrants(8));
    bool any = false;
    for (int round = 0; round < 12; ++round) {
      run_round(race, noise, 0);
      any = any || !race.stop_losers().empty();
    }
    with_error += any;
  }
  CHECK(with_error <= k_races * Race::k_alpha);
}

TEST_CASE("the confidence sequence keeps its error at every count, and is not needlessly wide") {
  ncclprobe::analysis::simulation::Noise noise(2);
  constexpr int k_sequences = 2000;
  constexpr double k_alpha = 0.05;
  int left = 0;
  for (int i = 0; i < k_sequences; ++i) {
    double sum = 0;
    bool outside = false;
    for (int count = 1; count <= 100; ++count) {
      sum += noise.normal();
      outside = outside || std::abs(sum / count) > sequence_half_width(count, 1, k_alpha);
    }
    left += outside;
  }
  CHECK(left <= k_sequences * k_alpha);
  CHECK(left >= k_sequences * k_alpha / 10);
}

TEST_CASE("a race stops a candidate that is much slower after a few rounds") {
  ncclprobe::analysis::simulation::Noise noise(3);
  Race race(entrants(8));
  std::vector<Race::Left> left;
  for (int round = 0; round < 3; ++round) {
    run_round(race, noise, 0.2);
    for (const Race::Left& one : race.stop_losers())
      left.push_back(one);
  }
  REQUIRE(left.size() == 1);
  CHECK(left[0].entrant.candidate == Candidate{1});
  CHECK(left[0].entrant.mean() > left[0].by);
  CHECK(race.running().size() == 7);
}

TEST_CASE("a race keeps the fastest, and says what the others had to beat") {
  Race race(entrants(4));
  for (int i = 1; i <= 4; ++i)
    race.add({i}, -0.1 * i);
  const auto left = race.keep(2);

  REQUIRE(race.running().size() == 2);
  CHECK(race.running()[0].candidate == Candidate{4});
  CHECK(race.running()[1].candidate == Candidate{3});
  REQUIRE(left.size() == 2);
  CHECK(left[0].by == -0.1 * 3);
}
