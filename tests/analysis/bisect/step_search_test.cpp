// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/bisect/step_search.h"
#include "support/catch.h"

#include <cmath>
#include <random>

using namespace ncclprobe::analysis;

namespace {

constexpr std::size_t k_versions = 32;

// Times of which each pair scatters by 2%, and one in twenty by 6%. Versions from `first` on take
// `step` longer.
class Machine {
public:
  Machine(std::size_t first, double step, unsigned seed)
      : first_(first), step_(step), random_(seed) {}
  std::vector<double> ratios(std::size_t version, std::size_t pairs) {
    std::vector<double> all;
    for (std::size_t i = 0; i < pairs; ++i) {
      const double scatter = random_() % 20 == 0 ? 0.06 : 0.02;
      all.push_back(std::exp(std::normal_distribution<>(0, scatter)(random_)) *
                    (version >= first_ ? 1 + step_ : 1));
    }
    return all;
  }

private:
  std::size_t first_;
  double step_;
  std::mt19937 random_;
};

StepSearch searched(Machine machine) {
  StepSearch search(k_versions, 0.02);
  while (const auto version = search.next())
    search.add(machine.ratios(*version, search.pairs()));
  return search;
}

} // namespace

TEST_CASE("the version that brings 5% is found in 95 of 100 searches") {
  std::size_t right = 0, pairs = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const std::size_t first = 1 + seed % (k_versions - 1);
    const StepSearch search = searched(Machine(first, 0.05, seed));
    right += search.first_bad() == first;
    for (const StepComparison& one : search.comparisons())
      pairs += one.ratios.size();
    CHECK(search.comparisons().size() <= 6); // the last version, then log2(32)
  }
  CHECK(right >= 95);
  CHECK(pairs / 100 < 60);
}

TEST_CASE("versions that do not differ have no first slower one") {
  std::size_t false_steps = 0, said_same = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const StepSearch search = searched(Machine(0, 0, seed));
    false_steps += search.narrowed_to().has_value();
    said_same += search.comparisons().back().answer == StepAnswer::same;
  }
  CHECK(false_steps <= 2);
  CHECK(said_same >= 95);
}

TEST_CASE("a version that fails is found like a slow one") {
  const bool last_is_slow = GENERATE(false, true);
  StepSearch search(k_versions, 0.02);
  Machine machine(last_is_slow ? 9 : k_versions, 0.05, 1);
  while (const auto version = search.next())
    if (*version >= 9 && !(last_is_slow && *version == k_versions - 1))
      search.add_failure();
    else
      search.add(machine.ratios(*version, search.pairs()));
  CHECK(search.first_bad() == 9);
}

TEST_CASE("two versions need one comparison, and pairs that never decide end the search") {
  StepSearch two(2, 0.02);
  two.add(std::vector<double>(8, 1.05));
  CHECK(two.first_bad() == 1);
  CHECK(two.comparisons().size() == 1);
  StepSearch between(2, 0.02);
  for (int i = 0; between.next() && i < 100; ++i)
    between.add({0.5, 2.04, 0.51, 2.0});
  CHECK(!between.next());
  CHECK(!between.first_bad());
  CHECK(between.comparisons().at(0).answer == StepAnswer::open);
  CHECK(!between.narrowed_to());
}

TEST_CASE("a version that pairs cannot judge ends the search between the two that they could") {
  StepSearch search(5, 0.02);
  search.add(std::vector<double>(8, 1.05));
  REQUIRE(search.next() == 2);
  while (search.next())
    search.add({0.5, 2.1, 0.5, 2.1});
  CHECK(!search.first_bad());
  CHECK(search.narrowed_to() == std::pair<std::size_t, std::size_t>(0, 4));
}
